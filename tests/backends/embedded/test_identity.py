"""Proving who one is; what an unknown user is checked against."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from sqlalchemy import insert, update

from cloudconsole.backends.embedded import identity as module
from cloudconsole.backends.embedded.identity import EmbeddedIdentity
from cloudconsole.core.ports import Account, ClientInfo
from cloudconsole.store.base import Parameters, Row
from cloudconsole.store.passwords import decoy_hash, password_matches
from cloudconsole.store.tables import accounts, tenants
from tests.stores import open_engine, run, store_in

QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
HASHES = {f"user-{number}": QUICK.hash(f"password-{number}") for number in range(1, 6)}

HERE = ClientInfo("192.0.2.1", "request-1")


@pytest.fixture
def peopled(folder: Path) -> Path:
    engine = open_engine(folder, "cloud")
    rest = {"tenant_id": 1, "role": "tenant", "disabled": False, "version": 7}
    with engine.begin() as connection:
        connection.execute(insert(tenants).values(id=1, name="acme"))
        # With gaps between the ids, as removed accounts leave them.
        for number, (username, password_hash) in enumerate(HASHES.items()):
            row = {"id": 10 * number + 3, "username": username, "password_hash": password_hash}
            connection.execute(insert(accounts).values(**row, **rest))
    engine.dispose()
    return folder


class Asked:
    """An identity over a store, and the hashes that were checked."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reader = store_in(folder).reader()
        self.hashing = ThreadPoolExecutor(1)
        self.identity = EmbeddedIdentity(self.reader, self.hashing)
        self.checked: list[str] = []

        def note(password_hash: str, password: str) -> bool:
            self.checked.append(password_hash)
            return password_matches(password_hash, password)

        monkeypatch.setattr(module, "password_matches", note)

    def close(self) -> None:
        self.hashing.shutdown()
        run(self.reader.leave())
        self.reader.close()

    def __call__(self, username: str, password: str) -> Account | None:
        return run(self.identity.authenticate(username, password, HERE))


@pytest.fixture
def asked(peopled: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    asking = Asked(peopled, monkeypatch)
    yield asking
    asking.close()


def test_the_right_password_proves_an_account(asked: Asked) -> None:
    assert asked("user-2", "password-2") == Account(13, "user-2", 7, "tenant")


@pytest.mark.usefixtures("rehashing")
def test_a_hash_of_other_parameters_is_to_be_replaced(asked: Asked) -> None:
    assert asked("user-2", "password-2") == Account(13, "user-2", 7, "tenant", outdated_hash=HASHES["user-2"])


@pytest.mark.parametrize(("username", "password"), [("user-2", "password-1"), ("User-2", "password-2"), ("", "x")])
def test_anything_else_proves_nothing(asked: Asked, username: str, password: str) -> None:
    assert asked(username, password) is None


def test_a_disabled_account_is_checked_and_refused(peopled: Path, asked: Asked) -> None:
    engine = open_engine(peopled, "cloud")
    with engine.begin() as connection:
        connection.execute(update(accounts).values(disabled=True))
    engine.dispose()
    assert asked("user-2", "password-2") is None
    assert asked.checked == [HASHES["user-2"]]


def test_unknown_users_are_checked_against_all_sorts_of_accounts(asked: Asked) -> None:
    assert not any(asked(f"nobody-{number}", "x") for number in range(200))
    assert set(asked.checked) == set(HASHES.values())


def test_an_unknown_user_is_always_checked_against_the_same_account(asked: Asked) -> None:
    assert not any(asked("nobody", f"guess {number}") for number in range(20))
    assert len(set(asked.checked)) == 1


def test_the_password_of_the_account_checked_instead_lets_nobody_in(asked: Asked) -> None:
    assert not any(asked("nobody", f"password-{number}") for number in range(1, 6))


def test_where_there_are_no_accounts_something_is_checked_all_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked(folder, monkeypatch)
    assert asked("nobody", "x") is None
    assert asked.checked == [decoy_hash()]
    asked.close()


@pytest.mark.parametrize("username", ["user-2", "nobody"])
def test_an_unknown_user_takes_no_more_reads_than_a_known_one(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, username: str
) -> None:
    statements: list[str] = []
    read_all = asked.reader.all

    async def note(sql: str, parameters: Parameters = ()) -> list[Row]:
        statements.append(sql)
        return await read_all(sql, parameters)

    monkeypatch.setattr(asked.reader, "all", note)
    assert asked(username, "a wrong password") is None
    assert len(statements) == 1
