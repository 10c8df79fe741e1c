"""Deployment for short histories: servers sharing a data directory, without faults and quick to start."""

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from consistency.admin_commands import make_store
from consistency.fault_injection import FaultAction
from consistency.initial_cloud import Cloud

from cloudconsole.server.config.settings import Settings
from tests.harness import RunningServer, running_server


class FaultFreeDeployment:
    name = "one data directory"
    servers = 2

    def __init__(self, folder: Path, cloud: Cloud) -> None:
        self._folder, self._stack = folder, ExitStack()
        self.settings = Settings(data=folder / "data")
        self.replicas: list[RunningServer] = []
        make_store(self.settings, cloud)

    @property
    def logs(self) -> list[Path]:
        return [replica.log_file for replica in self.replicas]

    def fault_groups(self) -> list[list[FaultAction]]:
        return []

    def wait_until_ready(self) -> None:
        pass

    def __enter__(self) -> Self:
        for number in range(self.servers):
            own = self._folder / f"server-{number}"
            own.mkdir()
            server = running_server(own, "--data", str(self.settings.data), sample=False)
            self.replicas.append(self._stack.enter_context(server))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
