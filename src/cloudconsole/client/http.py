"""Between steps and the HTTP library, for sync and async alike."""

import ssl
import time
from functools import lru_cache
from typing import Any, Final

import httpx2

from cloudconsole import __version__
from cloudconsole.client.answers import Answer
from cloudconsole.client.errors import ConnectionFailed, ProtocolError
from cloudconsole.client.session import SharedJar
from cloudconsole.client.steps import Send

MOST_BYTES: Final = 64 << 20
"""Of an answer: a hundred thousand URLs are a quarter of it."""

CONNECTIONS: Final = httpx2.Limits(max_connections=100, max_keepalive_connections=100, keepalive_expiry=30.0)
_NOT_SENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)


def options(*, language: str | None, verify: ssl.SSLContext | bool) -> dict[str, Any]:
    """For `httpx2.Client` and `httpx2.AsyncClient`. It follows no redirect: cookies go to this console alone."""
    headers = {"User-Agent": f"cloudconsole/{__version__}", "Accept": "application/json", "Accept-Encoding": "identity"}
    if language is not None:
        headers["Accept-Language"] = language
    return {"headers": headers, "cookies": SharedJar(), "verify": verify, "limits": CONNECTIONS}


def arguments(base_url: str, step: Send, timeout: float) -> dict[str, Any]:
    """For `build_request`. Whoever waits for a free connection may do so as long as the call may take."""
    left = max(step.patience.left, 0.001)
    return {
        "method": step.operation.method,
        "url": _url(base_url, step.operation.path),
        "headers": step.headers,
        "content": step.body or None,
        "timeout": httpx2.Timeout(min(timeout, left), pool=left),
    }


@lru_cache
def _url(base_url: str, path: str) -> httpx2.URL:
    # Parsing it anew takes a tenth of a call.
    return httpx2.URL(base_url + path)


class Incoming:
    """An answer that is coming in; one that never ends is not waited for."""

    def __init__(self, response: httpx2.Response, timeout: float) -> None:
        self._response = response
        self._end = time.monotonic() + timeout
        self._pieces: list[bytes] = []
        self._bytes = 0

    def add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._bytes += len(piece)
        if self._bytes > MOST_BYTES:
            raise ProtocolError(f"the answer is over {MOST_BYTES} bytes", payload=b"", code=self._response.status_code)
        if time.monotonic() > self._end:
            raise httpx2.ReadTimeout("the answer does not end")

    def answer(self) -> Answer:
        return Answer(self._response.status_code, self._response.headers, b"".join(self._pieces))


def failure(base_url: str, problem: httpx2.HTTPError) -> ConnectionFailed:
    if isinstance(problem, httpx2.TimeoutException):
        why = "it did not answer in time"
    elif isinstance(problem, httpx2.RemoteProtocolError):
        why = "the connection broke, or what came is no HTTP"
    else:
        why = str(problem) or type(problem).__name__
    return ConnectionFailed(f"cannot reach {base_url}: {why}", was_sent=not isinstance(problem, _NOT_SENT))
