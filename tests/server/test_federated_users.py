"""A whole console before a small cloud: logging in with a Keystone's accounts, and what becomes of such sessions."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from sqlalchemy import update

from cloudconsole.backends.openstack.config import Endpoint
from cloudconsole.operator.project_tenants import provision_tenant
from cloudconsole.server import openstack
from cloudconsole.server.app import Console
from cloudconsole.server.config.identity_endpoints import IdentityEndpoint
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.tables import access_audit, federated_sessions, login_failures, sessions, tenants
from tests.backends.openstack.fake_cloud import Asked, CloudDouble, Reply
from tests.harness import FORM, Caller, HeldClock, InProcess
from tests.harness import Reply as Answered
from tests.server.http.world import cookie_header, rows, stored_bytes
from tests.stores import changing, forbid, opened

TOKEN = "gAAAAA-a-token-of-alice"
TOKENS = "/v3/auth/tokens"
PASSWORD = "alice-password"
REFUSED = Reply(401, {"error": {"code": 401, "message": "-", "title": "Unauthorized"}})
LIFE_SECONDS = 3600
OWN = "https://local.example/v3"


def limits(**changes: int) -> dict[str, Any]:
    names = "maxTotalInstances totalInstancesUsed maxTotalCores totalCoresUsed maxTotalRAMSize totalRAMUsed"
    more = "maxTotalKeypairs maxServerMeta maxImageMeta maxPersonality maxPersonalitySize"
    return {"limits": {"rate": [], "absolute": dict.fromkeys(f"{names} {more}".split(), 1) | changes}}


class Keystone:
    """Knows alice, whose default project is acme, in a cloud of one region that has only Nova."""

    def __init__(self, double: CloudDouble, clock: HeldClock) -> None:
        self.double = double
        self._clock = clock
        self.project: str | None = "acme"
        self.project_id = "p1"
        double.answers("POST", TOKENS, self._log_in)
        double.answers("GET", TOKENS, self._token_reply)
        double.answers("DELETE", TOKENS, Reply(204))
        double.answers("GET", "/v3/auth/projects", Reply(body={"projects": []}))
        double.answers("GET", "/compute/v2.1/limits", Reply(body=limits(maxTotalCores=20)))

    @property
    def address(self) -> str:
        return f"{self.double.address}/v3"

    def asked(self, method: str, path: str = TOKENS) -> list[Asked]:
        return [asked for asked in self.double.asked if (asked.method, asked.path) == (method, path)]

    def _log_in(self, asked: Asked) -> Reply:
        user = asked.body["auth"]["identity"]["password"]["user"]
        if (user["name"].lower(), user["password"]) != ("alice", PASSWORD):
            return REFUSED
        return replace(self._token_reply(asked), status=201)

    def _token_reply(self, _asked: Asked) -> Reply:
        return Reply(body={"token": self._token()}, headers={"X-Subject-Token": TOKEN})

    def _token(self) -> dict[str, Any]:
        domain = {"id": "default", "name": "Default"}
        token: dict[str, Any] = {
            "user": {"id": "u1", "name": "alice", "domain": domain},
            "expires_at": datetime.fromtimestamp(self._clock.moment + LIFE_SECONDS, UTC).isoformat(),
            "issued_at": datetime.fromtimestamp(self._clock.moment, UTC).isoformat(),
        }
        if self.project is not None:
            url = f"{self.double.address}/compute/v2.1"
            nova = {"type": "compute", "endpoints": [{"interface": "public", "region_id": "RegionOne", "url": url}]}
            token |= {"project": {"id": self.project_id, "name": self.project, "domain": domain}, "catalog": [nova]}
        return token


@pytest.fixture
def keystone(clock: HeldClock) -> Iterator[Keystone]:
    with CloudDouble() as double:
        yield Keystone(double, clock)


Start = Callable[..., Caller]


@pytest.fixture
def start(settings: Settings, keystone: Keystone, clock: HeldClock) -> Iterator[Start]:
    """Starts a console before the cloud, and somebody who calls it."""
    wires: list[InProcess] = []

    def begin(*others: IdentityEndpoint, **changes: Any) -> Caller:
        endpoint = IdentityEndpoint(keystone.address, "keystone", Endpoint(keystone.double.address))
        changed = replace(
            settings,
            identity=(endpoint, *others),
            **{"cloud_cache": 0, "token_keys": settings.token_key_file, **changes},
        )
        wires.append(InProcess(Console(changed, clock)))
        return Caller(wires[-1])

    yield begin
    for wire in wires:
        wire.together(wire.console.leave())
        wire.close()


@pytest.fixture
def visitor(start: Start) -> Caller:
    return start()


def log_in(caller: Caller, keystone: Keystone, username: str = "alice", password: str = PASSWORD) -> Answered:
    return caller.login(username, password, region=keystone.address)


@pytest.fixture
def alice(visitor: Caller, keystone: Keystone) -> Caller:
    assert log_in(visitor, keystone).status == 200
    return visitor


def test_a_keystones_user_logs_in_and_reads_the_clouds_figures(alice: Caller) -> None:
    assert alice.call("GetUsageLimits").data["maxTotalCores"] == 20
    assert isinstance(alice.call("GetNews").data, list)


def test_the_address_may_be_written_in_any_way(visitor: Caller, keystone: Keystone) -> None:
    assert visitor.login("alice", PASSWORD, region=f"{keystone.double.address.upper()}/v3/").status == 200


def test_the_project_becomes_a_tenant_once(alice: Caller, visitor: Caller, keystone: Keystone, data: Path) -> None:
    visitor.logout()
    assert log_in(visitor, keystone).status == 200
    projects = [row.name for row in rows(data, tenants) if row.project == f"p1@{keystone.double.address}"]
    assert projects == ["acme"]


def test_a_project_id_that_is_none_is_the_clouds_failure(visitor: Caller, keystone: Keystone, data: Path) -> None:
    keystone.project_id = "p/1"
    assert log_in(visitor, keystone).error == "upstream_failed"
    assert not rows(data, federated_sessions)


def test_a_tenant_that_cannot_be_written_is_the_stores_failure(visitor: Caller, keystone: Keystone, data: Path) -> None:
    with opened(data, "cloud") as engine, engine.begin() as connection:
        forbid(connection, "INSERT ON tenants", "full")
    reply = log_in(visitor, keystone)
    assert (reply.status, reply.error) == (503, "unavailable")


def test_it_does_not_become_the_tenant_of_that_name_who_is_here_already(
    visitor: Caller, keystone: Keystone, data: Path
) -> None:
    keystone.project = "demo"
    assert log_in(visitor, keystone).status == 200
    assert visitor.call("GetDomainDetail", domainId="206813").error == "domain_not_found"
    assert len([row for row in rows(data, tenants) if row.name.startswith("demo")]) == 2


def test_a_wrong_password_is_refused_and_counted(visitor: Caller, keystone: Keystone, data: Path) -> None:
    reply = log_in(visitor, keystone, password="wrong")
    assert (reply.status, reply.error) == (401, "invalid_credentials")
    assert len(rows(data, login_failures)) == 1


def test_guessing_is_slowed_before_keystone_hears_of_it(visitor: Caller, keystone: Keystone) -> None:
    codes = [log_in(visitor, keystone, password=f"guess {number}").status for number in range(12)]
    assert codes == [401] * 10 + [429] * 2
    assert len(keystone.asked("POST")) == 10


def test_guessing_is_slowed_however_the_name_is_written(visitor: Caller, keystone: Keystone) -> None:
    names = ["alice", "Alice", "ALICE", "alice ", "älicé"] * 3
    codes = [log_in(visitor, keystone, name, "wrong").status for name in names]
    assert codes == [401] * 10 + [429] * 5


def test_no_spelling_of_a_name_gets_guesses_of_its_own(visitor: Caller, keystone: Keystone) -> None:
    hidden = [f"ali{character}ce" for character in "\u200b\u2060\u200d\u034f\ufe0f\x01\x7f\u0378\U000e0101"]
    alike = ["alıce", "alİce", "ａlice", "ⓐlice", "ali\u0301ce", "ALICE", "alice\u00a0", "alice\u3000"]
    replies = [log_in(visitor, keystone, name, "wrong") for name in [*alike * 10, *hidden]]
    assert {reply.error for reply in replies} == {"invalid_credentials", "too_many_requests"}
    assert len(keystone.asked("POST")) == 10


def test_a_name_with_an_invisible_character_is_refused_without_asking_keystone(
    visitor: Caller, keystone: Keystone, data: Path
) -> None:
    reply = log_in(visitor, keystone, "ali\u200bce")
    assert (reply.status, reply.error) == (401, "invalid_credentials")
    assert not keystone.asked("POST")
    assert len(rows(data, login_failures)) == 1


def test_who_gets_in_by_one_endpoint_starts_no_count_anew_at_another(
    start: Start, keystone: Keystone, data: Path
) -> None:
    guesser = start(IdentityEndpoint(OWN))
    for number in range(9):
        assert guesser.login("alice", f"guess {number}", region="https://local.example").status == 401
    assert log_in(guesser, keystone).status == 200
    assert len(rows(data, login_failures)) == 9


def test_guesses_at_one_endpoint_keep_nobody_out_of_another(start: Start, keystone: Keystone) -> None:
    guesser = start(IdentityEndpoint(OWN))
    for number in range(10):
        assert log_in(guesser, keystone, "demo", f"guess {number}").status == 401
    assert guesser.login(region="https://local.example").status == 200


def test_a_user_without_a_project_is_told_so(visitor: Caller, keystone: Keystone, data: Path) -> None:
    keystone.project = None
    reply = log_in(visitor, keystone)
    assert (reply.status, reply.error) == (403, "no_project")
    assert not rows(data, login_failures)
    assert not rows(data, sessions)


@pytest.mark.parametrize(
    ("failure", "code", "error"),
    [
        (Reply(500, {"error": {}}), 502, "upstream_failed"),
        (Reply(200, b"<html>"), 502, "upstream_failed"),
        (Reply(instead="hang up"), 502, "upstream_failed"),
        (Reply(instead="freeze"), 504, "upstream_timeout"),
    ],
)
def test_a_keystone_that_fails_is_never_a_wrong_password(
    start: Start, keystone: Keystone, data: Path, failure: Reply, code: int, error: str
) -> None:
    visitor = start(cloud_call_timeout=1)
    keystone.double.answers("POST", TOKENS, failure)
    reply = log_in(visitor, keystone)
    assert (reply.status, reply.error) == (code, error)
    assert not rows(data, login_failures)


def slowly(reply: Callable[[Asked], Reply], seconds: float) -> Callable[[Asked], Reply]:
    return lambda asked: replace(reply(asked), seconds=seconds)


def test_a_login_has_one_deadline_for_all_its_calls(start: Start, keystone: Keystone, data: Path) -> None:
    visitor = start(cloud_timeout=1)
    keystone.project = None
    keystone.double.answers("POST", TOKENS, slowly(keystone._log_in, 0.7))
    keystone.double.answers("GET", "/v3/auth/projects", Reply(body={"projects": []}, seconds=0.7))
    assert log_in(visitor, keystone).error == "upstream_timeout"
    assert not rows(data, login_failures)


def test_an_action_has_one_deadline_for_the_watch_and_the_figures(
    start: Start, keystone: Keystone, clock: HeldClock
) -> None:
    alice = start(cloud_timeout=1, identity_recheck=0)
    log_in(alice, keystone)
    keystone.double.answers("GET", TOKENS, slowly(keystone._token_reply, 0.7))
    keystone.double.answers("GET", "/compute/v2.1/limits", Reply(body=limits(), seconds=0.7))
    assert alice.call("GetUsageLimits").error == "upstream_timeout"
    assert alice.call("GetNews").status == 200


def test_a_session_ends_half_a_minute_before_its_token(alice: Caller, clock: HeldClock) -> None:
    clock.moment += LIFE_SECONDS - 31
    assert alice.call("GetNews").status == 401  # idle for so long
    assert alice.call("GetNews").error == "login_required"


def test_a_used_session_ends_half_a_minute_before_its_token(start: Start, keystone: Keystone, clock: HeldClock) -> None:
    alice = start(session_idle=7200)
    log_in(alice, keystone)
    clock.moment += LIFE_SECONDS - 31
    assert alice.call("GetNews").status == 200
    clock.moment += 1
    assert alice.call("GetNews").error == "login_required"


def test_a_token_that_is_revoked_ends_the_session_within_the_time_set(
    alice: Caller, keystone: Keystone, clock: HeldClock, data: Path
) -> None:
    keystone.double.answers("GET", TOKENS, REFUSED)
    clock.moment += 9
    assert alice.call("GetNews").status == 200
    clock.moment += 1
    assert alice.call("GetNews").error == "login_required"
    assert not rows(data, federated_sessions)


def test_what_the_watch_finds_comes_before_a_bad_token(alice: Caller, keystone: Keystone, clock: HeldClock) -> None:
    keystone.double.answers("GET", TOKENS, REFUSED)
    clock.moment += 10
    alice.cookies["csrftoken"] = "x" * 64
    assert alice.call("GetNews").error == "login_required"


@pytest.mark.parametrize(
    ("failure", "error"),
    [(Reply(503, {"error": {}}), "upstream_failed"), (Reply(instead="freeze"), "upstream_timeout")],
)
def test_a_keystone_that_fails_later_ends_nothing(
    start: Start, keystone: Keystone, clock: HeldClock, failure: Reply, error: str
) -> None:
    alice = start(cloud_call_timeout=1)
    log_in(alice, keystone)
    keystone.double.answers("GET", TOKENS, failure, keystone._token_reply)
    clock.moment += 10
    assert alice.call("GetNews").error == error
    assert alice.call("GetNews").status == 200


def test_a_token_that_a_service_refuses_ends_the_session(alice: Caller, keystone: Keystone, data: Path) -> None:
    keystone.double.answers("GET", "/compute/v2.1/limits", REFUSED)
    keystone.double.answers("GET", TOKENS, REFUSED)
    reply = alice.call("GetUsageLimits")
    assert (reply.status, reply.error) == (401, "login_required")
    assert not rows(data, sessions)
    assert rows(data, access_audit)[-1].event == "session_revoked"


@pytest.mark.parametrize(
    ("keystones_word", "error"),
    [
        (None, "upstream_failed"),
        (Reply(instead="hang up"), "upstream_failed"),
        (Reply(instead="freeze"), "upstream_timeout"),
    ],
)
def test_a_service_that_refuses_a_token_without_keystones_word_ends_nothing(
    start: Start, keystone: Keystone, keystones_word: Reply | None, error: str
) -> None:
    alice = start(cloud_call_timeout=1)
    log_in(alice, keystone)
    keystone.double.answers("GET", "/compute/v2.1/limits", REFUSED, Reply(body=limits(maxTotalCores=20)))
    if keystones_word is not None:
        keystone.double.answers("GET", TOKENS, keystones_word)
    assert alice.call("GetUsageLimits").error == error
    assert alice.call("GetUsageLimits").data["maxTotalCores"] == 20


def test_a_logout_revokes_the_token(alice: Caller, keystone: Keystone) -> None:
    assert alice.logout().status == 200
    (asked,) = keystone.asked("DELETE")
    assert asked.headers["X-Subject-Token"] == TOKEN
    assert alice.call("GetNews").error == "login_required"


def revoked_tokens(caller: Caller, keystone: Keystone) -> list[str]:
    """Return what Keystone was asked to revoke, after the console's background work ran twice: a sweep, its result."""
    wire = caller.wire
    assert isinstance(wire, InProcess)

    async def beat() -> None:
        wire.console.take_readings()

    for _ in range(2):
        wire.together(beat())
        wire.together(*wire.under_way())
    return [asked.headers["X-Subject-Token"] for asked in keystone.asked("DELETE")]


def test_a_login_revokes_the_token_of_the_session_that_it_replaces(alice: Caller, keystone: Keystone) -> None:
    assert revoked_tokens(alice, keystone) == []
    assert log_in(alice, keystone).status == 200
    assert revoked_tokens(alice, keystone) == [TOKEN]
    assert alice.call("GetNews").status == 200


def test_an_own_accounts_login_revokes_the_token_of_the_session_that_it_replaces(
    start: Start, keystone: Keystone
) -> None:
    caller = start(IdentityEndpoint(OWN))
    log_in(caller, keystone)
    assert caller.login(region=OWN).status == 200
    assert revoked_tokens(caller, keystone) == [TOKEN]


def test_disabling_a_tenant_revokes_the_tokens_of_its_sessions(alice: Caller, keystone: Keystone, data: Path) -> None:
    with changing(data, "cloud") as connection:
        connection.execute(update(tenants).values(disabled=True))
    assert revoked_tokens(alice, keystone) == [TOKEN]
    assert not rows(data, sessions)


def test_a_login_to_a_disabled_tenant_leaves_no_token(alice: Caller, keystone: Keystone, data: Path) -> None:
    with changing(data, "cloud") as connection:
        connection.execute(update(tenants).values(disabled=True))
    newcomer = Caller(alice.wire)
    assert log_in(newcomer, keystone).error == "invalid_credentials"
    assert revoked_tokens(newcomer, keystone) == [TOKEN]


def test_a_login_that_cannot_be_written_leaves_no_token(visitor: Caller, keystone: Keystone, data: Path) -> None:
    visitor.open()
    with changing(data, "activity") as connection:
        forbid(connection, "INSERT ON sessions", "the disk is full")
    assert log_in(visitor, keystone).status == 503
    assert revoked_tokens(visitor, keystone) == [TOKEN]


def test_the_token_is_nowhere_in_the_store_and_in_no_log(
    alice: Caller, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    alice.call("GetUsageLimits")
    assert len(rows(data, federated_sessions)) == 1
    assert TOKEN.encode() not in stored_bytes(data)
    assert TOKEN not in caplog.text
    assert PASSWORD not in caplog.text


def test_the_name_is_as_keystone_has_it(visitor: Caller, keystone: Keystone, data: Path) -> None:
    log_in(visitor, keystone, "ALICE")
    assert rows(data, access_audit)[-1].username == f"alice@{keystone.double.address}"


def test_a_guest_is_told_from_an_account_of_the_same_name_wherever_it_is_noted(
    alice: Caller, keystone: Keystone, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    name = f"alice@{keystone.double.address}"
    with caplog.at_level("INFO"):
        alice.logout()
    assert [row.username for row in rows(data, access_audit)] == [name, name]
    assert f"logout of {name}" in caplog.text


def test_the_callers_request_and_address_are_handed_on(visitor: Caller, keystone: Keystone) -> None:
    visitor.open()
    visitor.wire.address = "192.0.2.77"  # type: ignore[attr-defined]
    log_in(visitor, keystone)
    (asked,) = keystone.asked("POST")
    assert asked.headers["X-Forwarded-For"] == "192.0.2.77"
    assert asked.headers["X-OpenStack-Request-ID"].startswith("req-")


def test_an_answer_of_the_cloud_tells_its_age(start: Start, keystone: Keystone, clock: HeldClock) -> None:
    alice = start(cloud_cache=5)
    log_in(alice, keystone)
    ages = []
    for _ in range(3):
        ages.append(alice.call("GetUsageLimits").header("Age"))
        clock.moment += 2.5
    assert ages == ["0", "2", "0"]
    assert alice.call("GetNews").header("Age") is None
    assert len(keystone.asked("GET", "/compute/v2.1/limits")) == 2


def test_where_only_a_keystone_is_set_accounts_of_our_own_stay_out(visitor: Caller) -> None:
    reply = visitor.login()
    assert (reply.status, reply.error) == (400, "unknown_region")
    assert "http://127.0.0.1:8000" not in reply.envelope["message"]


def test_both_kinds_of_accounts_side_by_side(start: Start, keystone: Keystone) -> None:
    demo = start(IdentityEndpoint(OWN))
    assert demo.login(region="https://local.example").status == 200
    assert demo.call("GetUsageLimits").data["maxTotalCores"] != 20
    alice = Caller(demo.wire)
    assert log_in(alice, keystone).status == 200
    assert alice.call("GetUsageLimits").data["maxTotalCores"] == 20
    assert demo.call("GetUsageLimits").data["maxTotalCores"] != 20


def test_a_local_password_opens_nothing_at_the_keystone(visitor: Caller, keystone: Keystone) -> None:
    assert log_in(visitor, keystone, "demo", "console-demo").error == "invalid_credentials"


def test_the_regions_on_offer_are_those_set(visitor: Caller, keystone: Keystone) -> None:
    assert json.loads(visitor.open().body)["data"]["regions"] == [keystone.address]


def test_a_new_tenant_that_waits_for_an_operators_change_holds_up_no_other_write(
    visitor: Caller, keystone: Keystone, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, may_go_on = threading.Event(), threading.Event()

    def adopt(*arguments: Any) -> int:
        waits.set()
        assert may_go_on.wait(60)
        return provision_tenant(*arguments)

    monkeypatch.setattr(openstack, "provision_tenant", adopt)

    wire = visitor.wire
    assert isinstance(wire, InProcess)
    visitor.open()

    async def log_in_by(password: str) -> Answered:
        fields = {"csrfmiddlewaretoken": visitor.token, "username": "alice", "password": password}
        form = urlencode(fields | {"region": keystone.address}).encode()
        headers = [("Content-Type", FORM), *cookie_header(csrftoken=visitor.token)]
        return await wire.asend("POST", "/auth/login/", headers, form)

    async def fail_meanwhile() -> Answered:
        """Which is counted, so that it is written."""
        try:
            assert await asyncio.to_thread(waits.wait, 60)
            return await log_in_by("wrong")
        finally:
            may_go_on.set()

    replies = wire.together(log_in_by(PASSWORD), fail_meanwhile())
    assert [reply.status for reply in replies] == [200, 401]
