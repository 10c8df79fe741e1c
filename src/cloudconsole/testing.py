"""A console of one's own to test against, started and steered from any test framework.

    with running_console() as server:
        server.fault("unavailable", times=2)
        ...

It needs the server: `pip install 'cloudconsole[server]'`. With pytest, the fixtures of the plugin do this for you.
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
    """The console could not be started, or refuses what it was asked; the text says why."""


class ConsoleServer:
    """A console that serves in test mode; its clock, its store and its failures are in a test's hands."""

    def __init__(
        self, address: str, region: str, data: Path, accounts: Mapping[str, str], *, listens: str | None = None
    ) -> None:
        """`listens` is where to steer it, if that is not the address that clients are given."""
        self.address = address
        """Such as `http://127.0.0.1:43211`: the base address of a client."""
        self.region = region
        """What to send as region at login."""
        self.data = data
        """Its store: what `cloudconsole admin --data` changes there is seen at once, and gone with the next reset."""
        self.accounts = dict(accounts)
        """Passwords by username."""
        self._listens = listens or address

    @property
    def username(self) -> str:
        """The first of the accounts."""
        if not self.accounts:
            raise ServerNotStarted(
                "no account is known: give a username and its password beside a cloud file of your own"
            )
        return next(iter(self.accounts))

    @property
    def password(self) -> str:
        return self.accounts[self.username]

    def reset(self) -> None:
        """Make all as it was at the start: content, sessions, counted failures, clock, tokens; and no fault to come."""
        self._send("POST", "reset")

    def now(self) -> datetime:
        """The console's time."""
        return datetime.fromisoformat(self._send("GET", "clock")["now"])

    def set_clock(self, moment: datetime | str, *, fixed: bool | None = None) -> datetime:
        """Go to a moment, and from there run or stand as before, or as `fixed` says; gives the console's time."""
        if isinstance(moment, datetime):
            if moment.tzinfo is None:
                raise ValueError("give a moment with its time zone")
            moment = moment.isoformat()
        return self._moved(now=moment, fixed=fixed)

    def advance(self, by: timedelta | float) -> datetime:
        """Let so much time pass at once, in seconds; gives the console's time then."""
        return self._moved(advance=by.total_seconds() if isinstance(by, timedelta) else by)

    def fix_clock(self) -> datetime:
        return self._moved(fixed=True)

    def run_clock(self) -> datetime:
        return self._moved(fixed=False)

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
        """Let the next calls fail, so many times: by an error of the catalogue, a bare status or a dropped connection.

        A `delay` in seconds comes first, or alone. `call` is an action's name, `login`, `logout` or `welcome`.
        """
        asked = {"error": error, "status": status, "drop": drop or None, "delay": delay, "times": times, "call": call}
        self._send("POST", "fault", {**asked, "retryAfter": retry_after})

    def faults(self) -> list[dict[str, Any]]:
        """Those that are still to come: none where all have struck."""
        coming: list[dict[str, Any]] = self._send("GET", "fault")["faults"]
        return coming

    def clear_faults(self) -> None:
        self._send("POST", "fault", {"clear": True})

    def _moved(self, **fields: Any) -> datetime:
        return datetime.fromisoformat(self._send("POST", "clock", fields)["now"])

    def _send(self, method: str, control: str, fields: Mapping[str, Any] | None = None) -> Any:
        # Plain, so that no proxy in the environment comes between.
        connection = HTTPConnection(self._listens.partition("//")[2], timeout=CALL_SECONDS)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request(method, f"/_test/{control}", json.dumps(fields) if fields else None, headers)
            response = json.loads(connection.getresponse().read())
            code, message, data = response["code"], response["message"], response["data"]
        except (OSError, HTTPException, ValueError, LookupError, TypeError) as problem:
            raise ServerNotStarted(f"the console on {self._listens} does not answer: {problem}") from problem
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
    """A console of the sample cloud, or of a cloud file with passwords by username, for as long as it is needed.

    `flags` are further ones of `cloudconsole serve`; it speaks plain http. Nothing is left behind.
    """
    content = ["--sample"] if cloud is None else ["--cloud", str(cloud)]
    times = [*(["--clock", clock] if clock else []), *(["--clock-fixed"] if clock_fixed else [])]
    seeds = ["--seed", seed] if seed is not None else []
    mode = ["--port", "0", "--json", "--test-mode", "--until-stdin-ends", "--stop-grace", "1"]
    # -P: what lies in the folder of the tests is no part of the console, whatever its name.
    command = [sys.executable, "-P", "-m", "cloudconsole", "serve", *mode, *content, *times, *seeds, *flags]
    with _started(command) as told:
        listens = told["listens"]
        if listens.startswith("https:"):
            raise ServerNotStarted("a console for tests speaks plain http: leave out tls_certificate and tls_key")
        known = {account["username"]: account["password"] for account in told["accounts"]}
        yield ConsoleServer(told["address"], told["region"], Path(told["data"]), accounts or known, listens=listens)


@contextmanager
def _started(command: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The process while it is needed, and the line it begins with."""
    # Settings in the environment are for other consoles.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CLOUDCONSOLE_")}
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(  # noqa: S603
            command,
            # Never written to: should this process be killed, its end ends the console.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment,
            # Ctrl-C is for the tests, which end the console when they are done.
            start_new_session=True,
        ) as process,
    ):
        try:
            yield _first_line(cast("IO[bytes]", process.stdout), log)
        finally:
            _end(process)


def _first_line(output: IO[bytes], log: IO[bytes]) -> dict[str, Any]:
    ready, _, _ = select.select([output], [], [], START_SECONDS)
    line = output.readline() if ready else b""
    if not line:
        log.seek(0)
        raise ServerNotStarted(log.read().decode(errors="replace").strip() or "the console did not start")
    told: dict[str, Any] = json.loads(line)
    return told


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
