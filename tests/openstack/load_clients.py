"""Clients that send all operations as several users at the same time, and a check of every response."""

from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from lab.cloud import Lab

from tests.harness import HttpTransport, Reply, RunningServer
from tests.openstack.federated_client import FederatedClient
from tests.openstack.tenants import wait_until

USERS = ("alice", "bob", "carol")
LOGIN = "login"
OPERATIONS = ("GetUsageLimits", "GetFlavors", "GetConsumptionsEstimated", "GetNews", LOGIN)
CLIENTS_PER_OPERATION = 2

UPSTREAM_ERRORS = {502: "upstream_failed", 503: "unavailable", 504: "upstream_timeout"}


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


class Observation(NamedTuple):
    """One response to one client."""

    client: LoadClient
    reply: Reply

    @property
    def is_correct(self) -> bool:
        """Whether it has exactly the data of this user."""
        return (self.reply.status, self.reply.body) == (200, self.client.expected)

    @property
    def is_upstream_error(self) -> bool:
        """Whether it reports that a service behind the console fails."""
        return self.reply.status in UPSTREAM_ERRORS and self.reply.error == UPSTREAM_ERRORS[self.reply.status]


class LoadClients:
    """All clients have logged in, and their expected responses were read, before any fault."""

    def __init__(self, members: list[LoadClient], threads: ThreadPoolExecutor, console: RunningServer) -> None:
        self.members = members
        self._threads = threads
        self._console = console

    def send_all(self) -> list[Observation]:
        """Send the requests of all clients concurrently; each response must be correct or an upstream error."""
        replies = self._threads.map(LoadClient.send, self.members)
        observations = [Observation(*each) for each in zip(self.members, replies, strict=True)]
        for each in observations:
            assert each.is_correct or each.is_upstream_error, (each, self._console.log()[-10_000:])
        return observations

    def send_until(self, matches: Callable[[Observation], bool], operations: Collection[str] = OPERATIONS) -> None:
        """Send until each client with one of these operations has got a matching response."""
        waiting = {client for client in self.members if client.operation in operations}

        def have_all_matched() -> bool:
            waiting.difference_update(each.client for each in self.send_all() if matches(each))
            return not waiting

        wait_until(have_all_matched)


@contextmanager
def load_clients(console: RunningServer, lab: Lab) -> Iterator[LoadClients]:
    with ExitStack() as stack:

        def connect(username: str, operation: str) -> LoadClient:
            transport = HttpTransport(console.base)
            stack.callback(transport.close)
            session = FederatedClient(transport, lab)
            wait_until(partial(_successful_reply, LoadClient(username, LOGIN, session)))
            client = LoadClient(username, operation, session)
            client.expected = wait_until(partial(_successful_reply, client)).body
            return client

        members = [connect(user, each) for user in USERS for each in OPERATIONS for _ in range(CLIENTS_PER_OPERATION)]
        yield LoadClients(members, stack.enter_context(ThreadPoolExecutor(len(members))), console)


def _successful_reply(client: LoadClient) -> Reply | None:
    """Return the reply if it is successful: a busy machine may sometimes exceed the timeouts."""
    reply = client.send()
    return reply if reply.status == 200 else None
