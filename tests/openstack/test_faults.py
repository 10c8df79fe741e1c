"""Services that stop, hang and recover under load: every response is correct, or an upstream error.

These tests affect everything that uses the cloud, so they must run alone.
"""

import random
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import pytest
from lab.cloud import Lab

from lab import services
from tests.harness import HttpTransport, Reply, RunningServer
from tests.openstack.conftest import NewClient, Serve
from tests.openstack.tenants import FederatedClient, wait_until

pytestmark = pytest.mark.xdist_group("faults")

USERS = ("alice", "bob", "carol")
LOGIN = "login"
NOVA_OPERATIONS = {"GetUsageLimits", "GetFlavors", "GetConsumptionsEstimated"}
CINDER_OPERATIONS = {"GetUsageLimits", "GetConsumptionsEstimated"}
ALL_OPERATIONS = {*NOVA_OPERATIONS, "GetNews", LOGIN}
CLIENTS_PER_OPERATION = 2
UPSTREAM_ERRORS = {502: "upstream_failed", 503: "unavailable", 504: "upstream_timeout"}

# Shorter than the timeout of the clients, and long enough for thirty clients of a cloud on two busy cores.
SHORT_TIMEOUTS = {"cloud_call_timeout": 15, "cloud_timeout": 20, "cloud_cache": 0, "flavor_cache": 0}


# Faults, which are always repaired


@contextmanager
def stopped(lab: Lab, service: str) -> Iterator[None]:
    """Stop a service: its port refuses connections."""
    lab.stop(service)
    try:
        yield
    finally:
        lab.start(service)


@contextmanager
def frozen(lab: Lab, service: str) -> Iterator[None]:
    """Suspend a service: it accepts connections and never responds."""
    lab.suspend(service)
    try:
        yield
    finally:
        lab.resume(service)
        services.wait(lab.plan, [services.all_services(lab.plan)[service]])


Fault = Callable[[Lab], AbstractContextManager[None]]
NOVA_STOPS, NOVA_HANGS = (partial(fault, service="RegionOne/nova-api") for fault in (stopped, frozen))
CINDER_HANGS = partial(frozen, service="RegionOne/cinder-api")
KEYSTONE_STOPS, KEYSTONE_HANGS = (partial(fault, service="keystone") for fault in (stopped, frozen))
MARIADB_STOPS, MARIADB_HANGS = (partial(fault, service="mariadb") for fault in (stopped, frozen))


# Clients that send all operations as several users at the same time


@dataclass(eq=False)
class LoadClient:
    """A client that repeats one operation as one user."""

    username: str
    operation: str
    session: FederatedClient
    expected: bytes = b""
    """The exact body; that of a login is empty."""

    def send(self) -> Reply:
        if self.operation == LOGIN:
            return self.session.try_login_as(self.username)
        return self.session.call(self.operation)

    def successful_reply(self) -> Reply | None:
        """Send and return the reply if it is successful: a busy machine may sometimes exceed the timeouts."""
        reply = self.send()
        return reply if reply.status == 200 else None


class Observation(NamedTuple):
    """One response to one client."""

    client: LoadClient
    reply: Reply


def is_correct(observation: Observation) -> bool:
    """Return whether a response has exactly the data of its user."""
    return (observation.reply.status, observation.reply.body) == (200, observation.client.expected)


def is_upstream_error(observation: Observation) -> bool:
    """Return whether a response reports that a service behind the console fails."""
    reply = observation.reply
    return reply.status in UPSTREAM_ERRORS and reply.error == UPSTREAM_ERRORS[reply.status]


def is_504(observation: Observation) -> bool:
    return observation.reply.status == 504


def is_502(observation: Observation) -> bool:
    return observation.reply.status == 502


class LoadClients:
    """Thirty clients; all have logged in, and their expected responses were read, before any fault."""

    def __init__(self, console: RunningServer, lab: Lab, stack: ExitStack) -> None:
        def connect(username: str, operation: str) -> LoadClient:
            transport = HttpTransport(console.base)
            stack.callback(transport.close)
            session = FederatedClient(transport, lab)
            wait_until(LoadClient(username, LOGIN, session).successful_reply)
            client = LoadClient(username, operation, session)
            client.expected = wait_until(client.successful_reply).body
            return client

        self.members = [
            connect(user, each) for user in USERS for each in ALL_OPERATIONS for _ in range(CLIENTS_PER_OPERATION)
        ]
        self._threads = stack.enter_context(ThreadPoolExecutor(len(self.members)))
        self._console = console

    def send_all(self) -> list[Observation]:
        """Send the requests of all clients concurrently; each response must be correct or an upstream error."""
        replies = self._threads.map(LoadClient.send, self.members)
        observations = [Observation(*each) for each in zip(self.members, replies, strict=True)]
        for each in observations:
            assert is_correct(each) or is_upstream_error(each), (each, self._console.log()[-10_000:])
        return observations

    def send_until(self, matches: Callable[[Observation], bool], operations: Collection[str] = ALL_OPERATIONS) -> None:
        """Send until each client with one of these operations has got a matching response."""
        waiting = {client for client in self.members if client.operation in operations}

        def have_all_matched() -> bool:
            waiting.difference_update(each.client for each in self.send_all() if matches(each))
            return not waiting

        wait_until(have_all_matched)


@pytest.fixture(scope="module")
def clients(serve: Serve, lab: Lab) -> Iterator[LoadClients]:
    """Create clients that log in before the first fault and stay for all faults."""
    with ExitStack() as stack:
        clients = LoadClients(serve(identity_recheck=5, **SHORT_TIMEOUTS), lab, stack)
        expected = {(client.username, client.operation): client.expected for client in clients.members}
        # Otherwise the checks could not detect a response with another tenant's data.
        for operation in CINDER_OPERATIONS:
            alice, bob, carol = (expected[name, operation] for name in USERS)
            assert alice == carol != bob
        yield clients


@pytest.mark.parametrize(
    ("fault", "expected_error", "affected", "unaffected"),
    [
        pytest.param(NOVA_STOPS, is_502, NOVA_OPERATIONS, {"GetNews", LOGIN}, id="Nova stops"),
        pytest.param(CINDER_HANGS, is_504, CINDER_OPERATIONS, {"GetFlavors", "GetNews", LOGIN}, id="Cinder hangs"),
        pytest.param(KEYSTONE_STOPS, is_502, ALL_OPERATIONS, (), id="Keystone stops"),
        pytest.param(KEYSTONE_HANGS, is_504, ALL_OPERATIONS, (), id="Keystone hangs"),
        # Keystone may have cached a token.
        pytest.param(MARIADB_STOPS, is_upstream_error, {LOGIN, *NOVA_OPERATIONS}, (), id="MariaDB stops"),
        pytest.param(MARIADB_HANGS, is_504, {LOGIN, *NOVA_OPERATIONS}, (), id="MariaDB hangs", marks=pytest.mark.full),
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


def test_logout_ends_the_session_while_keystone_hangs(serve: Serve, new_client: NewClient, lab: Lab) -> None:
    alice = new_client(serve(identity_recheck=0, **SHORT_TIMEOUTS)).log_in_as("alice")
    cookies = dict(alice.cookies)
    with KEYSTONE_HANGS(lab):
        assert alice.logout().status == 200
        alice.cookies = cookies
        assert alice.call("GetNews").error == "login_required"


@pytest.mark.full
def test_random_faults_cause_no_wrong_response(clients: LoadClients, lab: Lab) -> None:
    faults = [NOVA_STOPS, NOVA_HANGS, CINDER_HANGS, KEYSTONE_STOPS, KEYSTONE_HANGS, MARIADB_STOPS]
    for fault in random.sample(faults * 2, 2 * len(faults)):
        with fault(lab):
            for _ in range(random.randrange(3)):
                clients.send_all()
    clients.send_until(is_correct)
