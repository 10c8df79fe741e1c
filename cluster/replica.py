"""A console replica: `cloudconsole serve` with its workers as a real process."""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final, Self

from cluster.errors import ClusterError
from cluster.processes import ProcessTree
from cluster.server import HOST, Server

START_SECONDS: Final = 90
READY_SECONDS: Final = 5
PREFIX: Final = "CLOUDCONSOLE_"


class Replica(Server):
    """A console with the given settings; its log is `NAME.log` in its folder."""

    def __init__(
        self,
        settings: Mapping[str, object],
        *,
        folder: Path | None = None,
        name: str = "replica",
        flags: Sequence[str] = (),
    ) -> None:
        """Take settings such as `{"database": "postgresql://…", "workers": 2}`, and flags of `cloudconsole serve`."""
        super().__init__(name, folder)
        self.settings = dict(settings)
        """Changes apply from the next start."""
        self._flags = list(flags)

    @property
    def base(self) -> str:
        """Its base URL."""
        return f"http://{HOST}:{self.port}"

    def start(self) -> Self:
        self.launch()
        self.wait_until_ready()
        return self

    def launch(self) -> None:
        """Start without waiting, so that several replicas can start in parallel."""
        self._require_stopped()
        # -P keeps files in the folder from being imported as modules.
        command = [sys.executable, "-P", "-m", "cloudconsole", "serve", *self._flags]
        self._tree = ProcessTree(command, folder=self.folder, log=self.log, environment=self._environment())

    def wait_until_ready(self) -> None:
        """Wait for readiness; on timeout kill it and raise an error with the end of its log."""
        tree = self._running_tree()
        deadline = time.monotonic() + START_SECONDS
        while not self.is_ready():
            if not tree.is_running or time.monotonic() > deadline:
                tree.kill()
                raise ClusterError(f"{self.name} did not become ready:\n{tree.log_tail()}")
            time.sleep(0.05)

    def is_ready(self) -> bool:
        """Whether /readyz returns 200."""
        connection = HTTPConnection(HOST, self.port, timeout=READY_SECONDS)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    def _environment(self) -> dict[str, str]:
        """Return our environment with its settings replaced."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
        settings = {"host": HOST, "port": self.port} | self.settings
        return inherited | {PREFIX + name.upper(): _format(value) for name, value in settings.items()}


def _format(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
