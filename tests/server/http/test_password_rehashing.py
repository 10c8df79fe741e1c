"""Password hashes with outdated parameters are replaced at login, without other effects."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Row

from cloudconsole.server.http import login_service
from cloudconsole.store.passwords import hash_password, needs_rehash
from cloudconsole.store.tables import accounts
from tests.harness import FAST_HASHER, ApiClient, InProcessTransport
from tests.server.http.helpers import change_account, rows
from tests.stores import make_fail, write_transaction

pytestmark = pytest.mark.usefixtures("rehashing")

OTHER_HASH = FAST_HASHER.hash("another")


def stored(data: Path, username: str = "demo") -> Row[Any]:
    (row,) = (row for row in rows(data, accounts) if row.username == username)
    return row


def test_a_login_replaces_the_hash_and_ends_no_session(
    transport: InProcessTransport, anonymous_client: ApiClient, data: Path
) -> None:
    before = stored(data)
    assert needs_rehash(before.password_hash)
    assert anonymous_client.login().status == 200
    assert not needs_rehash(stored(data).password_hash)
    assert stored(data).version == before.version
    assert anonymous_client.call("GetUrlList").status == 200
    assert ApiClient(transport).login().status == 200


def test_a_wrong_password_replaces_no_hash(anonymous_client: ApiClient, data: Path) -> None:
    before = stored(data).password_hash
    assert anonymous_client.login(password="wrong").error == "invalid_credentials"
    assert stored(data).password_hash == before


def test_a_hash_changed_meanwhile_is_not_replaced(
    anonymous_client: ApiClient, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change_meanwhile(_password: str) -> str:
        change_account(data, "demo", password_hash=OTHER_HASH)
        return hash_password("console-demo")

    monkeypatch.setattr(login_service, "hash_password", change_meanwhile)
    assert anonymous_client.login().status == 200
    assert stored(data).password_hash == OTHER_HASH


def test_a_login_succeeds_if_the_hash_cannot_be_replaced(
    anonymous_client: ApiClient, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = stored(data).password_hash
    with write_transaction(data, "cloud") as connection:
        make_fail(connection, "UPDATE ON accounts", "the disk is full")
    assert anonymous_client.login().status == 200
    assert stored(data).password_hash == before
    assert "could not replace an outdated password hash" in caplog.text
    assert before not in caplog.text
