"""What the tests call a console with: in process with a clock they hold, or over a real listening server."""

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC
from functools import cache
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode

from argon2 import PasswordHasher
from sqlalchemy import update

from cloudconsole.operator.cloud_file import load
from cloudconsole.operator.sample import SAMPLE_FILE, SAMPLE_PASSWORDS
from cloudconsole.server.app import Console
from cloudconsole.store.tables import accounts
from tests.fork_server import WarmProcess
from tests.stores import copy_store, make_store, opened, variables_of

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"

QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
"""Makes hashes that cost next to nothing to check."""

HeaderPairs = list[tuple[str, str]]

CERTIFICATES = Path(__file__).parent / "certificates"
"""Made for these tests alone: one of RSA and one of EC, both for localhost and 127.0.0.1, good until 2126."""


def trusting_tests() -> ssl.SSLContext:
    """A caller's side of TLS that trusts the tests' certificates and nothing else."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for certificate in ("rsa.pem", "ec.pem"):
        context.load_verify_locations(CERTIFICATES / certificate)
    return context


@dataclass(frozen=True)
class Reply:
    status: int
    headers: HeaderPairs
    body: bytes

    def header(self, name: str) -> str | None:
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        assert len(values) < 2, f"{name} came {len(values)} times"
        return values[0] if values else None

    @property
    def set_cookies(self) -> dict[str, str]:
        """Each Set-Cookie header, whole, by the cookie's name."""
        lines = [value for key, value in self.headers if key.lower() == "set-cookie"]
        cookies = {line.partition("=")[0]: line for line in lines}
        assert len(cookies) == len(lines), lines
        return cookies

    def cookie(self, name: str) -> str | None:
        line = self.set_cookies.get(name)
        return None if line is None else line.partition(";")[0].partition("=")[2]

    @property
    def envelope(self) -> dict[str, Any]:
        answer = json.loads(self.body)
        assert isinstance(answer, dict)
        return answer

    @property
    def data(self) -> Any:
        assert self.status == 200, self.body
        assert self.envelope["code"] == 200
        return self.envelope["data"]

    @property
    def error(self) -> str:
        """The error's identifier, after checking the whole shape of a refusal."""
        answer = self.envelope
        assert set(answer) - {"field"} == {"message", "code", "data", "error"}, answer
        assert answer["code"] == self.status
        assert answer["data"] == {}
        assert isinstance(answer["message"], str)
        assert answer["message"]
        return str(answer["error"])


class Wire(Protocol):
    """A way to a console: one request, one reply."""

    base: str

    def send(self, method: str, path: str, headers: HeaderPairs, body: bytes = b"") -> Reply: ...


class InProcess:
    """A console in this process, called through ASGI; the caller's address can be chosen."""

    def __init__(
        self, console: Console, base: str = "http://127.0.0.1:8000", *, beside: "InProcess | None" = None
    ) -> None:
        """`beside` is another whose event loop this one shares, so that both can be called at once; close it last."""
        self.console = console
        self.base = base
        self.address = "127.0.0.1"
        self._shares_loop = beside is not None
        self._loop: asyncio.AbstractEventLoop = asyncio.new_event_loop() if beside is None else beside._loop

    def send(self, method: str, path: str, headers: HeaderPairs, body: bytes = b"") -> Reply:
        return self._loop.run_until_complete(self.asend(method, path, headers, body))

    async def asend(self, method: str, path: str, headers: HeaderPairs, body: bytes = b"") -> Reply:
        names = {name.lower() for name, _ in headers}
        sent = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
        if "host" not in names:
            sent.insert(0, (b"host", self.base.partition("//")[2].encode()))
        if body and "content-length" not in names:
            sent.append((b"content-length", str(len(body)).encode()))
        scope = {
            "type": "http",
            "method": method,
            "path": path.partition("?")[0],
            "query_string": path.partition("?")[2].encode(),
            "http_version": "1.1",
            "scheme": self.base.partition(":")[0],
            "client": (self.address, 50000),
            "headers": sent,
        }
        messages: list[Any] = []
        incoming = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> Any:
            return next(incoming, {"type": "http.disconnect"})

        async def send(message: Any) -> None:
            messages.append(message)

        await self.console(scope, receive, send)
        start, *parts = messages
        pairs = [(name.decode(), value.decode("latin-1")) for name, value in start["headers"]]
        return Reply(start["status"], pairs, b"".join(part["body"] for part in parts))

    def together(self, *calls: Any) -> list[Any]:
        """Run coroutines concurrently."""

        async def gather() -> list[Any]:
            return list(await asyncio.gather(*calls))

        return self._loop.run_until_complete(gather())

    def under_way(self) -> set["asyncio.Task[Any]"]:
        """What the console does in the background, but for what it does without an end: watching for changes."""
        tasks = asyncio.all_tasks(self._loop)
        return {task for task in tasks if not getattr(task.get_coro(), "__qualname__", "").startswith("ChangeLease.")}

    def close(self) -> None:
        pending = self.under_way()
        if pending:
            self._loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        self._loop.run_until_complete(self.console.leave())
        self.console.close()
        if not self._shares_loop:
            self._loop.close()


class OverHttp:
    """A listening server, called over one keep-alive connection."""

    def __init__(self, base: str) -> None:
        self.base = base
        self._place = base.partition("//")[2]
        self._connection = (
            http.client.HTTPSConnection(self._place, timeout=30, context=trusting_tests())
            if base.startswith("https:")
            else http.client.HTTPConnection(self._place, timeout=30)
        )

    def send(self, method: str, path: str, headers: HeaderPairs, body: bytes = b"") -> Reply:
        names = {name.lower() for name, _ in headers}
        connection = self._connection
        try:
            connection.putrequest(method, path, skip_host="host" in names, skip_accept_encoding=True)
            for name, value in headers:
                connection.putheader(name, value)
            if (body or method == "POST") and not names & {"content-length", "transfer-encoding"}:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body or None)
            response = connection.getresponse()
            return Reply(response.status, response.getheaders(), response.read())
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def close(self) -> None:
        self._connection.close()


@dataclass
class Caller:
    """Someone with a cookie jar who follows the three steps."""

    wire: Wire
    cookies: dict[str, str] = field(default_factory=dict)

    def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        with_cookies: bool = True,
    ) -> Reply:
        sent = dict(headers or {})
        if with_cookies and self.cookies and "Cookie" not in sent:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        reply = self.wire.send(method, path, list(sent.items()), body)
        for name in reply.set_cookies:
            value = reply.cookie(name)
            if value:
                self.cookies[name] = value
            else:
                self.cookies.pop(name, None)
        return reply

    @property
    def token(self) -> str:
        return self.cookies.get("csrftoken", "")

    def open(self) -> Reply:
        return self.send("GET", "/api/")

    def login(self, username: str = "demo", password: str = "console-demo", **changes: str | None) -> Reply:
        """The login form; a field given as None is left out."""
        if not self.cookies:
            self.open()
        fields: dict[str, str | None] = {
            "csrfmiddlewaretoken": self.token,
            "username": username,
            "password": password,
            "region": f"{self.wire.base}/v3",
            **changes,
        }
        form = urlencode({name: value for name, value in fields.items() if value is not None})
        return self.send("POST", "/auth/login/", {"Content-Type": FORM}, form.encode())

    def call(self, action: str, *, as_form: bool = False, **fields: Any) -> Reply:
        fields = {"action": action, **fields}
        body = urlencode(fields) if as_form else json.dumps(fields)
        headers = {"Content-Type": FORM if as_form else JSON, "X-CSRFToken": self.token}
        return self.send("POST", "/api/", headers, body.encode())

    def logout(self) -> Reply:
        return self.send("POST", "/auth/logout/", {"X-CSRFToken": self.token})


@dataclass
class HeldClock:
    """A clock that stands until it is moved."""

    moment: float

    def now(self) -> float:
        return self.moment


@dataclass
class RunningServer:
    process: WarmProcess
    base: str
    banner: str
    log_file: Path

    @property
    def port(self) -> int:
        return int(self.base.rpartition(":")[2])

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def log(self) -> str:
        return self.log_file.read_text()

    def stop(self, sig: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(sig)
        return self.process.wait(timeout=60)


def make_logins_quick(data: Path) -> None:
    """The sample's passwords again by the lightest hash: many tests log in, and few are about what that costs."""
    with opened(data, "cloud") as engine, engine.begin() as connection:
        for username, password in SAMPLE_PASSWORDS.items():
            account = update(accounts).where(accounts.c.username == username)
            assert connection.execute(account.values(password_hash=QUICK.hash(password))).rowcount == 1


def make_sample_store(folder: Path, now: float) -> Path:
    """A store with the sample cloud, loaded at a time."""
    make_store(folder)
    with opened(folder, "cloud") as engine:
        load(engine, SAMPLE_FILE, zone=UTC, now=int(now), actor="tests")
    return folder


@cache
def _quick_sample() -> "tempfile.TemporaryDirectory[str]":
    """The sample cloud as of now with quick logins, in the folder's `data`; copy it, never change it."""
    folder = tempfile.TemporaryDirectory()
    make_logins_quick(make_sample_store(Path(folder.name) / "data", time.time()))
    return folder


def clean_environment(**more: str) -> dict[str, str]:
    """This process's environment without any setting of ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CLOUDCONSOLE_")}
    return kept | more


@contextmanager
def running_server(folder: Path, *flags: str, sample: bool = True, is_first: bool = False) -> Iterator[RunningServer]:
    """`cloudconsole serve` on a free port, with a log line for every call, ended by process id.

    The sample's store is made beforehand, and logins are quick, unless there is one or this `is_first` to make it.
    """
    if sample and not is_first and not (folder / "data").exists():
        copy_store(Path(_quick_sample().name) / "data", folder / "data")
    log_file, banner_file = folder / "server.log", folder / "banner.txt"
    settings = ["--port", "0", "--data", str(folder / "data"), "--access-log", "true"]
    command = ["serve", *settings, *flags, *(["--sample"] if sample else [])]
    with log_file.open("w") as log, banner_file.open("w") as banner:
        environment = clean_environment(**variables_of(folder / "data"))
        process = WarmProcess(command, environment, stdout=banner.fileno(), stderr=log.fileno())
    try:
        server = RunningServer(process, _wait_for_address(process, banner_file, log_file), "", log_file)
        _wait_until_answering(server)
        server.banner = banner_file.read_text()
        yield server
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for_address(process: WarmProcess, banner_file: Path, log_file: Path) -> str:
    for _ in range(1200):
        found = re.match(r"Cloud Console serves on (\S+)\n", banner_file.read_text())
        if found:
            return found[1]
        assert process.poll() is None, f"the server did not start:\n{log_file.read_text()}"
        time.sleep(0.05)
    raise AssertionError("the server does not say where it is")


def _wait_until_answering(server: RunningServer) -> None:
    for _ in range(600):
        assert server.process.poll() is None, server.log()
        wire = OverHttp(server.base)
        try:
            wire.send("GET", "/api/", [])
        except OSError:
            time.sleep(0.05)
        else:
            return
        finally:
            wire.close()
    raise AssertionError("the server does not answer")
