"""Servers over one folder, of which nothing breaks: quick to start, for short histories."""

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from history.cloud import Cloud
from history.faults import Breakage
from history.operators import make_store

from cloudconsole.server.config.settings import Settings
from tests.harness import RunningServer, running_server


class Warm:
    name = "one folder"
    servers = 2

    def __init__(self, folder: Path, cloud: Cloud) -> None:
        self._folder, self._stack = folder, ExitStack()
        self.settings = Settings(data=folder / "data")
        self.replicas: list[RunningServer] = []
        make_store(self.settings, cloud)

    @property
    def logs(self) -> list[Path]:
        return [replica.log_file for replica in self.replicas]

    def breakages(self) -> list[list[Breakage]]:
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
