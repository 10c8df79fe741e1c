"""Sessions: never fixed, never replayed, ended when and where they must end, and kept apart."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pytest

from cloudconsole.backends.embedded import identity
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.activity import ActivityStore
from cloudconsole.store.tables import access_audit, sessions
from tests.harness import QUICK, Caller, HeldClock, InProcess
from tests.server.http.conftest import StartConsole
from tests.server.http.world import (
    change_account,
    cookie_header,
    is_live,
    login_fields,
    noting_settled,
    post_login,
    remove_account,
    rows,
    settle,
    stored_bytes,
)

ANONYMOUS: Final = "a" + "0" * 48
PLANTED: Final = "s" + "0" * 48

OWN_DOMAINS: Final = {"demo": ("206813", "206814"), "other": ("207001", "207002")}


def log_in(wire: InProcess, username: str = "demo") -> Caller:
    caller = Caller(wire)
    assert caller.login(username, f"console-{username}").status == 200
    return caller


def seen_at(data: Path) -> list[int]:
    return [row.seen_at for row in rows(data, sessions)]


# Fixation and replay.


@pytest.mark.parametrize("planted", [ANONYMOUS, PLANTED, "x"])
def test_a_planted_session_id_is_never_let_in(wire: InProcess, visitor: Caller, planted: str) -> None:
    visitor.open()
    visitor.cookies["sessionid"] = planted
    assert visitor.login().status == 200
    assert visitor.cookies["sessionid"] != planted
    assert not is_live(wire, planted)


def test_the_id_of_the_opening_is_dead_after_login(wire: InProcess, visitor: Caller) -> None:
    before = visitor.open().cookie("sessionid") or ""
    assert visitor.login().status == 200
    assert not is_live(wire, before)
    assert is_live(wire, visitor.cookies["sessionid"])


def test_logging_in_again_changes_the_id_and_ends_the_old_session(wire: InProcess, demo: Caller, data: Path) -> None:
    before = demo.cookies["sessionid"]
    assert demo.login().status == 200
    assert demo.cookies["sessionid"] != before
    assert not is_live(wire, before)
    assert is_live(wire, demo.cookies["sessionid"])
    assert len(rows(data, sessions)) == 1


def test_logging_in_as_another_ends_the_old_session(wire: InProcess, demo: Caller) -> None:
    before = demo.cookies["sessionid"]
    assert demo.login("other", "console-other").status == 200
    assert not is_live(wire, before)
    assert demo.call("GetDomainDetail", domainId="207001").status == 200


def test_every_session_that_a_login_presents_is_ended(wire: InProcess, demo: Caller) -> None:
    another = log_in(wire)
    old = [demo.cookies["sessionid"], another.cookies["sessionid"]]
    cookie = "; ".join([*(f"sessionid={value}" for value in old), f"csrftoken={demo.token}"])
    reply = post_login(wire, [("Cookie", cookie)], login_fields(wire, csrfmiddlewaretoken=demo.token))
    assert reply.status == 200
    assert [is_live(wire, value) for value in old] == [False, False]


def test_logging_in_again_binds_the_token_of_that_login(wire: InProcess, demo: Caller) -> None:
    old_token = demo.token
    demo.cookies["csrftoken"] = Caller(wire).open().cookie("csrftoken") or ""
    assert demo.token != old_token
    assert demo.login().status == 200
    assert demo.call("GetUrlList").status == 200
    demo.cookies["csrftoken"] = old_token
    assert demo.call("GetUrlList").error == "csrf_failed"


def test_a_session_is_dead_after_logout(wire: InProcess, demo: Caller) -> None:
    cookies = dict(demo.cookies)
    assert demo.logout().status == 200
    replay = Caller(wire, cookies)
    assert replay.call("GetUrlList").error == "login_required"
    assert replay.logout().error == "login_required"


@pytest.mark.parametrize(
    ("cookies", "times"), [({}, 0), ({"sessionid": ANONYMOUS}, 0), ({"sessionid": PLANTED}, 1), (None, 1)]
)
def test_who_logs_out_of_no_live_session_is_told_only_when_no_replica_serves_it(
    demo: Caller, monkeypatch: pytest.MonkeyPatch, cookies: dict[str, str] | None, times: int
) -> None:
    """It may have ended a moment ago by another replica, whose answer was lost."""
    ended = dict(demo.cookies)
    demo.logout()
    settled = noting_settled(monkeypatch)
    replay = Caller(demo.wire, ended if cookies is None else {"csrftoken": demo.cookies["csrftoken"], **cookies})
    assert replay.logout().error == "login_required"
    assert len(settled) == times


@pytest.mark.parametrize(
    ("cookies", "times"), [({}, 0), ({"sessionid": ANONYMOUS}, 0), ({"sessionid": PLANTED}, 1), (None, 1)]
)
def test_who_logs_in_over_a_session_is_told_only_when_no_replica_serves_it(
    demo: Caller, monkeypatch: pytest.MonkeyPatch, cookies: dict[str, str] | None, times: int
) -> None:
    """Also where it is gone: another replica may have ended it a moment ago."""
    settled = noting_settled(monkeypatch)
    held = demo.cookies if cookies is None else {"csrftoken": demo.cookies["csrftoken"], **cookies}
    assert Caller(demo.wire, dict(held)).login().status == 200
    assert len(settled) == times


def test_a_session_ended_by_logout_stays_dead_after_the_next_login(wire: InProcess, demo: Caller) -> None:
    before = demo.cookies["sessionid"]
    demo.logout()
    demo.login()
    assert not is_live(wire, before)


def test_logout_leaves_no_row_behind(demo: Caller, data: Path) -> None:
    demo.logout()
    assert rows(data, sessions) == []


def test_logout_answers_with_nothing(demo: Caller) -> None:
    reply = demo.logout()
    assert (reply.status, reply.body) == (200, b"")


def test_login_answers_with_nothing(visitor: Caller) -> None:
    reply = visitor.login()
    assert (reply.status, reply.body) == (200, b"")


def test_login_redirects_where_that_is_set(settings: Settings, start_console: StartConsole) -> None:
    caller = Caller(start_console(replace(settings, login_redirect=True)))
    reply = caller.login(next="https://evil.example/")
    assert (reply.status, reply.header("Location"), reply.body) == (302, "/", b"")
    assert caller.call("GetUrlList").status == 200


def test_session_ids_are_never_repeated(wire: InProcess, visitor: Caller) -> None:
    given = set()
    for _ in range(20):
        visitor.login()
        given.add(visitor.cookies["sessionid"])
    assert len(given) == 20


@pytest.mark.parametrize("change", [str.upper, lambda text: text[:-1], lambda text: text + "0", lambda text: text[1:]])
def test_nearly_the_right_id_is_no_session(wire: InProcess, demo: Caller, change: Any) -> None:
    assert not is_live(wire, change(demo.cookies["sessionid"]))


def test_without_any_session_there_is_no_call(visitor: Caller) -> None:
    assert visitor.call("GetUrlList").error == "login_required"


def test_an_anonymous_session_is_no_login(visitor: Caller) -> None:
    visitor.open()
    assert visitor.call("GetUrlList").error == "login_required"


# Ended by the operator.


def test_disabling_an_account_ends_its_sessions(wire: InProcess, demo: Caller, data: Path) -> None:
    second = log_in(wire)
    change_account(data, "demo", disabled=True)
    assert demo.call("GetUrlList").error == "login_required"
    assert second.logout().error == "login_required"


def test_a_disabled_account_does_not_log_in(demo: Caller, data: Path) -> None:
    change_account(data, "demo", disabled=True)
    assert demo.login().error == "invalid_credentials"


def test_an_account_enabled_again_logs_in(demo: Caller, data: Path) -> None:
    change_account(data, "demo", disabled=True)
    change_account(data, "demo", disabled=False)
    assert demo.login().status == 200


def test_a_new_version_of_the_account_ends_its_sessions(wire: InProcess, demo: Caller, data: Path) -> None:
    second = log_in(wire)
    change_account(data, "demo", version=12_345)
    assert demo.call("GetUrlList").error == "login_required"
    assert second.call("GetUrlList").error == "login_required"


def test_a_session_of_the_new_version_lives(demo: Caller, data: Path) -> None:
    change_account(data, "demo", version=12_345)
    assert demo.login().status == 200
    assert demo.call("GetUrlList").status == 200


def test_a_changed_password_is_the_only_one_that_logs_in(visitor: Caller, data: Path) -> None:
    change_account(data, "demo", password_hash=QUICK.hash("changed"), version=12_345)
    assert visitor.login().error == "invalid_credentials"
    assert visitor.login(password="changed").status == 200


def test_a_removed_account_has_no_sessions(demo: Caller, data: Path) -> None:
    remove_account(data, "demo")
    assert demo.call("GetUrlList").error == "login_required"
    assert demo.login().error == "invalid_credentials"


def test_another_accounts_sessions_go_on(wire: InProcess, demo: Caller, data: Path) -> None:
    other = log_in(wire, "other")
    change_account(data, "demo", disabled=True, version=12_345)
    assert other.call("GetUrlList").status == 200


# Expiry.


def test_a_session_lives_until_just_before_its_idle_time_is_over(
    demo: Caller, clock: HeldClock, settings: Settings
) -> None:
    clock.moment += settings.session_idle - 0.001
    assert demo.call("GetUrlList").status == 200


def test_a_session_is_dead_when_its_idle_time_is_over(demo: Caller, clock: HeldClock, settings: Settings) -> None:
    clock.moment += settings.session_idle
    assert demo.call("GetUrlList").error == "login_required"


def test_a_used_session_goes_on_past_its_idle_time(
    wire: InProcess, demo: Caller, clock: HeldClock, settings: Settings
) -> None:
    for _ in range(5):
        clock.moment += settings.session_idle - 1
        assert demo.call("GetUrlList").status == 200
        settle(wire)


@pytest.mark.parametrize(("before_the_end", "status"), [(1, 200), (0.001, 200), (0, 401), (-1, 401)])
def test_however_much_it_is_used_a_session_ends_at_its_lifetime(
    wire: InProcess, demo: Caller, clock: HeldClock, settings: Settings, before_the_end: float, status: int
) -> None:
    end = clock.moment + settings.session_lifetime
    while clock.moment < end - 1200:
        clock.moment += 1200
        demo.call("GetUrlList")
        settle(wire)
    clock.moment = end - before_the_end
    assert demo.call("GetUrlList").status == status


def test_both_lifetimes_are_settings(settings: Settings, clock: HeldClock, start_console: StartConsole) -> None:
    wire = start_console(replace(settings, session_idle=100, session_lifetime=150))
    first, second = log_in(wire), log_in(wire)
    clock.moment += 99
    assert first.call("GetUrlList").status == 200
    settle(wire)
    clock.moment += 1
    assert first.call("GetUrlList").status == 200
    assert second.call("GetUrlList").error == "login_required"
    clock.moment += 50
    assert first.call("GetUrlList").error == "login_required"


def test_opening_counts_as_use(wire: InProcess, demo: Caller, clock: HeldClock, settings: Settings) -> None:
    clock.moment += settings.session_idle - 1
    demo.open()
    settle(wire)
    clock.moment += settings.session_idle - 1
    assert demo.call("GetUrlList").status == 200


@pytest.mark.parametrize(("after", "is_written"), [(1, False), (59, False), (60, True), (61, True)])
def test_use_is_written_at_most_once_a_minute(
    wire: InProcess, demo: Caller, clock: HeldClock, data: Path, after: int, is_written: bool
) -> None:
    start = int(clock.moment)
    clock.moment += after
    demo.call("GetUrlList")
    settle(wire)
    assert seen_at(data) == [start + after if is_written else start]


def test_many_calls_of_one_moment_write_once(
    wire: InProcess, demo: Caller, clock: HeldClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[float] = []
    touch_sessions = ActivityStore.touch_sessions

    def noting(self: ActivityStore, moments: Mapping[bytes, int]) -> None:
        written.extend(moments.values())
        touch_sessions(self, moments)

    monkeypatch.setattr(ActivityStore, "touch_sessions", noting)
    clock.moment += 60
    for _ in range(20):
        demo.call("GetUrlList")
    settle(wire)
    for _ in range(20):
        demo.call("GetUrlList")
    settle(wire)
    assert written == [clock.moment]


@pytest.mark.embedded_only
def test_many_sessions_in_use_at_once_are_written_together(
    wire: InProcess, clock: HeldClock, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    callers = [log_in(wire) for _ in range(8)]
    written: list[int] = []
    touch_sessions = ActivityStore.touch_sessions

    def noting(self: ActivityStore, moments: Mapping[bytes, int]) -> None:
        written.append(len(moments))
        touch_sessions(self, moments)

    monkeypatch.setattr(ActivityStore, "touch_sessions", noting)
    clock.moment += 60
    wire.together(
        *(wire.asend("GET", "/api/", [("Cookie", f"sessionid={each.cookies['sessionid']}")]) for each in callers)
    )
    settle(wire)
    assert seen_at(data) == [int(clock.moment)] * 8
    assert written == [8]


def test_a_refused_call_of_a_dead_session_writes_nothing(
    wire: InProcess, demo: Caller, clock: HeldClock, settings: Settings, data: Path
) -> None:
    before = seen_at(data)
    clock.moment += settings.session_idle
    demo.call("GetUrlList")
    settle(wire)
    assert seen_at(data) == before


def test_expired_sessions_are_cleared_away_by_the_next_login(
    wire: InProcess, demo: Caller, clock: HeldClock, settings: Settings, data: Path
) -> None:
    clock.moment += settings.session_lifetime
    log_in(wire, "other")
    assert len(rows(data, sessions)) == 1


# Several, and several tenants'.


def test_an_account_may_have_several_sessions(wire: InProcess) -> None:
    callers = [log_in(wire) for _ in range(5)]
    assert [caller.call("GetUrlList").status for caller in callers] == [200] * 5


def test_logout_ends_one_session_only(wire: InProcess, demo: Caller) -> None:
    second = log_in(wire)
    demo.logout()
    assert second.call("GetUrlList").status == 200


@pytest.mark.parametrize("username", OWN_DOMAINS)
def test_a_tenant_sees_its_own_domains_and_no_others(wire: InProcess, username: str) -> None:
    caller = log_in(wire, username)
    for owner, domains in OWN_DOMAINS.items():
        for domain in domains:
            reply = caller.call("GetDomainDetail", domainId=domain)
            assert reply.status == (200 if owner == username else 404)


def test_anothers_domain_is_answered_word_for_word_like_one_that_is_not_there(wire: InProcess, demo: Caller) -> None:
    # The other tenant reads it first: what was prepared for it must not be handed out.
    assert log_in(wire, "other").call("GetDomainDetail", domainId="207001").status == 200
    anothers, nobodys = (demo.call("GetDomainDetail", domainId=domain) for domain in ("207001", "999999"))
    assert anothers.error == "domain_not_found"
    assert (anothers.status, anothers.body) == (nobodys.status, nobodys.body)
    assert {name for name, _ in anothers.headers} == {name for name, _ in nobodys.headers}


@pytest.mark.parametrize("action", ["GetUsageLimits", "GetUrlList", "GetConsumptionsEstimated"])
def test_what_one_tenant_gets_never_depends_on_who_asked_before(wire: InProcess, action: str) -> None:
    demo, other = log_in(wire), log_in(wire, "other")
    first = {caller.cookies["sessionid"]: caller.call(action).data for caller in (demo, other)}
    again = {caller.cookies["sessionid"]: caller.call(action).data for caller in (other, demo)}
    assert first == again
    assert first[demo.cookies["sessionid"]] != first[other.cookies["sessionid"]]


def test_no_field_makes_a_caller_another_tenant(demo: Caller) -> None:
    own = demo.call("GetUsageLimits").data
    assert demo.call("GetUsageLimits", tenant="other", tenantId=2, username="other", account="other").data == own


# What is stored.


def test_only_a_hash_of_the_id_is_stored(demo: Caller, data: Path) -> None:
    session_id = demo.cookies["sessionid"]
    assert [row.id_hash for row in rows(data, sessions)] == [sha256(session_id.encode()).digest()]
    stored = stored_bytes(data)
    assert session_id.encode() not in stored
    assert session_id[1:].encode() not in stored
    assert bytes.fromhex(session_id[1:]) not in stored


@pytest.mark.embedded_only
def test_the_id_is_not_in_the_log_that_is_still_to_be_written_back(demo: Caller, data: Path) -> None:
    log = (data / "activity.db-wal").read_bytes()
    assert sha256(demo.cookies["sessionid"].encode()).digest() in log
    assert demo.cookies["sessionid"].encode() not in log


def test_the_whole_token_is_not_stored(demo: Caller, data: Path) -> None:
    assert demo.token.encode() not in stored_bytes(data)


@pytest.mark.parametrize("typed", ["console-demo", "console-demo-with-a-slip"])
def test_neither_password_nor_an_unknown_username_is_stored(visitor: Caller, data: Path, typed: str) -> None:
    visitor.login(username=f"{typed}-as-name", password=typed)
    visitor.login(password=typed)
    assert typed.encode() not in stored_bytes(data)


def test_logins_and_logouts_are_in_the_trail(demo: Caller, data: Path, clock: HeldClock) -> None:
    demo.login(password="wrong")
    demo.login(username="nobody")
    demo.logout()
    trail = [(row.event, row.username, row.address, row.at) for row in rows(data, access_audit)]
    now = int(clock.moment)
    assert trail == [
        ("login", "demo", "127.0.0.1", now),
        ("login_refused", "demo", "127.0.0.1", now),
        ("login_refused", None, "127.0.0.1", now),
        ("logout", "demo", "127.0.0.1", now),
    ]


# Another worker over the same folder.


@pytest.fixture
def second(settings: Settings, wire: InProcess, start_console: StartConsole) -> InProcess:
    return start_console(settings)


def test_another_worker_knows_a_login_at_once(demo: Caller, second: InProcess) -> None:
    demo.wire = second
    assert demo.call("GetUrlList").status == 200


def test_another_worker_knows_a_logout_at_once(demo: Caller, second: InProcess) -> None:
    session_id = demo.cookies["sessionid"]
    assert is_live(second, session_id)
    demo.logout()
    assert not is_live(second, session_id)


def test_another_worker_knows_a_disabled_account_at_once(demo: Caller, second: InProcess, data: Path) -> None:
    assert is_live(second, demo.cookies["sessionid"])
    change_account(data, "demo", disabled=True)
    assert not is_live(second, demo.cookies["sessionid"])


def test_another_worker_knows_a_changed_password_at_once(demo: Caller, second: InProcess, data: Path) -> None:
    assert is_live(second, demo.cookies["sessionid"])
    change_account(data, "demo", password_hash=QUICK.hash("changed"), version=12_345)
    assert not is_live(second, demo.cookies["sessionid"])
    demo.wire = second
    assert demo.login(password="changed").status == 200


def test_use_of_one_worker_keeps_the_session_alive_on_the_other(
    wire: InProcess, demo: Caller, second: InProcess, clock: HeldClock, settings: Settings
) -> None:
    clock.moment += settings.session_idle - 1
    demo.call("GetUrlList")
    settle(wire)
    clock.moment += settings.session_idle - 1
    assert is_live(second, demo.cookies["sessionid"])


def test_a_session_goes_by_its_cookie_not_by_its_address(wire: InProcess, demo: Caller) -> None:
    wire.address = "2001:db8::1"
    assert demo.call("GetUrlList").status == 200


def test_a_login_that_a_disabling_overtakes_opens_no_session(
    wire: InProcess, visitor: Caller, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disabled_meanwhile(_hash: str, _password: str) -> bool:
        change_account(data, "demo", disabled=True, version=12_345)
        return True

    monkeypatch.setattr(identity, "password_matches", disabled_meanwhile)
    visitor.login()
    assert not is_live(wire, visitor.cookies["sessionid"])


def test_a_cookie_of_the_session_alone_does_nothing(wire: InProcess, demo: Caller) -> None:
    cookies = cookie_header(sessionid=demo.cookies["sessionid"])
    assert wire.send("POST", "/auth/logout/", cookies).error == "csrf_failed"
    assert is_live(wire, demo.cookies["sessionid"])
