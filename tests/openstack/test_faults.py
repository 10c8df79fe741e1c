"""Services that stop, hang and recover under load: every response is correct, or an upstream error.

These tests affect everything that uses the cloud, so they must run alone.
"""

import random
from collections.abc import Callable, Collection, Iterator

import pytest
from lab.cloud import Lab

from tests.openstack.conftest import Serve
from tests.openstack.faults import Fault, frozen, stopped
from tests.openstack.federated_client import FederatedClient
from tests.openstack.load_clients import LOGIN, LoadClients, Observation, load_clients

pytestmark = pytest.mark.xdist_group("faults")

NOVA, CINDER = "RegionOne/nova-api", "RegionOne/cinder-api"
NOVA_OPERATIONS = {"GetUsageLimits", "GetFlavors", "GetConsumptionsEstimated"}
CINDER_OPERATIONS = {"GetUsageLimits", "GetConsumptionsEstimated"}
ALL_OPERATIONS = {*NOVA_OPERATIONS, "GetNews", LOGIN}

# Shorter than the timeout of the clients, and long enough for thirty clients of a cloud on two busy cores.
SHORT_TIMEOUTS = {"cloud_call_timeout": 15, "cloud_timeout": 20, "cloud_cache": 0, "flavor_cache": 0}


@pytest.fixture(scope="module")
def clients(serve: Serve, lab: Lab) -> Iterator[LoadClients]:
    """Create thirty clients that log in before the first fault and stay for all faults."""
    with load_clients(serve(identity_recheck=5, **SHORT_TIMEOUTS), lab) as clients:
        expected = {(client.username, client.operation): client.expected for client in clients.members}
        # Otherwise the checks could not detect a response with another tenant's data.
        for operation in CINDER_OPERATIONS:
            alice, bob, carol = (expected[name, operation] for name in ("alice", "bob", "carol"))
            assert alice == carol != bob
        yield clients


def is_correct(observation: Observation) -> bool:
    return observation.is_correct


def is_upstream_error(observation: Observation) -> bool:
    return observation.is_upstream_error


def is_504(observation: Observation) -> bool:
    return observation.reply.status == 504


def is_502(observation: Observation) -> bool:
    return observation.reply.status == 502


@pytest.mark.parametrize(
    ("fault", "expected_error", "affected", "unaffected"),
    [
        pytest.param(stopped(NOVA), is_502, NOVA_OPERATIONS, {"GetNews", LOGIN}, id="Nova stops"),
        pytest.param(frozen(CINDER), is_504, CINDER_OPERATIONS, {"GetFlavors", "GetNews", LOGIN}, id="Cinder hangs"),
        pytest.param(stopped("keystone"), is_502, ALL_OPERATIONS, (), id="Keystone stops"),
        pytest.param(frozen("keystone"), is_504, ALL_OPERATIONS, (), id="Keystone hangs"),
        # Keystone may have cached a token.
        pytest.param(stopped("mariadb"), is_upstream_error, {LOGIN, *NOVA_OPERATIONS}, (), id="MariaDB stops"),
        pytest.param(
            frozen("mariadb"), is_504, {LOGIN, *NOVA_OPERATIONS}, (), id="MariaDB hangs", marks=pytest.mark.full
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
    clients.send_until(is_correct)
    with fault(lab):
        clients.send_until(expected_error, affected)
        clients.send_until(is_correct, unaffected)
    clients.send_until(is_correct)


def test_logout_ends_the_session_while_keystone_hangs(
    serve: Serve, new_client: Callable[..., FederatedClient], lab: Lab
) -> None:
    alice = new_client(serve(identity_recheck=0, **SHORT_TIMEOUTS)).log_in_as("alice")
    cookies = dict(alice.cookies)
    with frozen("keystone")(lab):
        assert alice.logout().status == 200
        alice.cookies = cookies
        assert alice.call("GetNews").error == "login_required"


@pytest.mark.full
def test_random_faults_cause_no_wrong_response(clients: LoadClients, lab: Lab) -> None:
    faults = [stopped(NOVA), frozen(NOVA), frozen(CINDER), stopped("keystone"), frozen("keystone"), stopped("mariadb")]
    for fault in random.sample(faults * 2, 2 * len(faults)):
        with fault(lab):
            for _ in range(random.randrange(3)):
                clients.send_all()
    clients.send_until(is_correct)
