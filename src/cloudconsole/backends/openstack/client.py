"""HTTP client for OpenStack services, with error mapping.

Not the console's own client: it sends tokens instead of cookies to many services, limits the concurrency of each,
reports to an observer, and maps failures to API errors.
"""

import asyncio
import logging
import re
import ssl
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import httpx2
import msgspec
from msgspec import Struct

from cloudconsole._version import __version__
from cloudconsole.backends.openstack.config import ClientLimits, Service
from cloudconsole.core.ports import ClientInfo
from cloudconsole.spec.errors import UpstreamFailed, UpstreamTimeout


class UpstreamRequest(Struct, frozen=True):
    """The loggable part of a request."""

    place: str
    method: str
    path: str
    service: Service

    def __str__(self) -> str:
        return f"{self.method} {self.place}{self.path}"


class UpstreamResponse(Struct, frozen=True):
    call: UpstreamRequest
    status: int
    headers: dict[str, str]
    """By lowercase name."""
    body: Any
    """The JSON object; None without a body, or if that of an error is not JSON."""


class TokenRejected(Exception):
    """A service rejected the tenant's token."""

    def __init__(self, token: str) -> None:
        super().__init__("a service rejected the token")
        self.token = token


class InvalidResponse(Exception):
    """An unusable response; the message says why and quotes nothing of it."""

    def __init__(self, reason: str, *, was_slow: bool = False) -> None:
        super().__init__(reason)
        self.was_slow = was_slow


_GATEWAY_TIMEOUT: Final = 504


def check_response(
    call: UpstreamRequest,
    status: int,
    headers: dict[str, str],
    content: bytes,
    *,
    token: str | None,
    expected: frozenset[int],
) -> UpstreamResponse:
    """Return a success or an expected status; raise `TokenRejected` or `InvalidResponse` for any other."""
    if 200 <= status < 300:
        return UpstreamResponse(call, status, headers, _object(content))
    if status in expected:
        return UpstreamResponse(call, status, headers, _object_or_none(content))
    if status == 401 and token is not None:
        raise TokenRejected(token)
    raise InvalidResponse(f"status {status}", was_slow=status == _GATEWAY_TIMEOUT)


def _object(content: bytes) -> dict[str, Any] | None:
    if not content:
        return None
    try:
        # As text, since msgspec does not validate the UTF-8 of values it skips.
        decoded = msgspec.json.decode(content.decode())
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as problem:
        raise InvalidResponse("a response that is not JSON") from problem
    if not isinstance(decoded, dict):
        raise InvalidResponse("a response that is not a JSON object")
    return decoded


def _object_or_none(content: bytes) -> dict[str, Any] | None:
    try:
        return _object(content)
    except InvalidResponse:
        return None


log = logging.getLogger(__name__)

MAX_RESPONSE_BYTES: Final = 32 << 20

# No limit on connections: the concurrency limit of each service bounds them.
_KEEPALIVE: Final = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=30)
_NO_KEEPALIVE: Final = httpx2.Limits(max_connections=None, max_keepalive_connections=0)

_MAX_PORT: Final = 65_535
_IDEMPOTENT: Final = frozenset({"GET", "HEAD"})
_CONNECTION_ERRORS: Final = (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError)
_FROM_VERSION_ON: Final = re.compile(r"/v\d+(\.\d+)?(/.*)?$")
_REQUEST_IDS: Final = uuid.UUID("5c5a6a2e-6c55-4d0c-9f8e-1c1a5f7a43a1")

Shape = TypeVar("Shape")


class CallObserver(Protocol):
    """Observes every request to a cloud, for metrics."""

    def started(self, service: Service) -> None: ...

    def finished(self, service: Service, nanoseconds: int) -> None:
        """Record the end of a request, whatever its outcome; the time includes waiting for the concurrency limit."""

    def failed(self, service: Service, *, was_slow: bool) -> None:
        """Record a failed request, possibly after `finished` if the response turns out to be invalid."""


class NullObserver:
    """An observer that does nothing."""

    def started(self, service: Service) -> None:
        """Do nothing."""

    def finished(self, service: Service, nanoseconds: int) -> None:
        """Do nothing."""

    def failed(self, service: Service, *, was_slow: bool) -> None:
        """Do nothing."""


class OpenStackClient:
    """A client for the services of one endpoint."""

    def __init__(
        self, limits: ClientLimits, trust: ssl.SSLContext | Path | None = None, observer: CallObserver | None = None
    ) -> None:
        """`trust` is a CA file or an SSL context; without it the system's certificates are trusted."""
        self._limits = limits
        self._tls = trust if isinstance(trust, ssl.SSLContext) else ssl.create_default_context(cafile=trust)
        # Both are created in the event loop that uses them.
        self._keepalive: httpx2.AsyncHTTPTransport | None = None
        self._no_keepalive: httpx2.AsyncHTTPTransport | None = None
        self._semaphores: dict[str, asyncio.Semaphore] = {}
        self._observer: CallObserver = observer or NullObserver()

    @property
    def action_seconds(self) -> float:
        """Deadline for all upstream requests of one client request."""
        return self._limits.action_seconds

    async def request(
        self,
        place: str,
        method: str,
        path: str,
        *,
        client: ClientInfo,
        service: Service = "identity",
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        body: object = None,
        expected: frozenset[int] = frozenset(),
    ) -> UpstreamResponse:
        """Send a request to the service at `place`; return a success or an expected status.

        Raise `TokenRejected` if the tenant's token was, `UpstreamTimeout` or `UpstreamFailed` for other errors.
        """
        call = UpstreamRequest(place, method, path, service)
        semaphore = self._semaphores.setdefault(service_of(place), asyncio.Semaphore(self._limits.concurrency))
        started = time.perf_counter_ns()
        self._observer.started(service)
        try:
            request = _request(call, _headers(client, token) | dict(headers or {}), params, body)
            async with asyncio.timeout(self._limits.call_seconds), semaphore:
                status, received, content = await self._exchange(request)
            elapsed_ms = (time.perf_counter_ns() - started) / 1e6
            log.debug("upstream request", extra={"fields": {"call": str(call), "ms": elapsed_ms}})
            return check_response(call, status, received, content, token=token, expected=expected)
        except TokenRejected:
            log.warning("cloud service rejected a token: %s", call, extra=_log_fields(call))
            raise
        except (TimeoutError, httpx2.TimeoutException) as slow:
            self._record_failure(call, f"no response within {self._limits.call_seconds:g} s", was_slow=True)
            raise UpstreamTimeout from slow
        except InvalidResponse as error:
            self._record_failure(call, str(error), was_slow=error.was_slow)
            raise (UpstreamTimeout() if error.was_slow else UpstreamFailed()) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError, ssl.SSLError) as failure:
            self._record_failure(call, _describe(failure))
            raise UpstreamFailed from failure
        finally:
            self._observer.finished(service, time.perf_counter_ns() - started)

    def read(self, response: UpstreamResponse, shape: type[Shape]) -> Shape:
        """Convert the body to `shape`, which may name a part of the fields; raise `UpstreamFailed` if it is invalid."""
        try:
            return msgspec.convert(response.body, shape)
        except msgspec.ValidationError as problem:
            # The message names types and paths, but no values.
            raise self.invalid_response(response, str(problem)) from problem

    def invalid_response(self, response: UpstreamResponse, reason: str) -> UpstreamFailed:
        """Return the error for an invalid response; `reason` is logged and must quote nothing of the response."""
        self._record_failure(response.call, reason)
        return UpstreamFailed()

    async def close(self) -> None:
        for transport in (self._keepalive, self._no_keepalive):
            if transport is not None:
                await transport.aclose()
        self._keepalive = self._no_keepalive = None

    async def _exchange(self, request: httpx2.Request) -> tuple[int, dict[str, str], bytes]:
        try:
            self._keepalive = self._keepalive or self._transport(_KEEPALIVE)
            response = await self._keepalive.handle_async_request(request)
        except _CONNECTION_ERRORS:
            # The service may have closed an idle connection at the moment of its use: retry on a new one.
            if request.method not in _IDEMPOTENT:
                raise
            self._no_keepalive = self._no_keepalive or self._transport(_NO_KEEPALIVE)
            response = await self._no_keepalive.handle_async_request(request)
        try:
            content = await _content(response)
        finally:
            await response.aclose()
        return response.status_code, {name.lower(): value for name, value in response.headers.items()}, content

    def _transport(self, limits: httpx2.Limits) -> httpx2.AsyncHTTPTransport:
        return httpx2.AsyncHTTPTransport(verify=self._tls, trust_env=False, limits=limits)

    def _record_failure(self, call: UpstreamRequest, reason: str, *, was_slow: bool = False) -> None:
        self._observer.failed(call.service, was_slow=was_slow)
        log.warning("cloud service failed: %s: %s", call, reason, extra=_log_fields(call))


def _log_fields(call: UpstreamRequest) -> dict[str, object]:
    """Return log fields that make the log rate limit apply per service."""
    service = service_of(call.place)
    return {"service": service, "fields": {"service": service}}


def service_of(place: str) -> str:
    """Return the address without version and project, which is the same for all tenants."""
    return _FROM_VERSION_ON.sub("", place).rstrip("/")


def openstack_request_id(request_id: str) -> str:
    """Convert a request id to the form that OpenStack services accept, deterministically."""
    try:
        number = uuid.UUID(request_id)
    except ValueError:
        number = uuid.uuid5(_REQUEST_IDS, request_id)
    return f"req-{number}"


def _headers(client: ClientInfo, token: str | None) -> dict[str, str]:
    headers = {
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "User-Agent": f"cloudconsole/{__version__}",
        "X-Forwarded-For": client.address,
        "X-Request-ID": client.request_id,
        "X-OpenStack-Request-ID": openstack_request_id(client.request_id),
    }
    return headers if token is None else headers | {"X-Auth-Token": token}


def _request(
    call: UpstreamRequest, headers: dict[str, str], params: Mapping[str, str] | None, body: object
) -> httpx2.Request:
    url = httpx2.URL(call.place + call.path)
    if url.port is not None and url.port > _MAX_PORT:
        raise httpx2.InvalidURL("no such port")
    content = None
    if body is not None:
        content, headers = msgspec.json.encode(body), headers | {"Content-Type": "application/json"}
    return httpx2.Request(call.method, url, params=params, headers=headers, content=content)


def _describe(failure: Exception) -> str:
    """Describe a failure; only network errors in full, since others may quote the token or the response."""
    name = type(failure).__name__
    return f"{name}: {failure}" if isinstance(failure, httpx2.NetworkError | ssl.SSLError) else name


async def _content(response: httpx2.Response) -> bytes:
    content = bytearray()
    async for piece in response.aiter_bytes():
        content += piece
        if len(content) > MAX_RESPONSE_BYTES:
            raise InvalidResponse(f"a response of over {MAX_RESPONSE_BYTES} bytes")
    return bytes(content)
