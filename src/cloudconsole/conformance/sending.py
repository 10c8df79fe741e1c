"""The one place that sends: whatever a server does, each request ends in time, with an answer or a reason."""

import asyncio
import os
import ssl
import time
from collections.abc import Mapping
from time import monotonic
from typing import Final

import httpx2

from cloudconsole.conformance.answers import BUSY, Answer
from cloudconsole.conformance.budget import LOGIN_PATH, Budget
from cloudconsole.conformance.showing import Secrets
from cloudconsole.spec.constants import CSRF_COOKIE, SESSION_COOKIE

LARGEST_ANSWER: Final = 8 * 1024 * 1024
MOST_KEPT: Final = 16 * 1024 * 1024
"""Bytes of answers that are kept to be looked through in the end; later ones are not."""
LONGEST_WAIT: Final = 5
"""Seconds to wait where a server asks for it by Retry-After."""
MOST_WAITING: Final = 60
"""Seconds of waiting in a whole run."""


class NoAnswer(Exception):
    """A request without a whole HTTP answer; the text says what came instead."""


class Unreachable(NoAnswer):
    """There is nobody at the address, or not the one that its certificate should name."""


class Sender:
    """Requests to one base address; a context manager."""

    def __init__(
        self, base: str, accounts: Mapping[str, str], *, verify: ssl.SSLContext | bool = True, timeout: float = 10.0
    ) -> None:
        """`timeout` bounds each step of a request; all of it together may take twice as long."""
        self.base = base
        self.budget = Budget(accounts)
        self.answers: list[tuple[str, Answer]] = []
        self.secrets = Secrets(accounts.values())
        self._kept = 0
        self._waited = 0
        self._timeout = timeout
        self._runner = asyncio.Runner()
        # A connection for each request: one that the server closes meanwhile would look like a fault of its own.
        limits = httpx2.Limits(max_keepalive_connections=0)
        # The authorities that vouch for https take longer to read than many requests.
        verified = verify if base.startswith("https:") else False
        self._transport = httpx2.AsyncHTTPTransport(verify=verified, trust_env=False, limits=limits)

    def __enter__(self) -> "Sender":
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._transport.aclose())
        self._runner.close()

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> Answer:
        """The answer; where a server is busy and says until when, the one after that."""
        answer = self._send(method, path, headers, body)
        wait = answer.retry_after
        if answer.status in BUSY and wait is not None and self._may_wait(wait):
            self._waited += wait
            time.sleep(wait)
            answer = self._send(method, path, headers, body)
        return answer

    def _may_wait(self, seconds: int) -> bool:
        return seconds <= LONGEST_WAIT and self._waited + seconds <= MOST_WAITING and seconds < self.budget.seconds

    def _send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        self.budget.spend(method, path, body)
        try:
            answer = self._runner.run(self._exchange(method, path, headers, body))
        except NoAnswer:
            self.budget.unanswered += 1
            raise
        self.budget.unanswered = 0
        self._kept += len(answer.body)
        if self._kept <= MOST_KEPT:
            self.answers.append((f"{method} {path}", answer))
        for cookie in (answer.cookie(CSRF_COOKIE), answer.cookie(SESSION_COOKIE)):
            if cookie is not None:
                self.secrets.add_cookie(cookie.value)
        return answer

    async def _exchange(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        began, left = monotonic(), self.budget.seconds
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), min(self._timeout, left))
        pairs = [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]
        try:
            request = httpx2.Request(
                method, self.base + path, headers=pairs, content=body or None, extensions={"timeout": timeouts}
            )
            async with asyncio.timeout(min(2 * self._timeout, left)):
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
            # The library's own words quote what came, be it a cookie.
            raise NoAnswer("the answer is not HTTP, or breaks off") from problem
        except (httpx2.TransportError, OSError) as problem:
            raise NoAnswer(f"the connection broke: {_cause(problem)}") from problem
        pairs_received = tuple(
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers.raw
        )
        return Answer(response.status_code, pairs_received, content, is_of_login=path == LOGIN_PATH)


async def _read(response: httpx2.Response) -> bytes:
    parts, size = [], 0
    async for part in response.aiter_raw():
        parts.append(part)
        size += len(part)
        if size > LARGEST_ANSWER:
            raise NoAnswer(f"the answer is over {LARGEST_ANSWER // 1024 // 1024} MiB")
    return b"".join(parts)


def _cause(problem: BaseException) -> str:
    """The words of what lies deepest, where they are the system's: what stands above it only says that it failed."""
    while deeper := problem.__cause__ or problem.__context__:
        problem = deeper
    if isinstance(problem, BaseExceptionGroup):
        return _cause(problem.exceptions[0])
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {problem.verify_message}"
    if isinstance(problem, OSError) and problem.errno is not None and problem.errno > 0:
        return os.strerror(problem.errno)
    return getattr(problem, "strerror", None) or type(problem).__name__
