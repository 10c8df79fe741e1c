"""Between steps and the HTTP library, for sync and async alike."""

import ssl
import time
from functools import lru_cache
from http.cookiejar import CookieJar
from typing import Any, Final

import httpx2

from cloudconsole._version import __version__
from cloudconsole.client.exceptions import ConnectionFailed, ProtocolError
from cloudconsole.client.responses import HttpResponse
from cloudconsole.client.steps import Send

MOST_BYTES: Final = 64 << 20
"""Of an answer: a hundred thousand URLs are a quarter of it."""

CONNECTIONS: Final = httpx2.Limits(max_connections=100, max_keepalive_connections=100, keepalive_expiry=30.0)
_NOT_SENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)


class _NoCookies(CookieJar):
    """The cookies are the core's: it knows which answer came too late to set any."""

    def extract_cookies(self, *_: object) -> None:
        """Takes none."""


def client_options(base_url: str, *, language: str | None, verify: ssl.SSLContext | bool) -> dict[str, Any]:
    """For `httpx2.Client` and `httpx2.AsyncClient`. It follows no redirect: cookies go to this console alone."""
    headers = {"User-Agent": f"cloudconsole/{__version__}", "Accept": "application/json", "Accept-Encoding": "identity"}
    if language is not None:
        if not (language.isascii() and language.isprintable()):
            raise ValueError("a language is a tag such as en or zh")
        headers["Accept-Language"] = language
    # The authorities that vouch for https take longer to read than many calls.
    verified = verify if base_url.startswith("https:") else False
    return {"headers": headers, "cookies": _NoCookies(), "verify": verified, "limits": CONNECTIONS}


def timeout_for(step: Send, timeout: float) -> float:
    return max(min(timeout, step.retry.remaining), 0.001)


def request_arguments(base_url: str, step: Send, timeout: float) -> dict[str, Any]:
    """For `build_request`. Whoever waits for a free connection may do so as long as the call may take."""
    return {
        "method": step.operation.method,
        "url": _url(base_url, step.operation.path),
        "headers": step.headers,
        "content": step.body or None,
        "timeout": httpx2.Timeout(timeout_for(step, timeout), pool=max(step.retry.remaining, 0.001)),
    }


@lru_cache
def _url(base_url: str, path: str) -> httpx2.URL:
    # Parsing it anew takes a tenth of a call.
    return httpx2.URL(base_url + path)


class IncomingBody:
    """An answer that is coming in; one that never ends is not waited for."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._pieces: list[bytes] = []
        self._bytes = 0

    def add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._bytes += len(piece)
        if self._bytes > MOST_BYTES:
            raise ProtocolError(f"the answer is over {MOST_BYTES} bytes", payload=b"")
        if time.monotonic() > self._end:
            raise httpx2.ReadTimeout("the answer does not end")

    def answer(self, response: httpx2.Response) -> HttpResponse:
        headers = response.headers
        return HttpResponse(response.status_code, headers, b"".join(self._pieces), headers.get_list("set-cookie"))


def connection_failed(base_url: str, problem: httpx2.HTTPError | TimeoutError) -> ConnectionFailed:
    """Without the problem itself: that holds the request, and so the password."""
    if isinstance(problem, httpx2.TimeoutException | TimeoutError):
        why = "it did not answer in time"
    elif isinstance(problem, httpx2.RemoteProtocolError):
        why = "the connection broke, or what came is no HTTP"
    elif isinstance(problem, httpx2.LocalProtocolError):
        # Its own text has the header in it, and so perhaps the session.
        why = "what is to be sent is no HTTP"
    else:
        why = str(problem) or type(problem).__name__
    return ConnectionFailed(f"cannot reach {base_url}: {why}", was_sent=not isinstance(problem, _NOT_SENT))
