"""Start and control a console for tests, with any test framework.

    with running_console() as server:
        server.fault("unavailable", times=2)
        ...

It needs the `server` extra. With pytest, use the fixtures of the plugin instead. Control requests use `http.client`, so
that they work even if a test replaces the client's HTTP library.
"""

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import IO, Any, Final, cast

__all__ = ["ConsoleServer", "ServerNotStarted", "running_console"]

START_SECONDS: Final = 120
STOP_SECONDS: Final = 60
CALL_SECONDS: Final = 60


class ServerNotStarted(Exception):
    """The console could not be started, or it rejected a control request."""


class ConsoleServer:
    """A console running in test mode, with control of its clock, store and faults."""

    def __init__(
        self, address: str, region: str, data: Path, accounts: Mapping[str, str], *, listens: str | None = None
    ) -> None:
        """Send control requests to `listens` if it differs from `address`."""
        self.address = address
        """Base URL for clients, such as `http://127.0.0.1:43211`."""
        self.region = region
        """The region to send at login."""
        self.data = data
        """Its store: changes by `cloudconsole admin --data` take effect at once and are undone by the next reset."""
        self.accounts = dict(accounts)
        """Passwords by username."""
        self._listens = listens or address

    @property
    def username(self) -> str:
        """The first account's username."""
        if not self.accounts:
            raise ServerNotStarted("no account: pass a username and password together with your cloud file")
        return next(iter(self.accounts))

    @property
    def password(self) -> str:
        return self.accounts[self.username]

    def reset(self) -> None:
        """Restore the initial state: content, sessions, failed-login counts, clock and tokens; clear all faults."""
        self._send("POST", "reset")

    def now(self) -> datetime:
        """Return the console's time."""
        return datetime.fromisoformat(self._send("GET", "clock")["now"])

    def set_clock(self, moment: datetime | str, *, fixed: bool | None = None) -> datetime:
        """Set the clock and return the console's time; `fixed` stops or starts it, by default it stays as it is."""
        if isinstance(moment, datetime):
            if moment.tzinfo is None:
                raise ValueError("moment must have a time zone")
            moment = moment.isoformat()
        return self._change_clock(now=moment, fixed=fixed)

    def advance(self, by: timedelta | float) -> datetime:
        """Advance the clock, in seconds or as a timedelta, and return the new time."""
        return self._change_clock(advance=by.total_seconds() if isinstance(by, timedelta) else by)

    def fix_clock(self) -> datetime:
        return self._change_clock(fixed=True)

    def run_clock(self) -> datetime:
        return self._change_clock(fixed=False)

    def fault(
        self,
        error: str | None = None,
        *,
        status: int | None = None,
        drop: bool = False,
        delay: float | None = None,
        times: int = 1,
        call: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        """Make the next `times` calls fail: with an API error, a bare status or a dropped connection.

        `delay` waits this many seconds first, or is the only fault. `call` is an action's name, `login`, `logout` or
        `welcome`.
        """
        fault = {"error": error, "status": status, "drop": drop or None, "delay": delay, "times": times, "call": call}
        self._send("POST", "fault", {**fault, "retryAfter": retry_after})

    def faults(self) -> list[dict[str, Any]]:
        """Return the pending faults."""
        pending: list[dict[str, Any]] = self._send("GET", "fault")["faults"]
        return pending

    def clear_faults(self) -> None:
        self._send("POST", "fault", {"clear": True})

    def _change_clock(self, **fields: Any) -> datetime:
        return datetime.fromisoformat(self._send("POST", "clock", fields)["now"])

    def _send(self, method: str, control: str, fields: Mapping[str, Any] | None = None) -> Any:
        # http.client ignores proxy variables in the environment.
        connection = HTTPConnection(self._listens.partition("//")[2], timeout=CALL_SECONDS)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request(method, f"/_test/{control}", json.dumps(fields) if fields else None, headers)
            response = json.loads(connection.getresponse().read())
            code, message, data = response["code"], response["message"], response["data"]
        except (OSError, HTTPException, ValueError, LookupError, TypeError) as problem:
            raise ServerNotStarted(f"the console at {self._listens} does not respond: {problem}") from problem
        finally:
            connection.close()
        if code != 200:
            raise ServerNotStarted(message)
        return data


@contextmanager
def running_console(
    *,
    cloud: str | Path | None = None,
    accounts: Mapping[str, str] | None = None,
    clock: str | None = None,
    clock_fixed: bool = False,
    seed: str | None = None,
    flags: Sequence[str] = (),
) -> Iterator[ConsoleServer]:
    """Run a console with the sample cloud, or with a cloud file and its passwords by username, and clean up afterwards.

    `flags` are additional flags of `cloudconsole serve`; TLS is not supported.
    """
    content = ["--sample"] if cloud is None else ["--cloud", str(cloud)]
    times = [*(["--clock", clock] if clock else []), *(["--clock-fixed"] if clock_fixed else [])]
    seeds = ["--seed", seed] if seed is not None else []
    mode = ["--port", "0", "--json", "--test-mode", "--until-stdin-ends", "--stop-grace", "1"]
    # -P: modules in the tests' working directory must not shadow the console's.
    command = [sys.executable, "-P", "-m", "cloudconsole", "serve", *mode, *content, *times, *seeds, *flags]
    with _started(command) as startup:
        listens = startup["listens"]
        if listens.startswith("https:"):
            raise ServerNotStarted("test consoles do not support TLS: remove tls_certificate and tls_key")
        known = {account["username"]: account["password"] for account in startup["accounts"]}
        yield ConsoleServer(
            startup["address"], startup["region"], Path(startup["data"]), accounts or known, listens=listens
        )


@contextmanager
def _started(command: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Run the process and yield its decoded first line."""
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
            yield _first_line(cast("IO[bytes]", process.stdout), log)
        finally:
            _stop(process)


def _first_line(output: IO[bytes], log: IO[bytes]) -> dict[str, Any]:
    ready, _, _ = select.select([output], [], [], START_SECONDS)
    line = output.readline() if ready else b""
    if not line:
        log.seek(0)
        raise ServerNotStarted(log.read().decode(errors="replace").strip() or "the console did not start")
    startup: dict[str, Any] = json.loads(line)
    return startup


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
