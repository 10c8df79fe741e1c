"""Login and logout: replaced password hashes, replication waits, and what is stored and audited."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pytest
from sqlalchemy import Row

from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http import login_service
from cloudconsole.store.base import DATABASE_NAMES
from cloudconsole.store.passwords import hash_password, needs_rehash
from cloudconsole.store.sqlite.engine import database_file
from cloudconsole.store.tables import ACTIVITY, CLOUD, access_audit, accounts, sessions
from tests.harness import FAST_HASHER, ApiClient, FakeClock, InProcessTransport
from tests.server.http.conftest import StartConsole
from tests.server.http.helpers import change_account, cookie_header, record_replication_waits, rows, stored_bytes
from tests.stores import make_fail, write_transaction

ANONYMOUS: Final = "a" + "0" * 48
UNKNOWN: Final = "s" + "0" * 48
OTHER_HASH: Final = FAST_HASHER.hash("another")


def test_login_redirects_if_configured(settings: Settings, start_console: StartConsole) -> None:
    client = ApiClient(start_console(replace(settings, login_redirect=True)))
    reply = client.login(next="https://evil.example/")
    assert (reply.status, reply.header("Location"), reply.body) == (302, "/", b"")
    assert client.call("GetUrlList").status == 200


# Replication.


@pytest.mark.parametrize(
    ("cookies", "times"), [({}, 0), ({"sessionid": ANONYMOUS}, 0), ({"sessionid": UNKNOWN}, 1), (None, 1)]
)
def test_login_and_logout_wait_for_replicas_if_they_end_a_session(
    demo: ApiClient, monkeypatch: pytest.MonkeyPatch, cookies: dict[str, str] | None, times: int
) -> None:
    """Even if it is gone: another replica may have ended it a moment ago, and its response may have been lost."""
    waits = record_replication_waits(monkeypatch)
    held = demo.cookies if cookies is None else {"csrftoken": demo.token, **cookies}
    assert ApiClient(demo.transport, dict(held)).login().status == 200
    assert len(waits) == times
    assert ApiClient(demo.transport, dict(held)).logout().error == "login_required"
    assert len(waits) == 2 * times


def test_logout_waits_for_replicas(demo: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = record_replication_waits(monkeypatch)
    assert demo.logout().status == 200
    assert len(waits) == 1


# What is stored.


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_welcome_writes_nothing_to_the_store(transport: InProcessTransport, data: Path, method: str) -> None:
    def on_disk() -> list[bytes]:
        files = [database_file(data, part) for part in DATABASE_NAMES]
        files += [file.with_name(file.name + "-wal") for file in files]
        return [file.read_bytes() if file.exists() else b"" for file in files]

    def in_tables() -> dict[str, int]:
        return {table.name: len(rows(data, table)) for part in (ACTIVITY, CLOUD) for table in part.sorted_tables}

    # Rows are counted first: counting them opens the store for writing.
    counted, written = in_tables(), on_disk()
    for cookies in ([], cookie_header(sessionid=UNKNOWN), cookie_header(sessionid=ANONYMOUS)):
        assert transport.send(method, "/api/", cookies).status == 200
    assert on_disk() == written
    assert in_tables() == counted


def test_neither_session_id_nor_csrf_token_is_stored(demo: ApiClient, data: Path) -> None:
    session_id = demo.cookies["sessionid"]
    assert [row.id_hash for row in rows(data, sessions)] == [sha256(session_id.encode()).digest()]
    stored = stored_bytes(data)
    assert session_id[1:].encode() not in stored
    assert bytes.fromhex(session_id[1:]) not in stored
    assert demo.token.encode() not in stored


@pytest.mark.parametrize("typed", ["console-demo", "console-demo-with-a-slip"])
def test_passwords_and_unknown_usernames_are_not_stored(anonymous_client: ApiClient, data: Path, typed: str) -> None:
    anonymous_client.login(username=f"{typed}-as-name", password=typed)
    anonymous_client.login(password=typed)
    assert typed.encode() not in stored_bytes(data)


def test_logins_and_logouts_are_in_the_audit_log(demo: ApiClient, data: Path, clock: FakeClock) -> None:
    demo.login(password="wrong")
    demo.login(username="nobody")
    demo.logout()
    entries = [(row.event, row.username, row.address, row.at) for row in rows(data, access_audit)]
    now = int(clock.moment)
    assert entries == [
        ("login", "demo", "127.0.0.1", now),
        ("login_refused", "demo", "127.0.0.1", now),
        ("login_refused", None, "127.0.0.1", now),
        ("logout", "demo", "127.0.0.1", now),
    ]


# Outdated password hashes.


def stored_account(data: Path) -> Row[Any]:
    (row,) = (row for row in rows(data, accounts) if row.username == "demo")
    return row


@pytest.mark.usefixtures("rehashing")
def test_a_login_replaces_the_hash_and_ends_no_session(
    transport: InProcessTransport, anonymous_client: ApiClient, data: Path
) -> None:
    before = stored_account(data)
    assert needs_rehash(before.password_hash)
    assert anonymous_client.login().status == 200
    assert not needs_rehash(stored_account(data).password_hash)
    assert stored_account(data).version == before.version
    assert anonymous_client.call("GetUrlList").status == 200
    assert ApiClient(transport).login().status == 200


@pytest.mark.usefixtures("rehashing")
def test_a_wrong_password_replaces_no_hash(anonymous_client: ApiClient, data: Path) -> None:
    before = stored_account(data).password_hash
    assert anonymous_client.login(password="wrong").error == "invalid_credentials"
    assert stored_account(data).password_hash == before


@pytest.mark.usefixtures("rehashing")
def test_a_hash_changed_meanwhile_is_not_replaced(
    anonymous_client: ApiClient, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change_meanwhile(_password: str) -> str:
        change_account(data, "demo", password_hash=OTHER_HASH)
        return hash_password("console-demo")

    monkeypatch.setattr(login_service, "hash_password", change_meanwhile)
    assert anonymous_client.login().status == 200
    assert stored_account(data).password_hash == OTHER_HASH


@pytest.mark.usefixtures("rehashing")
def test_a_login_succeeds_if_the_hash_cannot_be_replaced(
    anonymous_client: ApiClient, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = stored_account(data).password_hash
    with write_transaction(data, "cloud") as connection:
        make_fail(connection, "UPDATE ON accounts", "the disk is full")
    assert anonymous_client.login().status == 200
    assert stored_account(data).password_hash == before
    assert "could not replace an outdated password hash" in caplog.text
    assert before not in caplog.text
