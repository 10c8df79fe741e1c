"""Sessions: fixation, replay, revocation, expiry, tenant isolation, storage, and several workers."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pytest

from cloudconsole.backends.embedded import identity
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.activity_writes import ActivityStore
from cloudconsole.store.tables import access_audit, sessions
from tests.harness import FAST_HASHER, ApiClient, FakeClock, InProcessTransport
from tests.server.http.conftest import StartConsole
from tests.server.http.helpers import (
    change_account,
    cookie_header,
    drain_tasks,
    is_live,
    login_fields,
    post_login,
    record_replication_waits,
    remove_account,
    rows,
    stored_bytes,
)

ANONYMOUS: Final = "a" + "0" * 48
PLANTED: Final = "s" + "0" * 48

OWN_DOMAINS: Final = {"demo": ("206813", "206814"), "other": ("207001", "207002")}


def log_in(transport: InProcessTransport, username: str = "demo") -> ApiClient:
    client = ApiClient(transport)
    assert client.login(username, f"console-{username}").status == 200
    return client


def seen_at(data: Path) -> list[int]:
    return [row.seen_at for row in rows(data, sessions)]


# Fixation and replay.


@pytest.mark.parametrize("planted", [ANONYMOUS, PLANTED, "x"])
def test_a_planted_session_id_never_becomes_valid(
    transport: InProcessTransport, anonymous_client: ApiClient, planted: str
) -> None:
    anonymous_client.open()
    anonymous_client.cookies["sessionid"] = planted
    assert anonymous_client.login().status == 200
    assert anonymous_client.cookies["sessionid"] != planted
    assert not is_live(transport, planted)


def test_the_anonymous_session_id_is_invalid_after_login(
    transport: InProcessTransport, anonymous_client: ApiClient
) -> None:
    before = anonymous_client.open().cookie("sessionid") or ""
    assert anonymous_client.login().status == 200
    assert not is_live(transport, before)
    assert is_live(transport, anonymous_client.cookies["sessionid"])


def test_logging_in_again_changes_the_id_and_ends_the_old_session(
    transport: InProcessTransport, demo: ApiClient, data: Path
) -> None:
    before = demo.cookies["sessionid"]
    assert demo.login().status == 200
    assert demo.cookies["sessionid"] != before
    assert not is_live(transport, before)
    assert is_live(transport, demo.cookies["sessionid"])
    assert len(rows(data, sessions)) == 1


def test_logging_in_as_another_user_ends_the_old_session(transport: InProcessTransport, demo: ApiClient) -> None:
    before = demo.cookies["sessionid"]
    assert demo.login("other", "console-other").status == 200
    assert not is_live(transport, before)
    assert demo.call("GetDomainDetail", domainId="207001").status == 200


def test_login_ends_every_session_sent_with_it(transport: InProcessTransport, demo: ApiClient) -> None:
    another = log_in(transport)
    old = [demo.cookies["sessionid"], another.cookies["sessionid"]]
    cookie = "; ".join([*(f"sessionid={value}" for value in old), f"csrftoken={demo.token}"])
    reply = post_login(transport, [("Cookie", cookie)], login_fields(transport, csrfmiddlewaretoken=demo.token))
    assert reply.status == 200
    assert [is_live(transport, value) for value in old] == [False, False]


def test_logging_in_again_binds_the_session_to_the_new_token(transport: InProcessTransport, demo: ApiClient) -> None:
    old_token = demo.token
    demo.cookies["csrftoken"] = ApiClient(transport).open().cookie("csrftoken") or ""
    assert demo.token != old_token
    assert demo.login().status == 200
    assert demo.call("GetUrlList").status == 200
    demo.cookies["csrftoken"] = old_token
    assert demo.call("GetUrlList").error == "csrf_failed"


def test_a_session_is_invalid_after_logout(transport: InProcessTransport, demo: ApiClient) -> None:
    cookies = dict(demo.cookies)
    assert demo.logout().status == 200
    replay = ApiClient(transport, cookies)
    assert replay.call("GetUrlList").error == "login_required"
    assert replay.logout().error == "login_required"


@pytest.mark.parametrize(
    ("cookies", "times"), [({}, 0), ({"sessionid": ANONYMOUS}, 0), ({"sessionid": PLANTED}, 1), (None, 1)]
)
def test_logout_of_an_ended_session_waits_for_replicas(
    demo: ApiClient, monkeypatch: pytest.MonkeyPatch, cookies: dict[str, str] | None, times: int
) -> None:
    """Another replica may have ended it a moment ago, and its response may have been lost."""
    ended = dict(demo.cookies)
    demo.logout()
    waits = record_replication_waits(monkeypatch)
    replay = ApiClient(
        demo.transport, ended if cookies is None else {"csrftoken": demo.cookies["csrftoken"], **cookies}
    )
    assert replay.logout().error == "login_required"
    assert len(waits) == times


@pytest.mark.parametrize(
    ("cookies", "times"), [({}, 0), ({"sessionid": ANONYMOUS}, 0), ({"sessionid": PLANTED}, 1), (None, 1)]
)
def test_login_that_replaces_a_session_waits_for_replicas(
    demo: ApiClient, monkeypatch: pytest.MonkeyPatch, cookies: dict[str, str] | None, times: int
) -> None:
    """Even if it is gone: another replica may have ended it a moment ago."""
    waits = record_replication_waits(monkeypatch)
    held = demo.cookies if cookies is None else {"csrftoken": demo.cookies["csrftoken"], **cookies}
    assert ApiClient(demo.transport, dict(held)).login().status == 200
    assert len(waits) == times


def test_a_logged_out_session_stays_invalid_after_the_next_login(
    transport: InProcessTransport, demo: ApiClient
) -> None:
    before = demo.cookies["sessionid"]
    demo.logout()
    demo.login()
    assert not is_live(transport, before)


def test_logout_deletes_the_sessions_row(demo: ApiClient, data: Path) -> None:
    demo.logout()
    assert rows(data, sessions) == []


def test_logout_has_an_empty_response(demo: ApiClient) -> None:
    reply = demo.logout()
    assert (reply.status, reply.body) == (200, b"")


def test_login_has_an_empty_response(anonymous_client: ApiClient) -> None:
    reply = anonymous_client.login()
    assert (reply.status, reply.body) == (200, b"")


def test_login_redirects_if_configured(settings: Settings, start_console: StartConsole) -> None:
    client = ApiClient(start_console(replace(settings, login_redirect=True)))
    reply = client.login(next="https://evil.example/")
    assert (reply.status, reply.header("Location"), reply.body) == (302, "/", b"")
    assert client.call("GetUrlList").status == 200


def test_session_ids_are_never_repeated(transport: InProcessTransport, anonymous_client: ApiClient) -> None:
    given = set()
    for _ in range(20):
        anonymous_client.login()
        given.add(anonymous_client.cookies["sessionid"])
    assert len(given) == 20


@pytest.mark.parametrize("change", [str.upper, lambda text: text[:-1], lambda text: text + "0", lambda text: text[1:]])
def test_a_slightly_altered_session_id_is_invalid(transport: InProcessTransport, demo: ApiClient, change: Any) -> None:
    assert not is_live(transport, change(demo.cookies["sessionid"]))


def test_an_action_without_a_session_is_rejected(anonymous_client: ApiClient) -> None:
    assert anonymous_client.call("GetUrlList").error == "login_required"


def test_an_action_with_an_anonymous_session_is_rejected(anonymous_client: ApiClient) -> None:
    anonymous_client.open()
    assert anonymous_client.call("GetUrlList").error == "login_required"


# Ended by the operator.


def test_disabling_an_account_ends_its_sessions(transport: InProcessTransport, demo: ApiClient, data: Path) -> None:
    second = log_in(transport)
    change_account(data, "demo", disabled=True)
    assert demo.call("GetUrlList").error == "login_required"
    assert second.logout().error == "login_required"


def test_a_disabled_account_cannot_log_in(demo: ApiClient, data: Path) -> None:
    change_account(data, "demo", disabled=True)
    assert demo.login().error == "invalid_credentials"


def test_an_account_enabled_again_can_log_in(demo: ApiClient, data: Path) -> None:
    change_account(data, "demo", disabled=True)
    change_account(data, "demo", disabled=False)
    assert demo.login().status == 200


def test_a_new_version_of_the_account_ends_its_sessions(
    transport: InProcessTransport, demo: ApiClient, data: Path
) -> None:
    second = log_in(transport)
    change_account(data, "demo", version=12_345)
    assert demo.call("GetUrlList").error == "login_required"
    assert second.call("GetUrlList").error == "login_required"


def test_a_session_of_the_new_account_version_is_valid(demo: ApiClient, data: Path) -> None:
    change_account(data, "demo", version=12_345)
    assert demo.login().status == 200
    assert demo.call("GetUrlList").status == 200


def test_only_the_changed_password_logs_in(anonymous_client: ApiClient, data: Path) -> None:
    change_account(data, "demo", password_hash=FAST_HASHER.hash("changed"), version=12_345)
    assert anonymous_client.login().error == "invalid_credentials"
    assert anonymous_client.login(password="changed").status == 200


def test_removing_an_account_ends_its_sessions(demo: ApiClient, data: Path) -> None:
    remove_account(data, "demo")
    assert demo.call("GetUrlList").error == "login_required"
    assert demo.login().error == "invalid_credentials"


def test_sessions_of_other_accounts_stay_valid(transport: InProcessTransport, demo: ApiClient, data: Path) -> None:
    other = log_in(transport, "other")
    change_account(data, "demo", disabled=True, version=12_345)
    assert other.call("GetUrlList").status == 200


# Expiry.


def test_a_session_is_valid_until_its_idle_timeout(demo: ApiClient, clock: FakeClock, settings: Settings) -> None:
    clock.moment += settings.session_idle - 0.001
    assert demo.call("GetUrlList").status == 200


def test_a_session_expires_at_its_idle_timeout(demo: ApiClient, clock: FakeClock, settings: Settings) -> None:
    clock.moment += settings.session_idle
    assert demo.call("GetUrlList").error == "login_required"


def test_use_extends_a_session_past_its_idle_timeout(
    transport: InProcessTransport, demo: ApiClient, clock: FakeClock, settings: Settings
) -> None:
    for _ in range(5):
        clock.moment += settings.session_idle - 1
        assert demo.call("GetUrlList").status == 200
        drain_tasks(transport)


@pytest.mark.parametrize(("remaining", "status"), [(1, 200), (0.001, 200), (0, 401), (-1, 401)])
def test_a_session_in_use_expires_at_its_lifetime(
    transport: InProcessTransport, demo: ApiClient, clock: FakeClock, settings: Settings, remaining: float, status: int
) -> None:
    end = clock.moment + settings.session_lifetime
    while clock.moment < end - 1200:
        clock.moment += 1200
        demo.call("GetUrlList")
        drain_tasks(transport)
    clock.moment = end - remaining
    assert demo.call("GetUrlList").status == status


def test_idle_timeout_and_lifetime_are_configurable(
    settings: Settings, clock: FakeClock, start_console: StartConsole
) -> None:
    transport = start_console(replace(settings, session_idle=100, session_lifetime=150))
    first, second = log_in(transport), log_in(transport)
    clock.moment += 99
    assert first.call("GetUrlList").status == 200
    drain_tasks(transport)
    clock.moment += 1
    assert first.call("GetUrlList").status == 200
    assert second.call("GetUrlList").error == "login_required"
    clock.moment += 50
    assert first.call("GetUrlList").error == "login_required"


def test_welcome_counts_as_use(
    transport: InProcessTransport, demo: ApiClient, clock: FakeClock, settings: Settings
) -> None:
    clock.moment += settings.session_idle - 1
    demo.open()
    drain_tasks(transport)
    clock.moment += settings.session_idle - 1
    assert demo.call("GetUrlList").status == 200


@pytest.mark.parametrize(("after", "is_written"), [(1, False), (59, False), (60, True), (61, True)])
def test_use_is_written_at_most_once_a_minute(
    transport: InProcessTransport, demo: ApiClient, clock: FakeClock, data: Path, after: int, is_written: bool
) -> None:
    start = int(clock.moment)
    clock.moment += after
    demo.call("GetUrlList")
    drain_tasks(transport)
    assert seen_at(data) == [start + after if is_written else start]


def test_many_requests_at_one_moment_write_once(
    transport: InProcessTransport, demo: ApiClient, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[float] = []
    touch_sessions = ActivityStore.touch_sessions

    def recording(self: ActivityStore, moments: Mapping[bytes, int]) -> None:
        written.extend(moments.values())
        touch_sessions(self, moments)

    monkeypatch.setattr(ActivityStore, "touch_sessions", recording)
    clock.moment += 60
    for _ in range(20):
        demo.call("GetUrlList")
    drain_tasks(transport)
    for _ in range(20):
        demo.call("GetUrlList")
    drain_tasks(transport)
    assert written == [clock.moment]


@pytest.mark.embedded_only
def test_many_sessions_in_use_at_once_are_written_together(
    transport: InProcessTransport, clock: FakeClock, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = [log_in(transport) for _ in range(8)]
    written: list[int] = []
    touch_sessions = ActivityStore.touch_sessions

    def recording(self: ActivityStore, moments: Mapping[bytes, int]) -> None:
        written.append(len(moments))
        touch_sessions(self, moments)

    monkeypatch.setattr(ActivityStore, "touch_sessions", recording)
    clock.moment += 60
    transport.gather(
        *(transport.asend("GET", "/api/", [("Cookie", f"sessionid={each.cookies['sessionid']}")]) for each in clients)
    )
    drain_tasks(transport)
    assert seen_at(data) == [int(clock.moment)] * 8
    assert written == [8]


def test_a_request_of_an_expired_session_writes_nothing(
    transport: InProcessTransport, demo: ApiClient, clock: FakeClock, settings: Settings, data: Path
) -> None:
    before = seen_at(data)
    clock.moment += settings.session_idle
    demo.call("GetUrlList")
    drain_tasks(transport)
    assert seen_at(data) == before


def test_the_next_login_deletes_expired_sessions(
    transport: InProcessTransport, demo: ApiClient, clock: FakeClock, settings: Settings, data: Path
) -> None:
    clock.moment += settings.session_lifetime
    log_in(transport, "other")
    assert len(rows(data, sessions)) == 1


# Concurrent sessions, and isolation of tenants.


def test_an_account_may_have_several_sessions(transport: InProcessTransport) -> None:
    clients = [log_in(transport) for _ in range(5)]
    assert [client.call("GetUrlList").status for client in clients] == [200] * 5


def test_logout_ends_only_its_own_session(transport: InProcessTransport, demo: ApiClient) -> None:
    second = log_in(transport)
    demo.logout()
    assert second.call("GetUrlList").status == 200


@pytest.mark.parametrize("username", OWN_DOMAINS)
def test_a_tenant_sees_only_its_own_domains(transport: InProcessTransport, username: str) -> None:
    client = log_in(transport, username)
    for owner, domains in OWN_DOMAINS.items():
        for domain in domains:
            reply = client.call("GetDomainDetail", domainId=domain)
            assert reply.status == (200 if owner == username else 404)


def test_a_foreign_domain_looks_like_a_missing_one(transport: InProcessTransport, demo: ApiClient) -> None:
    # The other tenant reads it first: its cached response must not be reused.
    assert log_in(transport, "other").call("GetDomainDetail", domainId="207001").status == 200
    foreign, missing = (demo.call("GetDomainDetail", domainId=domain) for domain in ("207001", "999999"))
    assert foreign.error == "domain_not_found"
    assert (foreign.status, foreign.body) == (missing.status, missing.body)
    assert {name for name, _ in foreign.headers} == {name for name, _ in missing.headers}


@pytest.mark.parametrize("action", ["GetUsageLimits", "GetUrlList", "GetConsumptionsEstimated"])
def test_responses_do_not_leak_between_tenants(transport: InProcessTransport, action: str) -> None:
    demo, other = log_in(transport), log_in(transport, "other")
    first = {client.cookies["sessionid"]: client.call(action).data for client in (demo, other)}
    again = {client.cookies["sessionid"]: client.call(action).data for client in (other, demo)}
    assert first == again
    assert first[demo.cookies["sessionid"]] != first[other.cookies["sessionid"]]


def test_no_request_field_switches_the_tenant(demo: ApiClient) -> None:
    own = demo.call("GetUsageLimits").data
    assert demo.call("GetUsageLimits", tenant="other", tenantId=2, username="other", account="other").data == own


# What is stored.


def test_only_a_hash_of_the_session_id_is_stored(demo: ApiClient, data: Path) -> None:
    session_id = demo.cookies["sessionid"]
    assert [row.id_hash for row in rows(data, sessions)] == [sha256(session_id.encode()).digest()]
    stored = stored_bytes(data)
    assert session_id.encode() not in stored
    assert session_id[1:].encode() not in stored
    assert bytes.fromhex(session_id[1:]) not in stored


@pytest.mark.embedded_only
def test_the_session_id_is_not_in_the_write_ahead_log(demo: ApiClient, data: Path) -> None:
    wal = (data / "activity.db-wal").read_bytes()
    assert sha256(demo.cookies["sessionid"].encode()).digest() in wal
    assert demo.cookies["sessionid"].encode() not in wal


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


@pytest.fixture
def second(settings: Settings, transport: InProcessTransport, start_console: StartConsole) -> InProcessTransport:
    return start_console(settings)


def test_another_worker_sees_a_login_at_once(demo: ApiClient, second: InProcessTransport) -> None:
    demo.transport = second
    assert demo.call("GetUrlList").status == 200


def test_another_worker_sees_a_logout_at_once(demo: ApiClient, second: InProcessTransport) -> None:
    session_id = demo.cookies["sessionid"]
    assert is_live(second, session_id)
    demo.logout()
    assert not is_live(second, session_id)


def test_another_worker_sees_a_disabled_account_at_once(
    demo: ApiClient, second: InProcessTransport, data: Path
) -> None:
    assert is_live(second, demo.cookies["sessionid"])
    change_account(data, "demo", disabled=True)
    assert not is_live(second, demo.cookies["sessionid"])


def test_another_worker_sees_a_changed_password_at_once(
    demo: ApiClient, second: InProcessTransport, data: Path
) -> None:
    assert is_live(second, demo.cookies["sessionid"])
    change_account(data, "demo", password_hash=FAST_HASHER.hash("changed"), version=12_345)
    assert not is_live(second, demo.cookies["sessionid"])
    demo.transport = second
    assert demo.login(password="changed").status == 200


def test_use_on_one_worker_extends_the_session_on_another(
    transport: InProcessTransport, demo: ApiClient, second: InProcessTransport, clock: FakeClock, settings: Settings
) -> None:
    clock.moment += settings.session_idle - 1
    demo.call("GetUrlList")
    drain_tasks(transport)
    clock.moment += settings.session_idle - 1
    assert is_live(second, demo.cookies["sessionid"])


def test_a_session_is_not_bound_to_an_address(transport: InProcessTransport, demo: ApiClient) -> None:
    transport.address = "2001:db8::1"
    assert demo.call("GetUrlList").status == 200


def test_an_account_disabled_during_login_gets_no_live_session(
    transport: InProcessTransport, anonymous_client: ApiClient, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disable_meanwhile(_hash: str, _password: str) -> bool:
        change_account(data, "demo", disabled=True, version=12_345)
        return True

    monkeypatch.setattr(identity, "password_matches", disable_meanwhile)
    anonymous_client.login()
    assert not is_live(transport, anonymous_client.cookies["sessionid"])


def test_a_session_cookie_without_a_token_cannot_log_out(transport: InProcessTransport, demo: ApiClient) -> None:
    cookies = cookie_header(sessionid=demo.cookies["sessionid"])
    assert transport.send("POST", "/auth/logout/", cookies).error == "csrf_failed"
    assert is_live(transport, demo.cookies["sessionid"])
