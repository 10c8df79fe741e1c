"""Sessions: revocation by the operator, expiry, what is stored, replication waits, and several workers."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Final

import pytest

from cloudconsole.backends.embedded import identity
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http import sessions as module
from cloudconsole.store.activity_writes import ActivityStore
from cloudconsole.store.tables import access_audit, sessions
from tests.harness import FAST_HASHER, ApiClient, FakeClock, InProcessTransport
from tests.server.http.conftest import StartConsole
from tests.server.http.helpers import (
    change_account,
    drain_tasks,
    is_live,
    record_replication_waits,
    remove_account,
    rows,
    stored_bytes,
)

ANONYMOUS: Final = "a" + "0" * 48
UNKNOWN: Final = "s" + "0" * 48
CHANGED_PASSWORD: Final = {"password_hash": FAST_HASHER.hash("changed"), "version": 12_345}


@pytest.fixture(autouse=True)
def _no_batching(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write uses of sessions without waiting for more of them."""
    monkeypatch.setattr(module, "TOUCH_BATCH_SECONDS", 0.001)


def log_in(transport: InProcessTransport, username: str = "demo") -> ApiClient:
    client = ApiClient(transport)
    assert client.login(username, f"console-{username}").status == 200
    return client


def seen_at(data: Path) -> list[int]:
    return [row.seen_at for row in rows(data, sessions)]


# Login and logout.


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


def test_only_live_sessions_are_stored(demo: ApiClient, data: Path) -> None:
    demo.login()
    assert len(rows(data, sessions)) == 1
    demo.logout()
    assert rows(data, sessions) == []


def test_login_redirects_if_configured(settings: Settings, start_console: StartConsole) -> None:
    client = ApiClient(start_console(replace(settings, login_redirect=True)))
    reply = client.login(next="https://evil.example/")
    assert (reply.status, reply.header("Location"), reply.body) == (302, "/", b"")
    assert client.call("GetUrlList").status == 200


def test_session_is_not_bound_to_an_address(transport: InProcessTransport, demo: ApiClient) -> None:
    transport.address = "2001:db8::1"
    assert demo.call("GetUrlList").status == 200


# Ended by the operator.


def _disable(data: Path) -> None:
    change_account(data, "demo", disabled=True)


def _change_password(data: Path) -> None:
    change_account(data, "demo", **CHANGED_PASSWORD)


def _remove(data: Path) -> None:
    remove_account(data, "demo")


@pytest.mark.parametrize("end", [_disable, _change_password, _remove])
def test_change_of_an_account_ends_its_sessions_on_every_worker(
    transport: InProcessTransport,
    demo: ApiClient,
    settings: Settings,
    start_console: StartConsole,
    data: Path,
    end: Callable[[Path], None],
) -> None:
    second, other = log_in(start_console(settings)), log_in(transport, "other")
    second.transport, demo.transport = demo.transport, second.transport
    assert [client.call("GetUrlList").status for client in (demo, second, other)] == [200, 200, 200]
    end(data)
    assert demo.call("GetUrlList").error == "login_required"
    assert second.logout().error == "login_required"
    assert demo.login().error == "invalid_credentials"
    assert other.call("GetUrlList").status == 200


def test_only_the_changed_password_opens_a_session(demo: ApiClient, data: Path) -> None:
    _change_password(data)
    assert demo.login().error == "invalid_credentials"
    assert demo.login(password="changed").status == 200
    assert demo.call("GetUrlList").status == 200


def test_account_enabled_again_can_log_in(demo: ApiClient, data: Path) -> None:
    change_account(data, "demo", disabled=True)
    change_account(data, "demo", disabled=False)
    assert demo.login().status == 200


def test_account_disabled_during_login_gets_no_live_session(
    transport: InProcessTransport, anonymous_client: ApiClient, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disable_meanwhile(_hash: str, _password: str) -> bool:
        change_account(data, "demo", disabled=True, version=12_345)
        return True

    monkeypatch.setattr(identity, "password_matches", disable_meanwhile)
    anonymous_client.login()
    assert not is_live(transport, anonymous_client.cookies["sessionid"])


# Expiry.


@pytest.mark.parametrize(("remaining", "status"), [(0.001, 200), (0, 401)])
def test_session_expires_at_its_lifetime_and_its_idle_timeout(
    settings: Settings, clock: FakeClock, start_console: StartConsole, remaining: float, status: int
) -> None:
    transport = start_console(replace(settings, session_idle=100, session_lifetime=250))
    demo = log_in(transport)
    end = clock.moment + 250
    for _ in range(3):
        clock.moment += 80
        assert demo.call("GetUrlList").status == 200
        drain_tasks(transport)
    idle = log_in(transport)
    clock.moment = end - remaining
    assert demo.call("GetUrlList").status == status
    clock.moment += 90
    assert idle.call("GetUrlList").status == status


def test_welcome_on_one_worker_extends_the_session_on_another(
    transport: InProcessTransport,
    demo: ApiClient,
    settings: Settings,
    start_console: StartConsole,
    clock: FakeClock,
) -> None:
    second = start_console(settings)
    clock.moment += settings.session_idle - 1
    demo.open()
    drain_tasks(transport)
    clock.moment += settings.session_idle - 1
    assert is_live(second, demo.cookies["sessionid"])


@pytest.mark.parametrize(("after", "is_written"), [(59, False), (60, True)])
def test_use_is_written_at_most_once_a_minute(
    transport: InProcessTransport,
    demo: ApiClient,
    clock: FakeClock,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
    after: int,
    is_written: bool,
) -> None:
    written: list[float] = []
    touch_sessions = ActivityStore.touch_sessions

    def recording(self: ActivityStore, moments: Mapping[bytes, int]) -> None:
        written.extend(moments.values())
        touch_sessions(self, moments)

    monkeypatch.setattr(ActivityStore, "touch_sessions", recording)
    start = int(clock.moment)
    clock.moment += after
    for _ in range(2):
        for _ in range(20):
            demo.call("GetUrlList")
        drain_tasks(transport)
    assert written == ([start + after] if is_written else [])
    assert seen_at(data) == [start + after if is_written else start]


def test_request_of_an_expired_session_writes_nothing(
    transport: InProcessTransport, demo: ApiClient, clock: FakeClock, settings: Settings, data: Path
) -> None:
    before = seen_at(data)
    clock.moment += settings.session_idle
    demo.call("GetUrlList")
    drain_tasks(transport)
    assert seen_at(data) == before


# What is stored.


def test_only_a_hash_of_the_session_id_is_stored(demo: ApiClient, data: Path) -> None:
    session_id = demo.cookies["sessionid"]
    assert [row.id_hash for row in rows(data, sessions)] == [sha256(session_id.encode()).digest()]
    stored = stored_bytes(data)
    assert session_id[1:].encode() not in stored
    assert bytes.fromhex(session_id[1:]) not in stored


def test_the_full_csrf_token_is_not_stored(demo: ApiClient, data: Path) -> None:
    assert demo.token.encode() not in stored_bytes(data)


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


# Another worker on the same data directory.


def test_another_worker_sees_login_and_logout_at_once(
    demo: ApiClient, settings: Settings, start_console: StartConsole
) -> None:
    second = start_console(settings)
    session_id = demo.cookies["sessionid"]
    assert is_live(second, session_id)
    demo.logout()
    assert not is_live(second, session_id)
    demo.login()
    assert is_live(second, demo.cookies["sessionid"])
