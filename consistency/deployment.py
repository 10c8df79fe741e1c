"""Deployments under test: several replicas over one store, and the faults that can be injected."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from cloudconsole.server.config.settings import Settings
from cluster.errors import ClusterError
from cluster.faulty_proxy import FaultyProxy
from cluster.postgres import PostgresServer
from cluster.replica import Replica
from consistency.admin_commands import make_store
from consistency.fault_injection import FaultAction
from consistency.initial_cloud import Cloud

REPLICAS: Final = 3
DATABASE: Final = "consistency"
DELAY_SECONDS: Final = 0.2
WORKERS: Final = 2
START_SECONDS: Final = 120


def start_with_retries(replica: Replica) -> None:
    """Start a replica as a service manager would, retrying while the database is unavailable."""
    deadline = time.monotonic() + START_SECONDS
    while not replica.is_running:
        try:
            replica.start()
        except ClusterError:
            if time.monotonic() > deadline:
                raise


class Deployment(ABC):
    """A context manager that creates the store, loads the cloud and starts the replicas."""

    name: str

    def __init__(self, folder: Path, cloud: Cloud) -> None:
        self._folder, self._cloud = folder, cloud
        self._stack = ExitStack()
        self.replicas: list[Replica] = []

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """Settings of the operators' commands."""

    @abstractmethod
    def _replica_settings(self, number: int) -> dict[str, object]: ...

    def _prepare(self) -> None:  # noqa: B027 - the embedded store needs nothing
        """Start what the store needs."""

    def fault_groups(self) -> list[list[FaultAction]]:
        """Of each group one fault is active at a time; groups run concurrently."""
        return [list(self._replica_faults())]

    def _replica_faults(self) -> Iterator[FaultAction]:
        for replica in self.replicas:
            yield FaultAction(replica.name, "killed", replica.kill, partial(start_with_retries, replica), (0.0, 1.0))
            yield FaultAction(replica.name, "suspended", replica.pause, replica.resume, (0.3, 3.0))

    def wait_until_ready(self) -> None:
        for replica in self.replicas:
            start_with_retries(replica)
            replica.wait_until_ready()

    @property
    def logs(self) -> list[Path]:
        """The log files of all servers."""
        return [replica.log for replica in self.replicas]

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._stack = stack
            self._prepare()
            make_store(self.settings, self._cloud)
            for number in range(REPLICAS):
                replica = Replica(self._replica_settings(number), folder=self._folder, name=f"replica-{number}")
                stack.callback(replica.close)
                replica.launch()
                self.replicas.append(replica)
            self.wait_until_ready()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


class EmbeddedDeployment(Deployment):
    """Replicas on one machine sharing a data directory, with the same guarantees."""

    name = "the embedded store"

    @property
    def settings(self) -> Settings:
        return Settings(data=self._folder / "data")

    def _replica_settings(self, number: int) -> dict[str, object]:
        del number
        return {"data": self.settings.data, "workers": WORKERS, "access_log": False}


class PostgresDeployment(Deployment):
    """Replicas over PostgreSQL, each behind its own proxy, the operators' commands behind another."""

    name = "PostgreSQL"

    def _prepare(self) -> None:
        self._server = self._stack.enter_context(PostgresServer())
        self._server.create_database(DATABASE)
        proxies = [self._stack.enter_context(FaultyProxy(self._server.port)) for _ in range(REPLICAS + 1)]
        self._operators_proxy, *self._proxies = proxies

    @property
    def settings(self) -> Settings:
        return Settings(database=self._dsn(self._operators_proxy))

    def _replica_settings(self, number: int) -> dict[str, object]:
        return {"database": self._dsn(self._proxies[number]), "workers": WORKERS, "access_log": False}

    @property
    def logs(self) -> list[Path]:
        return [*super().logs, self._server.log]

    def _dsn(self, proxy: FaultyProxy) -> str:
        return self._server.address(DATABASE, proxy.port)

    def fault_groups(self) -> list[list[FaultAction]]:
        return [*super().fault_groups(), list(self._database_faults())]

    def _database_faults(self) -> Iterator[FaultAction]:
        server = self._server
        yield FaultAction(self.name, "restarted", server.stop, server.start, (0.0, 1.0))
        yield FaultAction(self.name, "killed", server.kill, server.start, (0.0, 1.0))
        yield FaultAction(self.name, "suspended", server.pause, server.resume, (0.3, 4.0))
        names = [*(replica.name for replica in self.replicas), "operators"]
        for name, proxy in zip(names, [*self._proxies, self._operators_proxy], strict=True):
            target = f"proxy of {name}"
            yield FaultAction(target, "delay", partial(proxy.delay, DELAY_SECONDS), proxy.heal, (1.0, 3.0))
            yield FaultAction(target, "reset", proxy.reset, proxy.heal, (0.0, 2.0))
            yield FaultAction(target, "black hole", proxy.black_hole, proxy.heal, (0.3, 4.0))


DEPLOYMENTS: Final[dict[str, type[Deployment]]] = {
    "postgresql": PostgresDeployment,
    "embedded": EmbeddedDeployment,
}
