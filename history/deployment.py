"""Several replicas over one store, and all that can be broken of them."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from cloudconsole.server.config.settings import Settings
from cluster.errors import ClusterFailed
from cluster.faulty_wire import FaultyWire
from cluster.postgres import PostgresServer
from cluster.replica import Replica
from history.cloud import Cloud
from history.faults import Breakage
from history.operators import make_store

REPLICAS: Final = 3
DATABASE: Final = "history"
SLOW_SECONDS: Final = 0.2
WORKERS: Final = 2
START_SECONDS: Final = 120


def start_at_last(replica: Replica) -> None:
    """Start a replica as a service manager would: again where it cannot, since the database may be away meanwhile."""
    deadline = time.monotonic() + START_SECONDS
    while not replica.is_running:
        try:
            replica.start()
        except ClusterFailed:
            if time.monotonic() > deadline:
                raise


class Deployment(ABC):
    """Started as a context: a store with the cloud in it, and replicas that serve it."""

    name: str

    def __init__(self, folder: Path, cloud: Cloud) -> None:
        self._folder, self._cloud = folder, cloud
        self._stack = ExitStack()
        self.replicas: list[Replica] = []

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """By which operators find the store."""

    @abstractmethod
    def _settings_of(self, number: int) -> dict[str, object]:
        """By which a replica finds it."""

    def _prepare(self) -> None:  # noqa: B027 - a folder needs nothing
        """Start what the store needs."""

    def breakages(self) -> list[list[Breakage]]:
        """Those that are broken one at a time, beside those of the other lists."""
        return [list(self._of_replicas())]

    def _of_replicas(self) -> Iterator[Breakage]:
        for replica in self.replicas:
            yield Breakage(replica.name, "killed", replica.kill, partial(start_at_last, replica), (0.0, 1.0))
            yield Breakage(replica.name, "halted", replica.pause, replica.resume, (0.3, 3.0))

    def wait_until_ready(self) -> None:
        for replica in self.replicas:
            start_at_last(replica)
            replica.wait_until_ready()

    @property
    def logs(self) -> list[Path]:
        """What each part has said."""
        return [replica.log for replica in self.replicas]

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._stack = stack
            self._prepare()
            make_store(self.settings, self._cloud)
            for number in range(REPLICAS):
                replica = Replica(self._settings_of(number), folder=self._folder, name=f"replica-{number}")
                stack.callback(replica.close)
                replica.begin()
                self.replicas.append(replica)
            self.wait_until_ready()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


class Embedded(Deployment):
    """Replicas over one folder: no more than a machine can have, but what is promised is the same."""

    name = "the embedded store"

    @property
    def settings(self) -> Settings:
        return Settings(data=self._folder / "data")

    def _settings_of(self, number: int) -> dict[str, object]:
        del number
        return {"data": self.settings.data, "workers": WORKERS, "access_log": False}


class OnPostgres(Deployment):
    """Replicas over a PostgreSQL, each by a wire of its own, and operators by another."""

    name = "PostgreSQL"

    def _prepare(self) -> None:
        self._server = self._stack.enter_context(PostgresServer())
        self._server.create_database(DATABASE)
        wires = [self._stack.enter_context(FaultyWire(self._server.port)) for _ in range(REPLICAS + 1)]
        self._operators_wire, *self._wires = wires

    @property
    def settings(self) -> Settings:
        return Settings(database=self._address(self._operators_wire))

    def _settings_of(self, number: int) -> dict[str, object]:
        return {"database": self._address(self._wires[number]), "workers": WORKERS, "access_log": False}

    @property
    def logs(self) -> list[Path]:
        return [*super().logs, self._server.log]

    def _address(self, wire: FaultyWire) -> str:
        return self._server.address(DATABASE, wire.port)

    def breakages(self) -> list[list[Breakage]]:
        return [*super().breakages(), list(self._of_database())]

    def _of_database(self) -> Iterator[Breakage]:
        server = self._server
        yield Breakage(self.name, "restarted", server.stop, server.start, (0.0, 1.0))
        yield Breakage(self.name, "killed", server.kill, server.start, (0.0, 1.0))
        yield Breakage(self.name, "halted", server.pause, server.resume, (0.3, 4.0))
        names = [*(replica.name for replica in self.replicas), "operators"]
        for name, wire in zip(names, [*self._wires, self._operators_wire], strict=True):
            target = f"the wire of {name}"
            yield Breakage(target, "slow", partial(wire.delay, SLOW_SECONDS), wire.pass_on, (1.0, 3.0))
            yield Breakage(target, "reset", wire.reset, wire.pass_on, (0.0, 2.0))
            yield Breakage(target, "swallows all", wire.black_hole, wire.pass_on, (0.3, 4.0))


DEPLOYMENTS: Final[dict[str, type[Deployment]]] = {"postgresql": OnPostgres, "embedded": Embedded}
