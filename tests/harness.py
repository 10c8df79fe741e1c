"""Test clients and servers: a console in this process with a fixed clock, or a real listening server."""

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
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC
from functools import cache, wraps
from pathlib import Path
from typing import Any, ParamSpec, Protocol
from urllib.parse import urlencode

from argon2 import PasswordHasher
from sqlalchemy import update

from cloudconsole.operator.cloud_file import load
from cloudconsole.operator.sample import SAMPLE_FILE, SAMPLE_PASSWORDS
from cloudconsole.server.app import Console
from cloudconsole.server.http.request import Headers, Request
from cloudconsole.server.http.response import render
from cloudconsole.store.tables import accounts
from tests.fork_server import MAX_WAIT_SECONDS, ForkedProcess, polls
from tests.stores import copy_store, database_environment, make_store, opened

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"

FAST_HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
"""Creates hashes that are cheap to verify."""

HeaderPairs = list[tuple[str, str]]

CERTIFICATES = Path(__file__).parent / "certificates"
"""Used only by these tests: one RSA and one EC, both for localhost and 127.0.0.1, valid until 2126."""


Parameters = ParamSpec("Parameters")


def async_test(test: Callable[Parameters, Coroutine[Any, Any, None]]) -> Callable[Parameters, None]:
    """Run a test that is a coroutine in its own event loop; it fails instead of waiting forever."""

    @wraps(test)
    def run(*arguments: Parameters.args, **fixtures: Parameters.kwargs) -> None:
        async def run_in_time() -> None:
            async with asyncio.timeout(MAX_WAIT_SECONDS):
                await test(*arguments, **fixtures)

        asyncio.run(run_in_time())

    return run


def client_ssl_context() -> ssl.SSLContext:
    """Return a client TLS context that trusts only the certificates of the tests."""
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
        assert len(values) < 2, f"{len(values)} {name} headers"
        return values[0] if values else None

    @property
    def set_cookies(self) -> dict[str, str]:
        """The Set-Cookie headers by cookie name."""
        lines = [value for key, value in self.headers if key.lower() == "set-cookie"]
        cookies = {line.partition("=")[0]: line for line in lines}
        assert len(cookies) == len(lines), lines
        return cookies

    def cookie(self, name: str) -> str | None:
        line = self.set_cookies.get(name)
        return None if line is None else line.partition(";")[0].partition("=")[2]

    @property
    def envelope(self) -> dict[str, Any]:
        envelope = json.loads(self.body)
        assert isinstance(envelope, dict)
        return envelope

    @property
    def data(self) -> Any:
        assert self.status == 200, self.body
        assert self.envelope["code"] == 200
        return self.envelope["data"]

    @property
    def error(self) -> str:
        """The error's identifier, after checking the whole error envelope."""
        envelope = self.envelope
        assert set(envelope) - {"field"} == {"message", "code", "data", "error"}, envelope
        assert envelope["code"] == self.status
        assert envelope["data"] == {}
        assert isinstance(envelope["message"], str)
        assert envelope["message"]
        return str(envelope["error"])


def parse_reply(response: bytes) -> Reply:
    """Parse a complete response."""
    head, _, body = response.partition(b"\r\n\r\n")
    status_line, *lines = head.decode("latin-1").split("\r\n")
    headers = [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
    return Reply(int(status_line.split()[1]), headers, body)


class Transport(Protocol):
    """A transport to a console: one request, one reply."""

    base: str

    def send(self, method: str, path: str, headers: HeaderPairs, body: bytes = b"") -> Reply: ...


class InProcessTransport:
    """A console in this process, called without a connection; `address` is the client's address."""

    def __init__(
        self,
        console: Console,
        base: str = "http://127.0.0.1:8000",
        *,
        share_loop_with: "InProcessTransport | None" = None,
    ) -> None:
        """Share the event loop of `share_loop_with`, for concurrent requests to both; close that one last."""
        self.console = console
        self.base = base
        self.address = "127.0.0.1"
        self._shares_loop = share_loop_with is not None
        self._loop: asyncio.AbstractEventLoop = (
            asyncio.new_event_loop() if share_loop_with is None else share_loop_with._loop
        )

    def send(self, method: str, path: str, headers: HeaderPairs, body: bytes = b"") -> Reply:
        return self._loop.run_until_complete(self.asend(method, path, headers, body))

    async def asend(self, method: str, path: str, headers: HeaderPairs, body: bytes = b"") -> Reply:
        names = {name.lower() for name, _ in headers}
        sent = [(name.encode(), value.encode("latin-1")) for name, value in headers]
        if "host" not in names:
            sent.insert(0, (b"host", self.base.partition("//")[2].encode()))
        if body and "content-length" not in names:
            sent.append((b"content-length", str(len(body)).encode()))
        path, _, query = path.partition("?")
        request = Request(Headers(sent), method, path, query.encode(), peer=self.address, body=body, body_complete=True)
        request.scheme = self.base.partition(":")[0]
        response = await self.console.handle(request)
        assert response is not None
        return parse_reply(render(response, request))

    def gather(self, *coroutines: Any) -> list[Any]:
        """Run coroutines concurrently."""

        async def run_all() -> list[Any]:
            return list(await asyncio.gather(*coroutines))

        return self._loop.run_until_complete(run_all())

    def background_tasks(self) -> set["asyncio.Task[Any]"]:
        """Return the background tasks of the console, except the endless polling for changes."""
        tasks = asyncio.all_tasks(self._loop)
        return {task for task in tasks if not getattr(task.get_coro(), "__qualname__", "").startswith("ChangeLease.")}

    def close(self) -> None:
        pending = self.background_tasks()
        if pending:
            self._loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        self._loop.run_until_complete(self.console.leave())
        self.console.close()
        if not self._shares_loop:
            self._loop.close()


class HttpTransport:
    """A keep-alive connection to a listening server."""

    def __init__(self, base: str) -> None:
        self.base = base
        self._address = base.partition("//")[2]
        self._connection = (
            http.client.HTTPSConnection(self._address, timeout=MAX_WAIT_SECONDS, context=client_ssl_context())
            if base.startswith("https:")
            else http.client.HTTPConnection(self._address, timeout=MAX_WAIT_SECONDS)
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
class ApiClient:
    """An API client with a cookie jar: open a session, log in, call actions."""

    transport: Transport
    cookies: dict[str, str] = field(default_factory=dict)

    def send(self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Reply:
        sent = dict(headers or {})
        if self.cookies and "Cookie" not in sent:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        reply = self.transport.send(method, path, list(sent.items()), body)
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
        """Post the login form; a field set to None is omitted."""
        if not self.cookies:
            self.open()
        fields: dict[str, str | None] = {
            "csrfmiddlewaretoken": self.token,
            "username": username,
            "password": password,
            "region": f"{self.transport.base}/v3",
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
class FakeClock:
    """A clock that stands still until `moment` is changed."""

    moment: float

    def now(self) -> float:
        return self.moment


@dataclass
class RunningServer:
    process: ForkedProcess
    base: str
    banner: str
    log_file: Path

    @property
    def port(self) -> int:
        return int(self.base.rpartition(":")[2])

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=MAX_WAIT_SECONDS)

    def log(self) -> str:
        return self.log_file.read_text()

    def stop(self, sig: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(sig)
        return self.process.wait(MAX_WAIT_SECONDS)


def use_fast_hashes(data: Path) -> None:
    """Rehash the sample's passwords with the cheapest parameters: many tests log in, few depend on the cost."""
    with opened(data, "cloud") as engine, engine.begin() as connection:
        for username, password in SAMPLE_PASSWORDS.items():
            account = update(accounts).where(accounts.c.username == username)
            assert connection.execute(account.values(password_hash=FAST_HASHER.hash(password))).rowcount == 1


def make_sample_store(folder: Path, now: float) -> Path:
    """Create a store with the sample cloud, loaded at the time `now`."""
    make_store(folder)
    with opened(folder, "cloud") as engine:
        load(engine, SAMPLE_FILE, zone=UTC, now=int(now), actor="tests")
    return folder


@cache
def _quick_sample() -> "tempfile.TemporaryDirectory[str]":
    """The current sample cloud with fast hashes, in the subdirectory `data`; copy it, never change it."""
    folder = tempfile.TemporaryDirectory()
    use_fast_hashes(make_sample_store(Path(folder.name) / "data", time.time()))
    return folder


def clean_environment(**more: str) -> dict[str, str]:
    """Return the environment of this process without any Cloud Console settings."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CLOUDCONSOLE_")}
    return environment | more


@contextmanager
def running_server(folder: Path, *flags: str, sample: bool = True, is_first: bool = False) -> Iterator[RunningServer]:
    """Run `cloudconsole serve` on a free port, with an access log.

    Unless a store exists or the server `is_first` to create it, a copy of the sample with fast hashes is used.
    """
    if sample and not is_first and not (folder / "data").exists():
        copy_store(Path(_quick_sample().name) / "data", folder / "data")
    log_file, banner_file = folder / "server.log", folder / "banner.txt"
    settings = ["--port", "0", "--data", str(folder / "data"), "--access-log", "true"]
    command = ["serve", *settings, *flags, *(["--sample"] if sample else [])]
    with log_file.open("w") as log, banner_file.open("w") as banner:
        environment = clean_environment(**database_environment(folder / "data"))
        process = ForkedProcess(command, environment, stdout=banner.fileno(), stderr=log.fileno())
    try:
        server = RunningServer(process, _wait_for_address(process, banner_file, log_file), "", log_file)
        _wait_until_responding(server)
        server.banner = banner_file.read_text()
        yield server
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(MAX_WAIT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for_address(process: ForkedProcess, banner_file: Path, log_file: Path) -> str:
    for _ in polls():
        found = re.match(r"Cloud Console serves on (\S+)\n", banner_file.read_text())
        if found:
            return found[1]
        assert process.poll() is None, f"the server did not start:\n{log_file.read_text()}"
    raise AssertionError("the server does not print its address")


def _wait_until_responding(server: RunningServer) -> None:
    for _ in polls():
        assert server.process.poll() is None, server.log()
        with suppress(OSError), closing(HttpTransport(server.base)) as transport:
            transport.send("GET", "/api/", [])
            return
    raise AssertionError("the server does not respond")
