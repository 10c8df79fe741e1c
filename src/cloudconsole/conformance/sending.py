"""The one place that sends: it bounds how many requests there are, how many wrong logins, how long each may take."""

import asyncio
import json
import os
import ssl
from collections.abc import Mapping
from time import monotonic
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs

import httpx2

from cloudconsole.conformance.checks import Skipped
from cloudconsole.conformance.cookies import SetCookie, parse_set_cookie

MOST_REQUESTS: Final = 199
MOST_WRONG_LOGINS: Final = 2
MOST_UNANSWERED: Final = 3
"""After so many requests in a row without an answer no more are made: each would take its whole time again."""
LARGEST_ANSWER: Final = 8 * 1024 * 1024
LOGIN_PATH: Final = "/auth/login/"


class NoAnswer(Exception):
    """A request without a whole HTTP answer; the text says what came instead."""


class Unreachable(NoAnswer):
    """There is nobody at the address, or not the one that its certificate should name."""


class OverBudget(Skipped):
    """The request was not made: it would have been one too many."""


class NotJson(Exception):
    """A body that is no JSON; the text says why."""


class Answer(NamedTuple):
    """One answer as it came: nothing is decoded, followed or remembered on the way."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """The value of a header, all of them if it came several times."""
        values = [value for key, value in self.headers if key == name.lower()]
        return ", ".join(values) if values else None

    @property
    def set_cookies(self) -> tuple[SetCookie, ...]:
        return tuple(parse_set_cookie(value) for name, value in self.headers if name == "set-cookie")

    def cookie(self, name: str) -> SetCookie | None:
        """The last line that sets a cookie, which is the one that counts."""
        found = [cookie for cookie in self.set_cookies if cookie.name == name]
        return found[-1] if found else None

    @property
    def content(self) -> Any:
        """The body as JSON."""
        try:
            return json.loads(self.body.decode("utf-8"), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as problem:
            encoding = self.header("content-encoding")
            if encoding:
                raise NotJson(f"it is in Content-Encoding {encoding}, which was not asked for") from None
            raise NotJson(f"{problem}" if self.body else "there is no body") from None


class Sender:
    """Requests to one base address; a context manager."""

    def __init__(
        self, base: str, accounts: Mapping[str, str], *, verify: ssl.SSLContext | bool = True, timeout: float = 10.0
    ) -> None:
        """`timeout` bounds each step of a request; all of it together may take twice as long."""
        self.base = base
        self.requests = 0
        self.wrong_logins = 0
        self.answers: list[tuple[str, Answer]] = []
        self.secrets: set[str] = set(accounts.values())
        self._accounts = accounts
        self._proven: set[str] = set()
        self._unanswered = 0
        self._timeout = timeout
        self._runner = asyncio.Runner()
        # A connection for each request: one that the server closes meanwhile would look like a fault of its own.
        limits = httpx2.Limits(max_keepalive_connections=0)
        self._transport = httpx2.AsyncHTTPTransport(verify=verify, trust_env=False, limits=limits)

    def __enter__(self) -> "Sender":
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._transport.aclose())
        self._runner.close()

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> Answer:
        self._account_for(method, path, body)
        try:
            answer = self._runner.run(self._exchange(method, path, headers, body))
        except NoAnswer:
            self._unanswered += 1
            raise
        self._unanswered = 0
        self.answers.append((f"{method} {path}", answer))
        self.secrets |= {cookie.value for cookie in answer.set_cookies if len(cookie.value) >= 8}
        return answer

    def prove(self, username: str) -> None:
        """The password that was given for this user is right: its first login was no wrong one after all."""
        if username not in self._proven:
            self._proven.add(username)
            self.wrong_logins -= 1

    def _account_for(self, method: str, path: str, body: bytes) -> None:
        if self.requests >= MOST_REQUESTS:
            raise OverBudget(f"not asked: {MOST_REQUESTS} requests have been made, and no more are")
        if self._unanswered >= MOST_UNANSWERED:
            raise OverBudget(f"not asked: the last {MOST_UNANSWERED} requests got no answer")
        if (method, path) == ("POST", LOGIN_PATH) and not self._is_right(body):
            if self.wrong_logins >= MOST_WRONG_LOGINS:
                raise OverBudget(f"not asked: {MOST_WRONG_LOGINS} wrong logins have been made, and no more are")
            self.wrong_logins += 1
        self.requests += 1

    def _is_right(self, body: bytes) -> bool:
        """Whether a login has a name and its proven password: all others count as wrong, whatever else ails them."""
        try:
            fields = json.loads(body)
        except ValueError:
            fields = {name: values[-1] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
        if not isinstance(fields, dict):
            return False
        username, password = fields.get("username"), fields.get("password")
        return username in self._proven and self._accounts[username] == password

    async def _exchange(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        began = monotonic()
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), self._timeout)
        pairs = [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]
        try:
            request = httpx2.Request(
                method, self.base + path, headers=pairs, content=body or None, extensions={"timeout": timeouts}
            )
            async with asyncio.timeout(2 * self._timeout):
                response = await self._transport.handle_async_request(request)
                try:
                    content = await _read(response)
                finally:
                    await response.aclose()
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as problem:
            raise Unreachable(f"could not connect: {_cause(problem)}") from problem
        except (httpx2.TimeoutException, TimeoutError) as problem:
            raise NoAnswer(f"no whole answer within {monotonic() - began:.0f} s") from problem
        except httpx2.RemoteProtocolError as problem:
            raise NoAnswer(f"the answer is not HTTP: {_cause(problem)}") from problem
        except (httpx2.TransportError, OSError) as problem:
            raise NoAnswer(f"the connection broke: {_cause(problem)}") from problem
        pairs_received = tuple(
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers.raw
        )
        return Answer(response.status_code, pairs_received, content)


async def _read(response: httpx2.Response) -> bytes:
    parts, size = [], 0
    async for part in response.aiter_raw():
        parts.append(part)
        size += len(part)
        if size > LARGEST_ANSWER:
            raise NoAnswer(f"the answer is over {LARGEST_ANSWER // 1024 // 1024} MiB")
    return b"".join(parts)


def _cause(problem: BaseException) -> str:
    """The words of what lies deepest: what stands above it only says that something failed."""
    while deeper := problem.__cause__ or problem.__context__:
        problem = deeper
    if isinstance(problem, BaseExceptionGroup):
        return _cause(problem.exceptions[0])
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {problem.verify_message}"
    if isinstance(problem, OSError) and problem.errno is not None and problem.errno > 0:
        return os.strerror(problem.errno)
    return getattr(problem, "strerror", None) or str(problem) or type(problem).__name__


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
