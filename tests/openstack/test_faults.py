"""Services that stop, hang and recover under load: every response is correct, or an upstream error in time.

These tests affect everything that uses the cloud, so they must run alone.
"""

import random
import time
from collections.abc import Callable, Collection, Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
from lab.cloud import Lab

from tests.harness import RunningServer
from tests.openstack.conftest import Serve
from tests.openstack.faults import Fault, frozen, stopped
from tests.openstack.federated_client import FederatedClient
from tests.openstack.load_clients import (
    ACTION_SECONDS,
    CALL_SECONDS,
    LOGIN,
    OPERATIONS,
    LoadClients,
    Observation,
    running_clients,
)
from tests.openstack.sessions import sessions_of
from tests.openstack.tenants import wait_until

pytestmark = pytest.mark.xdist_group("faults")

NewClient = Callable[..., FederatedClient]

NOVA, CINDER = "RegionOne/nova-api", "RegionOne/cinder-api"
NOVA_OPERATIONS = {"GetUsageLimits", "GetFlavors", "GetConsumptionsEstimated"}
CINDER_OPERATIONS = {"GetUsageLimits", "GetConsumptionsEstimated"}
SERVICE_OPERATIONS = NOVA_OPERATIONS | CINDER_OPERATIONS
LIMIT_SERVICES = ("Nova", "Cinder", "Neutron")
CONCURRENCY = 2

SHORT_TIMEOUTS = {
    "cloud_call_timeout": CALL_SECONDS,
    "cloud_timeout": ACTION_SECONDS,
    "cloud_cache": 0,
    "flavor_cache": 0,
}


@pytest.fixture(scope="module")
def busy_console(serve: Serve) -> RunningServer:
    return serve(identity_recheck=5, **SHORT_TIMEOUTS)


@pytest.fixture(scope="module")
def clients(busy_console: RunningServer, lab: Lab) -> Iterator[LoadClients]:
    """Run thirty clients that log in before the first fault and stay for all faults."""
    with running_clients(busy_console, lab, dict.fromkeys(OPERATIONS, 2)) as clients:
        assert len(clients.members) == 30
        yield clients


@pytest.fixture(scope="module")
def revalidating_console(serve: Serve) -> RunningServer:
    """Start a console that revalidates the token on every request."""
    return serve(identity_recheck=0, **SHORT_TIMEOUTS)


def is_correct(observation: Observation) -> bool:
    return observation.is_correct


def is_upstream_error(observation: Observation) -> bool:
    return observation.is_upstream_error


def is_504(observation: Observation) -> bool:
    return observation.reply.status == 504


def is_502(observation: Observation) -> bool:
    return observation.reply.status == 502


def test_expected_responses_differ_between_tenants(clients: LoadClients) -> None:
    """Otherwise the checks could not detect a response with another tenant's data."""
    expected = {str(client): client.expected for client in clients.members}
    for operation in CINDER_OPERATIONS:
        assert expected[f"alice's {operation}"] == expected[f"carol's {operation}"] != expected[f"bob's {operation}"]


@pytest.mark.parametrize(
    ("fault", "expected_error", "affected", "unaffected"),
    [
        pytest.param(stopped(NOVA), is_502, NOVA_OPERATIONS, {"GetNews", LOGIN}, id="Nova stops"),
        pytest.param(frozen(CINDER), is_504, CINDER_OPERATIONS, {"GetFlavors", "GetNews", LOGIN}, id="Cinder hangs"),
        pytest.param(stopped("keystone"), is_502, OPERATIONS, (), id="Keystone stops"),
        pytest.param(frozen("keystone"), is_504, OPERATIONS, (), id="Keystone hangs"),
        # Keystone may have cached a token.
        pytest.param(stopped("mariadb"), is_upstream_error, {LOGIN, *SERVICE_OPERATIONS}, (), id="MariaDB stops"),
        pytest.param(
            frozen("mariadb"), is_504, {LOGIN, *SERVICE_OPERATIONS}, (), id="MariaDB hangs", marks=pytest.mark.full
        ),
    ],
)
def test_responses_are_correct_or_upstream_errors_during_a_fault(
    clients: LoadClients,
    lab: Lab,
    fault: Fault,
    expected_error: Callable[[Observation], bool],
    affected: Collection[str],
    unaffected: Collection[str],
) -> None:
    clients.wait_for(is_correct, OPERATIONS, time.monotonic())
    since = time.monotonic()
    with fault(lab):
        failed = time.monotonic()
        clients.wait_for(expected_error, affected, failed)
        clients.wait_for(is_correct, unaffected, failed)
    clients.wait_for(is_correct, OPERATIONS, time.monotonic())
    clients.check(since, unaffected=unaffected)


def test_hanging_service_leaks_no_connections(serve: Serve, lab: Lab) -> None:
    console = serve(cloud_concurrency=CONCURRENCY, identity_recheck=3600, **{**SHORT_TIMEOUTS, "cloud_call_timeout": 2})
    with running_clients(console, lab, {"GetUsageLimits": 2}) as clients:
        clients.wait_for(is_correct, OPERATIONS, time.monotonic())
        before, failed = max_open_files(console), time.monotonic()
        with frozen(CINDER)(lab):
            # Two clients share each failed request and its connection: more connections fail than may stay open.
            assert wait_until(
                lambda: sum(map(is_504, clients.observations(failed))) >= 4 * len(LIMIT_SERVICES) * CONCURRENCY
            )
        clients.wait_for(is_correct, OPERATIONS, time.monotonic())
        assert wait_until(lambda: max_open_files(console) <= before + len(LIMIT_SERVICES) * CONCURRENCY)


def max_open_files(console: RunningServer) -> int:
    """Return the highest number of files and connections that the console has open within a second."""
    counts = []
    for _ in range(20):
        counts.append(len(list(Path(f"/proc/{console.process.pid}/fd").iterdir())))
        time.sleep(0.05)
    return max(counts)


def test_waiting_for_one_service_does_not_block_another(serve: Serve, lab: Lab) -> None:
    console = serve(cloud_concurrency=1, identity_recheck=3600, **SHORT_TIMEOUTS)
    with running_clients(console, lab, {"GetUsageLimits": 9, "GetFlavors": 1}) as clients, frozen(CINDER)(lab):
        failed = time.monotonic()
        clients.wait_for(is_504, {"GetUsageLimits"}, failed)
        clients.wait_for(is_correct, {"GetFlavors"}, time.monotonic())
        clients.check(failed, unaffected={"GetFlavors"})


def test_hanging_token_check_does_not_end_the_session(
    revalidating_console: RunningServer, new_client: NewClient, lab: Lab
) -> None:
    alice = new_client(revalidating_console).log_in_as("alice")
    with frozen("keystone")(lab):
        assert alice.call("GetNews").error == "upstream_timeout"
    assert wait_until(lambda: alice.call("GetNews").status == 200)


def test_logout_ends_the_session_while_keystone_hangs(
    revalidating_console: RunningServer, new_client: NewClient, lab: Lab
) -> None:
    alice = new_client(revalidating_console).log_in_as("alice")
    cookies = dict(alice.cookies)
    with frozen("keystone")(lab):
        assert alice.logout().status == 200
        alice.cookies = cookies
        assert alice.call("GetNews").error == "login_required"


def test_token_rejected_without_keystone_does_not_end_the_session(
    serve: Serve, new_client: NewClient, lab: Lab
) -> None:
    """Glance does this; it is the only service of the region that has not seen the token yet."""
    console = serve('regions = ["RegionOne"]', identity_recheck=3600, cloud_cache=0)
    bob = new_client(console).log_in_as("bob")
    (session,) = sessions_of(console, "bob")
    for service, path in ((NOVA, "/v2.1/limits"), (CINDER, "/v3/limits"), ("RegionOne/octavia-api", "/v2/lbaas/pools")):
        assert status_of(lab, service, path, session.token) == 200
    with stopped("keystone")(lab):
        assert bob.call("GetConsumptionsEstimated").error == "upstream_failed"
        assert wait_until(lambda: "rejected a token" in console.log())
    assert wait_until(lambda: bob.call("GetConsumptionsEstimated").status == 200)


def status_of(lab: Lab, service: str, path: str, token: str) -> int:
    connection = HTTPConnection("127.0.0.1", lab.plan.ports[service], timeout=30)
    try:
        connection.request("GET", path, headers={"X-Auth-Token": token})
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.full
def test_random_faults_cause_no_wrong_response(clients: LoadClients, lab: Lab) -> None:
    faults = [stopped(NOVA), frozen(NOVA), frozen(CINDER), stopped("keystone"), frozen("keystone"), stopped("mariadb")]
    since = time.monotonic()
    for fault in random.sample(faults * 2, 2 * len(faults)):
        with fault(lab):
            time.sleep(random.uniform(0, 2 * ACTION_SECONDS))
    clients.wait_for(is_correct, OPERATIONS, time.monotonic())
    clients.check(since)
