"""A replica behind nginx restarts under load: clients see success or 503 with `Retry-After`, never 502."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shutil import copytree

import pytest

from tests.e2e.processes import eventually
from tests.harness import ApiClient, HttpTransport, Reply
from tests.scale.sites import Site, two_replica_site

CLIENTS = 4
RESTARTS = 2


@pytest.fixture
def site(fast_hash_store: Path, tmp_path: Path) -> Iterator[Site]:
    settings = {"workers": 2, "metrics": "127.0.0.1:0", "access_log": False}
    with two_replica_site(copytree(fast_hash_store, tmp_path / "data"), settings) as running:
        yield running


class Client(threading.Thread):
    """Opens and uses a session repeatedly, each time over a new connection to nginx."""

    def __init__(self, site: Site, done: threading.Event) -> None:
        super().__init__(daemon=True)
        self._site = site
        self._done = done
        self.outcomes: Counter[tuple[int, str | None]] = Counter()

    def run(self) -> None:
        while not self._done.is_set():
            with closing(HttpTransport(self._site.nginx.base)) as transport:
                api = ApiClient(transport)
                self._count(api.open())
                # nginx does not retry these POSTs.
                self._count(api.login())
                self._count(api.call("GetUsageLimits"))
                self._count(api.logout())

    def _count(self, reply: Reply) -> None:
        self.outcomes[reply.status, reply.header("retry-after")] += 1


def test_restart_causes_no_502(site: Site) -> None:
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
        client.join(timeout=120)
        assert not client.is_alive()
    outcomes = sum((client.outcomes for client in clients), Counter())
    # A login that got 503 leaves the client without a session.
    assert set(outcomes) <= {(200, None), (503, "1"), (401, None), (403, None)}
