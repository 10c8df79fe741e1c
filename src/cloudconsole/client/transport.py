"""Adapter between steps and the HTTP library, for sync and async clients.

Not shared with the OpenStack client, which the plain install does not have: here, cookies belong to the session, and
nothing limits concurrency or records metrics.
"""

import os
import socket
import ssl
import time
from functools import lru_cache
from http.cookiejar import CookieJar
from typing import Any, Final, get_args

import httpx2

from cloudconsole._version import __version__
from cloudconsole.client.exceptions import ConnectionFailed, ConsoleClosed, ConsoleError, ProtocolError
from cloudconsole.client.responses import HttpResponse
from cloudconsole.client.steps import Send
from cloudconsole.spec.i18n import Language

MAX_BYTES: Final = 64 << 20
"""Maximum response size; a hundred thousand URLs take a quarter of it."""

CONNECTIONS: Final = httpx2.Limits(max_connections=100, max_keepalive_connections=100, keepalive_expiry=30.0)
_NOT_SENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)


class _NoCookies(CookieJar):
    """Stores no cookies: `ProtocolFlow` does, and knows which responses come too late to set any."""

    def extract_cookies(self, *_: object) -> None:
        """Ignore all cookies."""


Verify = ssl.SSLContext | bool | str | os.PathLike[str]
"""How the certificate is verified: a PEM file of trusted CA certificates, a context, or whether at all."""


def client_options(base_url: str, *, language: Language | None, verify: Verify) -> dict[str, Any]:
    """Return options for the HTTP client. It follows no redirects: cookies are for this console only."""
    headers = {"User-Agent": f"cloudconsole/{__version__}", "Accept": "application/json", "Accept-Encoding": "identity"}
    if language is not None:
        if language not in get_args(Language):
            raise ValueError(f"language must be one of: {', '.join(get_args(Language))}")
        headers["Accept-Language"] = language
    # Loading CA certificates takes longer than many calls.
    verified = _ssl_context(verify) if base_url.startswith("https:") else False
    return {"headers": headers, "cookies": _NoCookies(), "verify": verified, "limits": CONNECTIONS}


def _ssl_context(verify: Verify) -> ssl.SSLContext | bool:
    if isinstance(verify, ssl.SSLContext | bool):
        return verify
    if not isinstance(verify, str | os.PathLike):
        raise TypeError("verify must be a bool, an ssl.SSLContext, or the path of a PEM file")
    try:
        return ssl.create_default_context(cafile=verify)
    except ssl.SSLError:
        raise ValueError(f"verify: {os.fspath(verify)} contains no PEM certificate") from None
    except OSError as problem:
        raise ValueError(f"verify: {os.fspath(verify)}: {problem.strerror}") from None


def timeout_for(step: Send) -> float:
    return max(min(step.retry.options.timeout, step.retry.remaining), 0.001)


def request_arguments(base_url: str, step: Send) -> dict[str, Any]:
    """Return arguments for `build_request`. Waiting for a free connection is limited by the call's deadline only."""
    return {
        "method": step.operation.method,
        "url": _url(base_url, step.operation.path),
        "headers": step.headers,
        "content": step.body or None,
        "timeout": httpx2.Timeout(timeout_for(step), pool=max(step.retry.remaining, 0.001)),
    }


@lru_cache
def _url(base_url: str, path: str) -> httpx2.URL:
    # Parsing the URL takes a tenth of a call.
    return httpx2.URL(base_url + path)


class IncomingBody:
    """Response body being received, limited in size and time."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._chunks: list[bytes] = []
        self._bytes = 0

    def add(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._bytes += len(chunk)
        if self._bytes > MAX_BYTES:
            raise ProtocolError(f"the response is larger than {MAX_BYTES} bytes", payload=b"")
        if time.monotonic() > self._end:
            raise httpx2.ReadTimeout("the response does not end")

    def response(self, response: httpx2.Response) -> HttpResponse:
        headers = response.headers
        return HttpResponse(response.status_code, headers, b"".join(self._chunks), headers.get_list("set-cookie"))


def request_failed(
    base_url: str, problem: httpx2.HTTPError | TimeoutError | RuntimeError, *, is_closed: bool
) -> ConsoleError:
    """Convert an HTTP error, without chaining it: it holds the request, and so the password."""
    if isinstance(problem, RuntimeError):
        # Another thread or task may have closed the client since the call began.
        if is_closed:
            return ConsoleClosed(base_url)
        raise problem
    if isinstance(problem, httpx2.TimeoutException | TimeoutError):
        why = "no response in time"
    elif isinstance(problem, httpx2.RemoteProtocolError):
        why = "the connection was lost, or the response is not HTTP"
    elif isinstance(problem, httpx2.LocalProtocolError):
        # Its message quotes the header, which may contain the session.
        why = "the request is not valid HTTP"
    else:
        why = str(problem) or type(problem).__name__
    was_sent, may_recover = not isinstance(problem, _NOT_SENT), not _is_lasting(problem)
    return ConnectionFailed(f"cannot reach {base_url}: {why}", was_sent=was_sent, may_recover=may_recover)


def _is_lasting(problem: BaseException | None) -> bool:
    """Whether the host does not exist or its certificate is not trusted, which the HTTP library tells by the cause."""
    while problem is not None:
        if isinstance(problem, ssl.SSLCertVerificationError):
            return True
        if isinstance(problem, socket.gaierror):
            return problem.errno != socket.EAI_AGAIN
        problem = problem.__cause__ or problem.__context__
    return False
