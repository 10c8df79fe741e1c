"""HTTP client for OpenStack services, error mapping."""

import asyncio
import logging
import re
import ssl
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import httpx2
import msgspec
from msgspec import Struct

from cloudconsole._version import __version__
from cloudconsole.backends.openstack.config import CallObserver, ClientLimits, NullObserver, Service
from cloudconsole.core.ports import ClientInfo
from cloudconsole.spec.errors import UpstreamFailed, UpstreamTimeout


class UpstreamRequest(Struct, frozen=True):
    """What was asked, as far as a log may tell it."""

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
    """By names in lower case."""
    body: Any
    """What the JSON says, an object; None where there is no body, or where that of a refusal is no JSON."""


class TokenRejected(Exception):
    """A service no longer takes the tenant's token."""

    def __init__(self, token: str) -> None:
        super().__init__("a service refused the token")
        self.token = token


class InvalidResponse(Exception):
    """What came is no answer to go by; the text says why, and holds nothing of what came."""

    def __init__(self, why: str, *, was_slow: bool = False) -> None:
        super().__init__(why)
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
    """A success or a status that is expected; raises `TokenRefused` or `BadAnswer` for every other."""
    if 200 <= status < 300:
        return UpstreamResponse(call, status, headers, _object(content))
    if status in expected:
        return UpstreamResponse(call, status, headers, _object_or_nothing(content))
    if status == 401 and token is not None:
        raise TokenRejected(token)
    raise InvalidResponse(f"status {status}", was_slow=status == _GATEWAY_TIMEOUT)


def _object(content: bytes) -> dict[str, Any] | None:
    if not content:
        return None
    try:
        # As text, since msgspec does not look at the bytes of what it skips.
        decoded = msgspec.json.decode(content.decode())
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as problem:
        raise InvalidResponse("an answer that is no JSON") from problem
    if not isinstance(decoded, dict):
        raise InvalidResponse("an answer that is no JSON object")
    return decoded


def _object_or_nothing(content: bytes) -> dict[str, Any] | None:
    try:
        return _object(content)
    except InvalidResponse:
        return None


log = logging.getLogger(__name__)

MAX_RESPONSE_BYTES: Final = 32 << 20
"""Of one answer."""

# No bound on connections: how many there can be follows from the room that each service has.
_KEPT: Final = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=30)
_NONE_KEPT: Final = httpx2.Limits(max_connections=None, max_keepalive_connections=0)

_LAST_PORT: Final = 65_535
_REPEATABLE: Final = frozenset({"GET", "HEAD"})
_LOST: Final = (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError)
_FROM_VERSION_ON: Final = re.compile(r"/v\d+(\.\d+)?(/.*)?$")
_REQUEST_IDS: Final = uuid.UUID("5c5a6a2e-6c55-4d0c-9f8e-1c1a5f7a43a1")

Shape = TypeVar("Shape")


class OpenStackClient:
    """The services behind one endpoint."""

    def __init__(
        self, manners: ClientLimits, trust: ssl.SSLContext | Path | None = None, watcher: CallObserver | None = None
    ) -> None:
        """`trust` is a file of certificates, or a whole context; without one, the system's certificates are trusted."""
        self._manners = manners
        self._tls = trust if isinstance(trust, ssl.SSLContext) else ssl.create_default_context(cafile=trust)
        # Both are made in the loop that uses them.
        self._keeping: httpx2.AsyncHTTPTransport | None = None
        self._fresh: httpx2.AsyncHTTPTransport | None = None
        self._rooms: dict[str, asyncio.Semaphore] = {}
        self._observer: CallObserver = watcher or NullObserver()

    @property
    def action_seconds(self) -> float:
        """Within which all calls for one thing that a caller wants must be done."""
        return self._manners.action_seconds

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
        """The answer of the service at `place`: a success, or a status that is expected.

        Raises `TokenRefused` where the tenant's token was, `UpstreamTimeout` or `UpstreamFailed` for all else.
        """
        call = UpstreamRequest(place, method, path, service)
        context = self._rooms.setdefault(service_of(place), asyncio.Semaphore(self._manners.concurrency))
        started = time.perf_counter_ns()
        self._observer.started(service)
        try:
            request = _request(call, _headers(client, token) | dict(headers or {}), params, body)
            async with asyncio.timeout(self._manners.call_seconds), context:
                status, received, content = await self._exchange(request)
            took = (time.perf_counter_ns() - started) / 1e6
            log.debug("asked", extra={"fields": {"call": str(call), "ms": took}})
            return check_response(call, status, received, content, token=token, expected=expected)
        except TokenRejected:
            log.warning("a service behind the console refused a token: %s", call, extra=_named_service(call))
            raise
        except (TimeoutError, httpx2.TimeoutException) as slow:
            self._note(call, f"no answer within {self._manners.call_seconds:g} s", was_slow=True)
            raise UpstreamTimeout from slow
        except InvalidResponse as bad:
            self._note(call, str(bad), was_slow=bad.was_slow)
            raise (UpstreamTimeout() if bad.was_slow else UpstreamFailed()) from bad
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError, ssl.SSLError) as failure:
            self._note(call, _named(failure))
            raise UpstreamFailed from failure
        finally:
            self._observer.finished(service, time.perf_counter_ns() - started)

    def read(self, response: UpstreamResponse, shape: type[Shape]) -> Shape:
        """The body as `shape`, which need name only what is of use; raises `UpstreamFailed` where it does not fit."""
        try:
            return msgspec.convert(response.body, shape)
        except msgspec.ValidationError as problem:
            # Its text names types and where they are wrong, and no value.
            raise self.invalid_response(response, str(problem)) from problem

    def invalid_response(self, response: UpstreamResponse, why: str) -> UpstreamFailed:
        """What to raise where an answer cannot be true; `why` is logged, so it must hold nothing of the answer."""
        self._note(response.call, why)
        return UpstreamFailed()

    async def close(self) -> None:
        for transport in (self._keeping, self._fresh):
            if transport is not None:
                await transport.aclose()
        self._keeping = self._fresh = None

    async def _exchange(self, request: httpx2.Request) -> tuple[int, dict[str, str], bytes]:
        try:
            self._keeping = self._keeping or self._transport(_KEPT)
            response = await self._keeping.handle_async_request(request)
        except _LOST:
            # It may be that the service closed a kept connection at the very moment of its use: a new one tells.
            if request.method not in _REPEATABLE:
                raise
            self._fresh = self._fresh or self._transport(_NONE_KEPT)
            response = await self._fresh.handle_async_request(request)
        try:
            content = await _content(response)
        finally:
            await response.aclose()
        return response.status_code, {name.lower(): value for name, value in response.headers.items()}, content

    def _transport(self, limits: httpx2.Limits) -> httpx2.AsyncHTTPTransport:
        return httpx2.AsyncHTTPTransport(verify=self._tls, trust_env=False, limits=limits)

    def _note(self, call: UpstreamRequest, why: str, *, was_slow: bool = False) -> None:
        self._observer.failed(call.service, was_slow=was_slow)
        log.warning("a service behind the console failed: %s: %s", call, why, extra=_named_service(call))


def _named_service(call: UpstreamRequest) -> dict[str, object]:
    """What a log line needs so that lines of one service are counted apart from those of others."""
    service = service_of(call.place)
    return {"service": service, "fields": {"service": service}}


def service_of(place: str) -> str:
    """The address without its version and what follows, such as a project: the same for all tenants."""
    return _FROM_VERSION_ON.sub("", place).rstrip("/")


def openstack_request_id(request_id: str) -> str:
    """The only form in which OpenStack's services take over an id from elsewhere: the same for the same id."""
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
    if url.port is not None and url.port > _LAST_PORT:
        raise httpx2.InvalidURL("no such port")
    content = None
    if body is not None:
        content, headers = msgspec.json.encode(body), headers | {"Content-Type": "application/json"}
    return httpx2.Request(call.method, url, params=params, headers=headers, content=content)


def _named(failure: Exception) -> str:
    """Only what the network says is told: other failures quote the token or the answer that they are about."""
    name = type(failure).__name__
    return f"{name}: {failure}" if isinstance(failure, httpx2.NetworkError | ssl.SSLError) else name


async def _content(response: httpx2.Response) -> bytes:
    content = bytearray()
    async for piece in response.aiter_bytes():
        content += piece
        if len(content) > MAX_RESPONSE_BYTES:
            raise InvalidResponse(f"an answer of over {MAX_RESPONSE_BYTES} bytes")
    return bytes(content)
