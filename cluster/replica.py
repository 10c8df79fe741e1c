"""One `cloudconsole serve` among several: a real process with workers, started, halted, killed and ended."""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final, Self

from cluster.errors import ClusterFailed
from cluster.part import HOST, Part
from cluster.processes import Family

START_SECONDS: Final = 90
READY_SECONDS: Final = 5
PREFIX: Final = "CLOUDCONSOLE_"


class Replica(Part):
    """A console with settings by their names, and with a log of its own: `NAME.log` in its folder."""

    def __init__(
        self,
        settings: Mapping[str, object],
        *,
        folder: Path | None = None,
        name: str = "replica",
        flags: Sequence[str] = (),
    ) -> None:
        """Settings such as `{"database": "postgresql://…", "workers": 2}`; flags are others of `cloudconsole serve`."""
        super().__init__(name, folder)
        self.settings = dict(settings)
        """They may be changed, for the next start."""
        self._flags = list(flags)

    @property
    def base(self) -> str:
        """Its base address, as clients take it."""
        return f"http://{HOST}:{self.port}"

    def start(self) -> Self:
        self.begin()
        self.wait_until_ready()
        return self

    def begin(self) -> None:
        """Begin without waiting, so that several can begin at once."""
        self._refuse_running()
        # -P: what lies in the folder is no part of the console, whatever its name.
        command = [sys.executable, "-P", "-m", "cloudconsole", "serve", *self._flags]
        self._family = Family(command, folder=self.folder, log=self.log, environment=self._environment())

    def wait_until_ready(self) -> None:
        """It is ended where it is not ready in time, and the error has its log's end."""
        family = self._running_family()
        deadline = time.monotonic() + START_SECONDS
        while not self.is_ready():
            if not family.is_running or time.monotonic() > deadline:
                family.kill()
                raise ClusterFailed(f"{self.name} did not become ready:\n{family.last_words()}")
            time.sleep(0.05)

    def is_ready(self) -> bool:
        """Whether it says so at the moment."""
        connection = HTTPConnection(HOST, self.port, timeout=READY_SECONDS)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    def _environment(self) -> dict[str, str]:
        """Ours, but with its settings instead of any that are there."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
        settings = {"host": HOST, "port": self.port} | self.settings
        return kept | {PREFIX + name.upper(): _written(value) for name, value in settings.items()}


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
