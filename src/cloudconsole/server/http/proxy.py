"""Trusted hosts and proxy headers; warnings about proxies that are not declared."""

import asyncio
import logging
from functools import lru_cache
from typing import Final

from cloudconsole.core.clock import Clock
from cloudconsole.core.origins import parse_host, parse_origin
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.request import Headers, Request
from cloudconsole.server.ip_addresses import forwarded_address, is_in_networks, is_loopback
from cloudconsole.server.writer import Writer
from cloudconsole.spec.errors import ApiError, InvalidHost
from cloudconsole.spec.i18n import Text
from cloudconsole.store.activity_writes import ActivityStore

log = logging.getLogger(__name__)

REPEAT_SECONDS: Final = 3600
"""Each address is recorded at most once in this time."""
MAX_ADDRESSES: Final = 50
"""Per worker and `REPEAT_SECONDS`, so that spoofed addresses flood neither the log nor the store."""


class UndeclaredProxies:
    def __init__(self, activity: ActivityStore, writer: Writer, clock: Clock) -> None:
        self._activity = activity
        self._writer = writer
        self._clock = clock
        self._recorded: dict[str, float] = {}
        self._writing: set[asyncio.Task[None]] = set()

    def record(self, address: str) -> None:
        """Record an address in the background, without delaying its request."""
        now = self._clock.now()
        recorded_at = self._recorded.get(address)
        if recorded_at is not None and now - recorded_at < REPEAT_SECONDS:
            return
        if len(self._recorded) >= MAX_ADDRESSES:
            self._recorded = {known: at for known, at in self._recorded.items() if now - at < REPEAT_SECONDS}
            if len(self._recorded) >= MAX_ADDRESSES:
                return
        self._recorded[address] = now
        log.warning("ignoring forwarded headers from %s: add it to proxies if it is a trusted proxy", address)
        task = asyncio.create_task(self._write(address, int(now)))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _write(self, address: str, now: int) -> None:
        try:
            await self._writer.write(self._activity.record_undeclared_proxy, address, now)
        except ApiError as problem:
            log.warning("could not record an undeclared proxy: %s", problem.__cause__)


MAX_CHAIN: Final = 20
MAX_HOST: Final = 300
"""Longer than any well-formed Host header; longer ones are rejected before they fill the cache."""
_NO_PROXY: Final = Text(
    "This console serves only the machine it runs on and does not accept requests forwarded by a proxy.",
    "本控制台仅供其所在的机器使用，不接受代理转发的请求。",
)


class ProxyPolicy:
    def __init__(
        self, settings: Settings, undeclared: UndeclaredProxies | None = None, *, takes_from_proxies: bool = True
    ) -> None:
        self._undeclared = undeclared
        self._takes_from_proxies = takes_from_proxies
        self._public_origin = settings.public_origin
        self._proxies = settings.proxies
        self._hosts: set[str | None] = set(settings.hosts)
        if not self._hosts and settings.origin_host:
            self._hosts = {settings.origin_host}
        bound_to_loopback = is_loopback(settings.host)
        self._loopback_too = bound_to_loopback and not settings.hosts
        self._any_host = not self._hosts and not bound_to_loopback
        self._served_origin = lru_cache(maxsize=1024)(self._origin_of)
        if self._any_host:
            log.warning("accepting any Host header: set hosts or public_origin to restrict it")

    def apply(self, request: Request) -> None:
        """Set the request's effective scheme, host, origin and client address; reject hosts that are not served."""
        head = request.head
        host = head.host
        if not self._takes_from_proxies and head.via_proxy:
            raise InvalidHost(_NO_PROXY)
        if self._proxies and is_in_networks(request.peer, self._proxies):
            host = _last(head.header(b"x-forwarded-host")) or host
            forwarded_scheme = _last(head.header(b"x-forwarded-proto"))
            if forwarded_scheme in ("http", "https"):
                request.scheme = forwarded_scheme
            request.forwarded_address = self._forwarded_address(head)
        elif head.is_forwarded and self._undeclared is not None:
            self._undeclared.record(request.peer)
        if host is None:
            if request.http_version != "1.0":
                raise InvalidHost
            request.origin = self._public_origin or _own_origin(request)
            return
        if len(host) > MAX_HOST:
            raise InvalidHost
        request.host, request.origin = host, self._served_origin(host, request.scheme)

    def _origin_of(self, host: str, scheme: str) -> str | None:
        if not self._serves(host):
            raise InvalidHost
        return self._public_origin or parse_origin(f"{scheme}://{host}")

    def _serves(self, host_header: str) -> bool:
        host = parse_host(host_header)
        if host is None:
            return False
        return self._any_host or host in self._hosts or (self._loopback_too and is_loopback(host))

    def _forwarded_address(self, head: Headers) -> str | None:
        """Return the nearest address of the chain that is not a trusted proxy."""
        chain = [entry.strip() for entry in (head.header(b"x-forwarded-for") or "").rsplit(",", MAX_CHAIN)]
        for entry in reversed(chain[-MAX_CHAIN:]):
            address = forwarded_address(entry)
            # Entries before an invalid one may be forged by the client.
            if address is None or not is_in_networks(address, self._proxies):
                return address
        return None


def _own_origin(request: Request) -> str | None:
    """Return the origin for a request without Host: the address of the socket."""
    if request.server is None:
        return None
    host, port = request.server
    return parse_origin(f"{request.scheme}://[{host}]:{port}" if ":" in host else f"{request.scheme}://{host}:{port}")


def _last(header: str | None) -> str | None:
    return header.rpartition(",")[2].strip() or None if header else None
