"""Clients that send requests to a console all the time, and checks of every response."""

import random
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from lab.cloud import Lab

from tests.harness import HttpTransport, Reply, RunningServer
from tests.openstack.federated_client import FederatedClient
from tests.openstack.tenants import wait_until

USERS = ("alice", "bob", "carol")
ACTIONS = ("GetUsageLimits", "GetFlavors", "GetConsumptionsEstimated", "GetNews")
LOGIN = "login"
OPERATIONS = (*ACTIONS, LOGIN)

CALL_SECONDS, ACTION_SECONDS = 5, 8
"""Timeouts of one request to a service, and of all requests for one action."""
WAIT_SECONDS = 120
PAUSE_SECONDS = 1.5
"""Between the requests of a client: without it, thirty clients overload a cloud on two cores."""

UPSTREAM_ERRORS = {502: "upstream_failed", 503: "unavailable", 504: "upstream_timeout"}


class Observation(NamedTuple):
    """One response to one client."""

    client: "LoadClient"
    at: float
    """When it arrived."""
    seconds: float
    reply: Reply

    @property
    def is_correct(self) -> bool:
        """Whether it has exactly the data of this user."""
        return (self.reply.status, self.reply.body) == (200, self.client.expected)

    @property
    def is_upstream_error(self) -> bool:
        """Whether it reports that a service behind the console fails."""
        return self.reply.status in UPSTREAM_ERRORS and self.reply.error == UPSTREAM_ERRORS[self.reply.status]

    def __str__(self) -> str:
        return f"{self.client}: {self.reply.status} after {self.seconds:.1f} s: {self.reply.body[:300]!r}"


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

    def __str__(self) -> str:
        return f"{self.username}'s {self.operation}"


@dataclass
class LoadClients:
    """All clients have logged in, and their expected responses were read, before any fault."""

    members: list[LoadClient]
    _observations: list[Observation] = field(default_factory=list)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def observations(self, since: float = 0) -> list[Observation]:
        """Return the responses to requests that began since then."""
        return [each for each in list(self._observations) if each.at - each.seconds >= since]

    def check(self, since: float, *, unaffected: Collection[str] = ()) -> None:
        """Assert that each response is correct or an upstream error, and correct for unaffected operations.

        A missing response is neither: a client times out after several times the deadlines above.
        """
        for each in self.observations(since):
            assert each.is_correct or (each.is_upstream_error and each.client.operation not in unaffected), each

    def wait_for(self, matches: Callable[[Observation], bool], operations: Collection[str], since: float) -> None:
        """Wait until each client with one of these operations has got a matching response."""
        waiting = {client for client in self.members if client.operation in operations}
        deadline = time.monotonic() + WAIT_SECONDS
        while waiting := waiting - {each.client for each in self.observations(since) if matches(each)}:
            last = {each.client: str(each) for each in self.observations(since)}
            assert time.monotonic() < deadline, [last.get(client, f"{client}: nothing") for client in waiting]
            time.sleep(0.1)

    def run(self, client: LoadClient) -> None:
        self._stopped.wait(random.uniform(0, PAUSE_SECONDS))
        while not self._stopped.is_set():
            begun = time.monotonic()
            try:
                reply = client.send()
            except OSError as error:
                reply = Reply(0, [], repr(error).encode())
            now = time.monotonic()
            self._observations.append(Observation(client, now, now - begun, reply))
            self._stopped.wait(PAUSE_SECONDS)

    def stop(self) -> None:
        self._stopped.set()


@contextmanager
def running_clients(console: RunningServer, lab: Lab, operations: Mapping[str, int]) -> Iterator[LoadClients]:
    """Run the given number of clients per operation for each user."""
    with ExitStack() as wires:

        def connect(username: str, operation: str) -> LoadClient:
            transport = HttpTransport(console.base)
            wires.callback(transport.close)
            session = FederatedClient(transport, lab)
            wait_until(partial(_successful_reply, LoadClient(username, LOGIN, session)))
            return LoadClient(username, operation, session)

        members = [
            connect(user, operation) for user in USERS for operation, count in operations.items() for _ in range(count)
        ]
        by_key = {(client.username, client.operation): client for client in members}
        expected = {key: wait_until(partial(_successful_reply, client)).body for key, client in by_key.items()}
        for client in members:
            client.expected = expected[client.username, client.operation]
        clients = LoadClients(members)
        threads = [threading.Thread(target=clients.run, args=(client,)) for client in members]
        for thread in threads:
            thread.start()
        try:
            yield clients
        finally:
            clients.stop()
            for thread in threads:
                thread.join()


def _successful_reply(client: LoadClient) -> Reply | None:
    """Return the reply if it is successful: a busy machine may sometimes exceed the timeouts."""
    reply = client.send()
    return reply if reply.status == 200 else None
