"""A test console in a process of its own."""

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final, cast

from cloudconsole.testing.flags import serve_flags
from cloudconsole.testing.server import ConsoleServer, ServerNotStarted

START_SECONDS: Final = 120
STOP_SECONDS: Final = 60
USAGE_ERROR: Final = 2
"""Exit code of `cloudconsole serve` for unknown flags."""


@contextmanager
def running_console(
    *,
    cloud: str | Path | None = None,
    accounts: Mapping[str, str] | None = None,
    clock: datetime | str | None = None,
    clock_fixed: bool = False,
    seed: str | int | None = None,
    flags: Sequence[str] = (),
) -> Iterator[ConsoleServer]:
    """Run a console with the sample cloud, or with a cloud file and its passwords by username, and clean up afterwards.

    `flags` are additional flags of `cloudconsole serve`; TLS is not supported.
    """
    mode = ["--port", "0", "--json", "--until-stdin-ends", "--stop-grace", "1"]
    chosen = serve_flags(cloud=cloud, accounts=accounts, clock=clock, clock_fixed=clock_fixed, seed=seed, flags=flags)
    # -P: modules in the tests' working directory must not shadow the console's.
    command = [sys.executable, "-P", "-m", "cloudconsole", "serve", *mode, *chosen]
    with _started(command, chosen) as startup:
        listens = startup["listens"]
        if listens.startswith("https:"):
            raise ServerNotStarted("test consoles do not support TLS: remove tls_certificate and tls_key")
        known = {account["username"]: account["password"] for account in startup["accounts"]}
        yield ConsoleServer(
            startup["address"], startup["region"], Path(startup["data"]), accounts or known, listens=listens
        )


@contextmanager
def _started(command: Sequence[str], chosen: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Run the process and yield its decoded first line; `chosen` are the flags that the caller chose."""
    # Settings in the environment belong to other consoles.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CLOUDCONSOLE_")}
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(  # noqa: S603
            command,
            # Never written to: if this process is killed, the closed pipe stops the console.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment,
            # Ctrl-C is for the tests, which stop the console themselves.
            start_new_session=True,
        ) as process,
    ):
        try:
            yield _first_line(process, log, chosen)
        finally:
            _stop(process)


def _first_line(process: "subprocess.Popen[bytes]", log: IO[bytes], chosen: Sequence[str]) -> dict[str, Any]:
    output = cast("IO[bytes]", process.stdout)
    ready, _, _ = select.select([output], [], [], START_SECONDS)
    line = output.readline() if ready else b""
    if not line:
        is_usage_error = ready and process.wait(STOP_SECONDS) == USAGE_ERROR
        log.seek(0)
        reason = log.read().decode(errors="replace").strip() or "the console did not start"
        # Of a wrong value, the console names the flag or the file.
        names_argument = reason.startswith(tuple(f"cloudconsole: {argument}" for argument in chosen if argument))
        raise (ValueError if is_usage_error or names_argument else ServerNotStarted)(reason)
    startup: dict[str, Any] = json.loads(line)
    return startup


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
