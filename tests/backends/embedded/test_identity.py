"""Authentication by password, and the hash that is checked for an unknown user."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from sqlalchemy import insert, update

from cloudconsole.backends.embedded import identity as module
from cloudconsole.backends.embedded.identity import EmbeddedIdentity
from cloudconsole.core.ports import Account, ClientInfo, Credentials
from cloudconsole.store.base import Parameters, Reader, RowTuple
from cloudconsole.store.passwords import decoy_hash, password_matches
from cloudconsole.store.tables import accounts, tenants
from tests.stores import opened, run

QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
HASHES = {f"user-{number}": QUICK.hash(f"password-{number}") for number in range(1, 6)}

CLIENT = ClientInfo("192.0.2.1", "request-1")


class IdentityProbe:
    """An identity backend that records the hashes it checks."""

    def __init__(self, reader: Reader, hashing: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
        self.identity = EmbeddedIdentity(reader, hashing)
        self.checked: list[str] = []

        def record(password_hash: str, password: str) -> bool:
            self.checked.append(password_hash)
            return password_matches(password_hash, password)

        monkeypatch.setattr(module, "password_matches", record)

    def __call__(self, username: str, password: str) -> Account | None:
        return run(self.identity.authenticate(Credentials(username, password), CLIENT))


@pytest.fixture
def empty_probe(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> Iterator[IdentityProbe]:
    with ThreadPoolExecutor(1) as hashing:
        yield IdentityProbe(reader, hashing, monkeypatch)


@pytest.fixture
def probe(empty_probe: IdentityProbe, folder: Path) -> IdentityProbe:
    rest = {"tenant_id": 1, "role": "tenant", "disabled": False, "version": 7}
    with opened(folder, "cloud") as engine, engine.begin() as connection:
        connection.execute(insert(tenants).values(id=1, name="acme"))
        # With gaps between the ids, as after removing accounts.
        for number, (username, password_hash) in enumerate(HASHES.items()):
            row = {"id": 10 * number + 3, "username": username, "password_hash": password_hash}
            connection.execute(insert(accounts).values(**row, **rest))
    return empty_probe


def test_correct_password_returns_the_account(probe: IdentityProbe) -> None:
    assert probe("user-2", "password-2") == Account(13, "user-2", 7, "tenant")


@pytest.mark.parametrize(("username", "password"), [("user-2", "password-1"), ("User-2", "password-2"), ("", "x")])
def test_wrong_username_or_password_is_rejected(probe: IdentityProbe, username: str, password: str) -> None:
    assert probe(username, password) is None


def test_disabled_account_is_rejected_after_the_password_check(folder: Path, probe: IdentityProbe) -> None:
    with opened(folder, "cloud") as engine, engine.begin() as connection:
        connection.execute(update(accounts).values(disabled=True))
    assert probe("user-2", "password-2") is None
    assert probe.checked == [HASHES["user-2"]]


def test_unknown_users_are_checked_against_various_accounts(probe: IdentityProbe) -> None:
    assert not any(probe(f"nobody-{number}", "x") for number in range(200))
    assert set(probe.checked) == set(HASHES.values())


def test_unknown_user_is_always_checked_against_the_same_account_and_rejected(probe: IdentityProbe) -> None:
    assert not any(probe("nobody", f"password-{number}") for number in range(1, 6))
    assert len(set(probe.checked)) == 1


def test_without_accounts_a_decoy_hash_is_checked(empty_probe: IdentityProbe) -> None:
    assert empty_probe("nobody", "x") is None
    assert empty_probe.checked == [decoy_hash()]


@pytest.mark.parametrize("username", ["user-2", "nobody"])
def test_unknown_user_needs_no_more_reads_than_a_known_one(
    probe: IdentityProbe, reader: Reader, monkeypatch: pytest.MonkeyPatch, username: str
) -> None:
    statements: list[str] = []
    read_all = reader.all

    async def record(sql: str, parameters: Parameters = ()) -> list[RowTuple]:
        statements.append(sql)
        return await read_all(sql, parameters)

    monkeypatch.setattr(reader, "all", record)
    assert probe(username, "a wrong password") is None
    assert len(statements) == 1
