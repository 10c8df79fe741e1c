"""A console with a fake OpenStack cloud: logins of Keystone users, and the life of their sessions."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
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
from cloudconsole.server.metrics import layout
from cloudconsole.server.metrics.shared_memory import SharedMetrics
from cloudconsole.store.tables import (
    access_audit,
    billing_entries,
    federated_sessions,
    login_failures,
    sessions,
    tenants,
)
from tests.backends.openstack.fake_cloud import FakeCloud, RecordedRequest, Reply
from tests.backends.openstack.small_openstack import recorded_items
from tests.harness import FORM, ApiClient, FakeClock, InProcessTransport
from tests.harness import Reply as ConsoleReply
from tests.server.http.helpers import cookie_header, rows, stored_bytes
from tests.stores import copy_store, make_fail, opened, write_transaction

TOKEN = "gAAAAA-a-token-of-alice"
TOKENS = "/v3/auth/tokens"
SERVERS = "/compute/v2.1/servers/detail"
PASSWORD = "alice-password"
UNAUTHORIZED = Reply(401, {"error": {"code": 401, "message": "-", "title": "Unauthorized"}})
TOKEN_SECONDS = 3600
LOCAL = "https://local.example/v3"


def limits(**changes: int) -> dict[str, Any]:
    names = "maxTotalInstances totalInstancesUsed maxTotalCores totalCoresUsed maxTotalRAMSize totalRAMUsed"
    more = "maxTotalKeypairs maxServerMeta maxImageMeta maxPersonality maxPersonalitySize"
    return {"limits": {"rate": [], "absolute": dict.fromkeys(f"{names} {more}".split(), 1) | changes}}


class Keystone:
    """A fake Keystone that knows alice, whose default project is acme, in a cloud with one region and only Nova."""

    def __init__(self, fake: FakeCloud, clock: FakeClock) -> None:
        self.fake = fake
        self._clock = clock
        self.project: str | None = "acme"
        self.project_id = "p1"
        fake.respond("POST", TOKENS, self._log_in)
        fake.respond("GET", TOKENS, self._token_reply)
        fake.respond("DELETE", TOKENS, Reply(204))
        fake.respond("GET", "/v3/auth/projects", Reply(body={"projects": []}))
        fake.respond("GET", "/compute/v2.1/limits", Reply(body=limits(maxTotalCores=20)))
        fake.respond("GET", SERVERS, Reply(body={"servers": []}))

    @property
    def address(self) -> str:
        return f"{self.fake.address}/v3"

    def requests(self, method: str, path: str = TOKENS) -> list[RecordedRequest]:
        return [each for each in self.fake.requests if (each.method, each.path) == (method, path)]

    def _log_in(self, request: RecordedRequest) -> Reply:
        user = request.body["auth"]["identity"]["password"]["user"]
        if (user["name"].lower(), user["password"]) != ("alice", PASSWORD):
            return UNAUTHORIZED
        return replace(self._token_reply(request), status=201)

    def _token_reply(self, _request: RecordedRequest) -> Reply:
        return Reply(body={"token": self._token()}, headers={"X-Subject-Token": TOKEN})

    def _token(self) -> dict[str, Any]:
        domain = {"id": "default", "name": "Default"}
        token: dict[str, Any] = {
            "user": {"id": "u1", "name": "alice", "domain": domain},
            "expires_at": datetime.fromtimestamp(self._clock.moment + TOKEN_SECONDS, UTC).isoformat(),
            "issued_at": datetime.fromtimestamp(self._clock.moment, UTC).isoformat(),
        }
        if self.project is not None:
            url = f"{self.fake.address}/compute/v2.1"
            nova = {"type": "compute", "endpoints": [{"interface": "public", "region_id": "RegionOne", "url": url}]}
            token |= {"project": {"id": self.project_id, "name": self.project, "domain": domain}, "catalog": [nova]}
        return token


@pytest.fixture
def data(fast_hash_store: Path, tmp_path: Path) -> Path:
    return copy_store(fast_hash_store, tmp_path / "data")


@pytest.fixture
def keystone(clock: FakeClock) -> Iterator[Keystone]:
    with FakeCloud() as fake:
        yield Keystone(fake, clock)


Start = Callable[..., ApiClient]


@pytest.fixture
def shared_metrics() -> SharedMetrics:
    return SharedMetrics(1)


@pytest.fixture
def start(settings: Settings, keystone: Keystone, clock: FakeClock, shared_metrics: SharedMetrics) -> Iterator[Start]:
    """Start a console in front of the cloud and return a client of it."""
    wires: list[InProcessTransport] = []

    def start_console(*others: IdentityEndpoint, **changes: Any) -> ApiClient:
        endpoint = IdentityEndpoint(keystone.address, "keystone", Endpoint(keystone.fake.address))
        options = {"cloud_cache": 0, "token_keys": settings.token_key_file, **changes}
        changed = replace(settings, identity=(endpoint, *others), **options)
        wires.append(InProcessTransport(Console(changed, clock, shared_metrics.worker(0))))
        return ApiClient(wires[-1])

    yield start_console
    for transport in wires:
        transport.gather(transport.console.leave())
        transport.close()


@pytest.fixture
def client(start: Start) -> ApiClient:
    return start()


def log_in(client: ApiClient, keystone: Keystone, username: str = "alice", password: str = PASSWORD) -> ConsoleReply:
    return client.login(username, password, region=keystone.address)


@pytest.fixture
def alice(client: ApiClient, keystone: Keystone) -> ApiClient:
    assert log_in(client, keystone).status == 200
    return client


def test_requests_to_the_cloud_are_counted_by_service(
    alice: ApiClient, keystone: Keystone, shared_metrics: SharedMetrics
) -> None:
    alice.call("GetUsageLimits")
    keystone.fake.respond("GET", "/compute/v2.1/limits", Reply(500))
    alice.call("GetUsageLimits")
    (cells,) = shared_metrics.read()
    starts = [layout.UPSTREAM_OFFSETS[service] for service in ("identity", "compute")]
    assert [sum(cells[start : start + layout.HISTOGRAM_CELLS - 1]) for start in starts] == [1, 2]
    assert cells[layout.UPSTREAM_FAILURES["compute", "upstream_failed"]] == 1


def test_project_becomes_a_tenant(alice: ApiClient, keystone: Keystone, data: Path) -> None:
    assert ("acme", f"p1@{keystone.fake.address}") in {(row.name, row.project) for row in rows(data, tenants)}


def test_invalid_project_id_is_an_upstream_failure(client: ApiClient, keystone: Keystone, data: Path) -> None:
    keystone.project_id = "p/1"
    assert log_in(client, keystone).error == "upstream_failed"
    assert not rows(data, federated_sessions)


def test_failed_tenant_write_is_a_store_failure(client: ApiClient, keystone: Keystone, data: Path) -> None:
    with opened(data, "cloud") as engine, engine.begin() as connection:
        make_fail(connection, "INSERT ON tenants", "full")
    reply = log_in(client, keystone)
    assert (reply.status, reply.error) == (503, "unavailable")


def test_throttled_login_does_not_reach_keystone(client: ApiClient, keystone: Keystone, data: Path) -> None:
    codes = [log_in(client, keystone, password=f"guess {number}").status for number in range(11)]
    assert codes == [401] * 10 + [429]
    assert len(keystone.requests("POST")) == len(rows(data, login_failures)) == 10


def test_spellings_of_a_name_share_one_throttle(client: ApiClient, keystone: Keystone) -> None:
    alike = ["ALICE", "älicé", "alıce", "alİce", "ａlice", "ⓐlice", "ali\u0301ce", "alice ", "alice\u3000"]
    replies = [log_in(client, keystone, name, "wrong") for name in [*alike, "alice", "Alice", "alice\u00a0"]]
    assert [reply.status for reply in replies] == [401] * 10 + [429] * 2


def test_invisible_character_never_reaches_keystone(client: ApiClient, keystone: Keystone, data: Path) -> None:
    reply = log_in(client, keystone, "ali\u200bce")
    assert (reply.status, reply.error) == (401, "invalid_credentials")
    assert not keystone.requests("POST")
    assert len(rows(data, login_failures)) == 1


def test_endpoints_count_failures_of_one_name_separately(start: Start, keystone: Keystone, data: Path) -> None:
    client = start(IdentityEndpoint(LOCAL))
    for number in range(10):
        assert log_in(client, keystone, "demo", f"guess {number}").status == 401
    assert client.login(region="https://local.example").status == 200
    assert len(rows(data, login_failures)) == 10


def test_user_without_a_project_is_rejected(client: ApiClient, keystone: Keystone, data: Path) -> None:
    keystone.project = None
    reply = log_in(client, keystone)
    assert (reply.status, reply.error) == (403, "no_project")
    assert (rows(data, login_failures), rows(data, sessions)) == ([], [])


@pytest.mark.parametrize(
    ("failure", "code", "error", "changes"),
    [
        (Reply(500, {"error": {}}), 502, "upstream_failed", {}),
        (Reply(200, b"<html>"), 502, "upstream_failed", {}),
        (Reply(instead="hang up"), 502, "upstream_failed", {}),
        (Reply(instead="freeze"), 504, "upstream_timeout", {"cloud_call_timeout": 1}),
    ],
)
def test_keystone_failure_is_not_a_wrong_password(
    start: Start, keystone: Keystone, data: Path, failure: Reply, code: int, error: str, changes: dict[str, Any]
) -> None:
    client = start(**changes)
    keystone.fake.respond("POST", TOKENS, failure)
    reply = log_in(client, keystone)
    assert (reply.status, reply.error) == (code, error)
    assert not rows(data, login_failures)


def same_session(alice: ApiClient, client: ApiClient) -> ApiClient:
    """Let the client of another console on the same store continue a session.

    A console with a short timeout then has to time out, but never to log in before the timeout.
    """
    client.cookies = dict(alice.cookies)
    return client


def delayed(reply: Callable[[RecordedRequest], Reply], seconds: float) -> Callable[[RecordedRequest], Reply]:
    return lambda request: replace(reply(request), seconds=seconds)


def test_login_has_one_deadline_for_all_keystone_requests(start: Start, keystone: Keystone, data: Path) -> None:
    client = start(cloud_timeout=1)
    keystone.project = None
    keystone.fake.respond("POST", TOKENS, delayed(keystone._log_in, 0.7))
    keystone.fake.respond("GET", "/v3/auth/projects", Reply(body={"projects": []}, seconds=0.7))
    assert log_in(client, keystone).error == "upstream_timeout"
    assert not rows(data, login_failures)


def test_action_and_token_revalidation_share_one_deadline(start: Start, keystone: Keystone, alice: ApiClient) -> None:
    impatient = same_session(alice, start(cloud_timeout=1, identity_recheck=0))
    keystone.fake.respond("GET", TOKENS, delayed(keystone._token_reply, 0.7))
    keystone.fake.respond("GET", "/compute/v2.1/limits", Reply(body=limits(), seconds=0.7))
    assert impatient.call("GetUsageLimits").error == "upstream_timeout"
    assert alice.call("GetNews").status == 200


def test_active_session_ends_half_a_minute_before_its_token(start: Start, keystone: Keystone, clock: FakeClock) -> None:
    alice = start(session_idle=7200)
    log_in(alice, keystone)
    clock.moment += TOKEN_SECONDS - 31
    assert alice.call("GetNews").status == 200
    clock.moment += 1
    assert alice.call("GetNews").error == "login_required"


def test_revoked_token_ends_the_session_at_revalidation_before_the_csrf_check(
    alice: ApiClient, keystone: Keystone, clock: FakeClock, data: Path
) -> None:
    keystone.fake.respond("GET", TOKENS, UNAUTHORIZED)
    clock.moment += 9
    assert alice.call("GetNews").status == 200
    clock.moment += 1
    alice.cookies["csrftoken"] = "x" * 64
    assert alice.call("GetNews").error == "login_required"
    assert not rows(data, federated_sessions)


def test_token_rejected_by_a_service_ends_the_session(alice: ApiClient, keystone: Keystone, data: Path) -> None:
    keystone.fake.respond("GET", "/compute/v2.1/limits", UNAUTHORIZED)
    keystone.fake.respond("GET", TOKENS, UNAUTHORIZED)
    reply = alice.call("GetUsageLimits")
    assert (reply.status, reply.error) == (401, "login_required")
    assert not rows(data, sessions)
    assert rows(data, access_audit)[-1].event == "session_revoked"


@pytest.mark.parametrize("revalidation", [None, Reply(instead="hang up")])
def test_token_rejection_not_confirmed_by_keystone_keeps_the_session(
    keystone: Keystone, alice: ApiClient, revalidation: Reply | None
) -> None:
    keystone.fake.respond("GET", "/compute/v2.1/limits", UNAUTHORIZED, Reply(body=limits(maxTotalCores=20)))
    if revalidation is not None:
        keystone.fake.respond("GET", TOKENS, revalidation)
    assert alice.call("GetUsageLimits").error == "upstream_failed"
    assert alice.call("GetUsageLimits").data["maxTotalCores"] == 20


def revoked_tokens(client: ApiClient, keystone: Keystone) -> list[str]:
    """Run the console's background work twice, a sweep and its result; return the tokens revoked at Keystone."""
    transport = client.transport
    assert isinstance(transport, InProcessTransport)

    async def tick() -> None:
        transport.console.run_periodic_work()

    for _ in range(2):
        transport.gather(tick())
        transport.gather(*transport.background_tasks())
    return [request.headers["X-Subject-Token"] for request in keystone.requests("DELETE")]


@pytest.mark.parametrize("is_local", [False, True])
def test_login_revokes_the_token_of_the_replaced_session(start: Start, keystone: Keystone, is_local: bool) -> None:
    client = start(IdentityEndpoint(LOCAL))
    log_in(client, keystone)
    assert revoked_tokens(client, keystone) == []
    reply = client.login(region=LOCAL) if is_local else log_in(client, keystone)
    assert reply.status == 200
    assert revoked_tokens(client, keystone) == [TOKEN]
    assert client.call("GetNews").status == 200


def test_a_login_to_a_disabled_tenant_leaves_no_token(alice: ApiClient, keystone: Keystone, data: Path) -> None:
    with write_transaction(data, "cloud") as connection:
        connection.execute(update(tenants).values(disabled=True))
    client = ApiClient(alice.transport)
    assert log_in(client, keystone).error == "invalid_credentials"
    assert revoked_tokens(client, keystone) == [TOKEN]


def test_failed_session_write_leaves_no_token(client: ApiClient, keystone: Keystone, data: Path) -> None:
    client.open()
    with write_transaction(data, "activity") as connection:
        make_fail(connection, "INSERT ON sessions", "the disk is full")
    assert log_in(client, keystone).status == 503
    assert revoked_tokens(client, keystone) == [TOKEN]


def test_token_is_never_stored_or_logged(alice: ApiClient, data: Path, caplog: pytest.LogCaptureFixture) -> None:
    alice.call("GetUsageLimits")
    assert len(rows(data, federated_sessions)) == 1
    assert TOKEN.encode() not in stored_bytes(data)
    assert (TOKEN in caplog.text, PASSWORD in caplog.text) == (False, False)


def test_federated_user_is_logged_as_keystone_spells_it_with_the_endpoint(
    client: ApiClient, keystone: Keystone, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    name = f"alice@{keystone.fake.address}"
    log_in(client, keystone, "ALICE")
    with caplog.at_level("INFO"):
        assert client.logout().status == 200
    assert [row.username for row in rows(data, access_audit)] == [name, name]
    assert f"logout of {name}" in caplog.text
    (request,) = keystone.requests("DELETE")
    assert request.headers["X-Subject-Token"] == TOKEN


def test_client_address_and_request_id_are_forwarded(client: ApiClient, keystone: Keystone) -> None:
    client.open()
    client.transport.address = "192.0.2.77"  # type: ignore[attr-defined]
    log_in(client, keystone)
    (request,) = keystone.requests("POST")
    assert request.headers["X-Forwarded-For"] == "192.0.2.77"
    assert request.headers["X-OpenStack-Request-ID"].startswith("req-")


def test_cloud_response_has_its_age(start: Start, keystone: Keystone, clock: FakeClock) -> None:
    alice = start(cloud_cache=5)
    log_in(alice, keystone)
    ages = []
    for _ in range(3):
        ages.append(alice.call("GetUsageLimits").header("Age"))
        clock.moment += 2.5
    assert ages == ["0", "2", "0"]
    assert alice.call("GetNews").header("Age") is None
    assert len(keystone.requests("GET", "/compute/v2.1/limits")) == 2


def test_local_accounts_cannot_log_in_if_only_keystone_is_set(client: ApiClient) -> None:
    reply = client.login()
    assert (reply.status, reply.error) == (400, "unknown_region")
    assert "http://127.0.0.1:8000" not in reply.envelope["message"]


def test_local_and_federated_users_can_log_in_side_by_side(start: Start, keystone: Keystone) -> None:
    demo = start(IdentityEndpoint(LOCAL))
    assert demo.login(region="https://local.example").status == 200
    assert demo.call("GetUsageLimits").data["maxTotalCores"] != 20
    alice = ApiClient(demo.transport)
    assert log_in(alice, keystone).status == 200
    assert alice.call("GetUsageLimits").data["maxTotalCores"] == 20
    assert demo.call("GetUsageLimits").data["maxTotalCores"] != 20


def test_rejected_federated_login_is_not_logged_as_a_local_user(start: Start, keystone: Keystone, data: Path) -> None:
    client = start(IdentityEndpoint(LOCAL))
    assert log_in(client, keystone, "demo").status == 401
    assert client.login(region="https://local.example", password="wrong").status == 401
    assert [row.username for row in rows(data, access_audit)] == [None, "demo"]


def test_waiting_tenant_provisioning_blocks_no_other_write(
    client: ApiClient, keystone: Keystone, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, may_continue = threading.Event(), threading.Event()

    def provision(*arguments: Any) -> int:
        waiting.set()
        assert may_continue.wait(120)
        return provision_tenant(*arguments)

    monkeypatch.setattr(openstack, "provision_tenant", provision)

    transport = client.transport
    assert isinstance(transport, InProcessTransport)
    client.open()

    async def log_in_with(password: str) -> ConsoleReply:
        fields = {"csrfmiddlewaretoken": client.token, "username": "alice", "password": password}
        form = urlencode(fields | {"region": keystone.address}).encode()
        headers = [("Content-Type", FORM), *cookie_header(csrftoken=client.token)]
        return await transport.asend("POST", "/auth/login/", headers, form)

    async def fail_login() -> ConsoleReply:
        """Fail a login, which writes the failure to the store."""
        try:
            assert await asyncio.to_thread(waiting.wait, 120)
            return await log_in_with("wrong")
        finally:
            may_continue.set()

    replies = transport.gather(log_in_with(PASSWORD), fail_login())
    assert [reply.status for reply in replies] == [200, 401]


# Costs over time


def test_costs_over_time_come_from_readings(alice: ApiClient, keystone: Keystone, clock: FakeClock) -> None:
    keystone.fake.respond("GET", SERVERS, Reply(body={"servers": recorded_items("nova_servers")[:1]}))
    hourly = Decimal(alice.call("GetConsumptionsEstimated").data[0]["hour"])
    for hours in (1, 2):
        instances, *_ = alice.call("GetConsumptionsSummary").data
        assert (instances["count"], Decimal(instances["amount"])) == (1, hourly * hours)
        clock.moment += 3600
        log_in(alice, keystone)
    keystone.fake.respond("GET", SERVERS, Reply(500))
    *_, month = alice.call("GetBillingReportList4NearlyYear").data
    assert (Decimal(month["total"]), month["complete"]) == (hourly * 2, False)
    keystone.fake.respond("GET", SERVERS, UNAUTHORIZED)
    keystone.fake.respond("GET", TOKENS, UNAUTHORIZED)
    assert alice.call("GetForecast").error == "login_required"


def test_what_an_estimate_reads_is_recorded_later(
    alice: ApiClient, keystone: Keystone, clock: FakeClock, data: Path
) -> None:
    def recorded() -> list[str]:
        return [row.resource_id for row in rows(data, billing_entries) if row.tenant_id < 0]

    servers = recorded_items("nova_servers")
    keystone.fake.respond("GET", SERVERS, Reply(body={"servers": servers[:1]}))
    revoked_tokens(alice, keystone)
    assert recorded() == [servers[0]["id"]]
    keystone.fake.respond("GET", SERVERS, Reply(body={"servers": servers[:2]}))
    clock.moment += 10
    alice.call("GetConsumptionsEstimated")
    assert recorded() == [servers[0]["id"]]
    revoked_tokens(alice, keystone)
    assert recorded() == [server["id"] for server in servers[:2]]
