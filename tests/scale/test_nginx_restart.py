"""A replica behind nginx restarts under load: clients see success or 503 with `Retry-After`, never 502."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shutil import copytree

import pytest

from tests.e2e.processes import eventually
from tests.harness import Caller, OverHttp, Reply
from tests.scale.sites import Site, site_of_two

CLIENTS = 8
RESTARTS = 3


@pytest.fixture
def site(quick_store: Path, tmp_path: Path) -> Iterator[Site]:
    more = {"workers": 2, "metrics": "127.0.0.1:0", "access_log": False}
    with site_of_two(copytree(quick_store, tmp_path / "data"), more) as running:
        yield running


class Client(threading.Thread):
    """Opens a session and uses it once, over and over, on a connection to nginx for each round."""

    def __init__(self, site: Site, done: threading.Event) -> None:
        super().__init__(daemon=True)
        self._site = site
        self._done = done
        self.outcomes: Counter[tuple[int, str | None]] = Counter()

    def run(self) -> None:
        while not self._done.is_set():
            with closing(OverHttp(self._site.nginx.base)) as wire:
                caller = Caller(wire)
                self._count(caller.open())
                # Both are POSTs, which nginx does not send again.
                self._count(caller.login())
                self._count(caller.call("GetUsageLimits"))
                self._count(caller.logout())

    def _count(self, reply: Reply) -> None:
        self.outcomes[reply.status, reply.header("retry-after")] += 1


def test_a_restart_costs_no_502(site: Site) -> None:
    done = threading.Event()
    clients = [Client(site, done) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for number in range(RESTARTS):
        before = [sum(client.outcomes.values()) for client in clients]
        eventually(lambda: all(sum(c.outcomes.values()) > b + 4 for c, b in zip(clients, before, strict=True)))  # noqa: B023
        site.replicas[number % 2].restart()
    done.set()
    for client in clients:
        client.join(timeout=60)
        assert not client.is_alive()
    outcomes = sum((client.outcomes for client in clients), Counter())
    # A login that got 503 leaves the client without a session.
    assert set(outcomes) <= {(200, None), (503, "1"), (401, None), (403, None)}
