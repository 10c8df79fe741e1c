"""Password hashes of other parameters than ours are replaced at login, and nothing else changes by that."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Row

from cloudconsole.server.http import login_service
from cloudconsole.store.passwords import hash_password, needs_rehash
from cloudconsole.store.tables import accounts
from tests.harness import QUICK, Caller, InProcess
from tests.server.http.world import change_account, rows
from tests.stores import changing, forbid

pytestmark = pytest.mark.usefixtures("rehashing")

OTHER = QUICK.hash("another")


def stored(data: Path, username: str = "demo") -> Row[Any]:
    (row,) = (row for row in rows(data, accounts) if row.username == username)
    return row


def test_a_login_replaces_the_hash_and_ends_no_session(wire: InProcess, visitor: Caller, data: Path) -> None:
    before = stored(data)
    assert needs_rehash(before.password_hash)
    assert visitor.login().status == 200
    assert not needs_rehash(stored(data).password_hash)
    assert stored(data).version == before.version
    assert visitor.call("GetUrlList").status == 200
    assert Caller(wire).login().status == 200


def test_a_wrong_password_replaces_nothing(visitor: Caller, data: Path) -> None:
    before = stored(data).password_hash
    assert visitor.login(password="wrong").error == "invalid_credentials"
    assert stored(data).password_hash == before


def test_a_hash_that_was_changed_meanwhile_stays(visitor: Caller, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def changed_meanwhile(_password: str) -> str:
        change_account(data, "demo", password_hash=OTHER)
        return hash_password("console-demo")

    monkeypatch.setattr(login_service, "hash_password", changed_meanwhile)
    assert visitor.login().status == 200
    assert stored(data).password_hash == OTHER


def test_a_login_succeeds_where_the_hash_cannot_be_replaced(
    visitor: Caller, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = stored(data).password_hash
    with changing(data, "cloud") as connection:
        forbid(connection, "UPDATE ON accounts", "the disk is full")
    assert visitor.login().status == 200
    assert stored(data).password_hash == before
    assert "could not replace an outdated password hash" in caplog.text
    assert before not in caplog.text
