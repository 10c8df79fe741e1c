"""Prepared answers: each is encoded once and handed out again while neither data nor time changes it."""

from collections import OrderedDict
from typing import Final

from msgspec import Struct

from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import Tenant
from cloudconsole.server.actions import Handler, Ports
from cloudconsole.server.metrics.layout import CACHE_HITS, CACHE_MISSES
from cloudconsole.server.metrics.shared_memory import WorkerMetrics
from cloudconsole.spec import envelope
from cloudconsole.spec.i18n import Language
from cloudconsole.store.base import ChangeFeed

MOST_BYTES: Final = 32 * 1024 * 1024
ENTRY_OVERHEAD: Final = 500

Key = tuple[str, int | str | None, tuple[str, ...], Language]


class CacheKey(Struct, frozen=True, gc=False):
    """On whose behalf, for what, in which language."""

    tenant: Tenant
    parameters: tuple[str, ...]
    language: Language


class CacheEntry(Struct, frozen=True, gc=False):
    since_change: int
    """The latest change that was known before the data was read."""
    since: float
    until: float
    body: bytes
    read_at: float | None


class ResponseCache:
    """The least recently used make room for new ones, so that memory stays bounded however many tenants call."""

    def __init__(self, changes: ChangeFeed, clock: Clock, metrics: WorkerMetrics, most_bytes: int = MOST_BYTES) -> None:
        self._changes = changes
        self._clock = clock
        self._metrics = metrics
        self._most_bytes = most_bytes
        self.bytes = 0
        self._entries: OrderedDict[Key, CacheEntry] = OrderedDict()

    async def get(self, handler: Handler, ports: Ports, asked: CacheKey) -> CacheEntry:
        """The whole envelope for a call, which has looked for changes."""
        key = (handler.action.name, handler.cache_scope(asked.tenant), asked.parameters, asked.language)
        now = self._clock.now()
        prepared = self._entries.get(key)
        # `since`, because a clock may be set back.
        if prepared is not None and self._is_valid(prepared, asked.tenant) and prepared.since <= now < prepared.until:
            self._entries.move_to_end(key)
            self._metrics.add(CACHE_HITS)
            return prepared
        # Noted before the data is read: a change in between makes an answer stale, never wrongly fresh.
        latest = self._changes.latest
        fresh = await handler.handle(ports, asked.tenant, *asked.parameters)
        body = envelope.success(handler.action.success, asked.language, envelope.encode(fresh.record))
        self._metrics.add(CACHE_MISSES)
        prepared = CacheEntry(latest, now, fresh.expires_at, body, fresh.read_at)
        self._store(key, prepared)
        return prepared

    def _is_valid(self, prepared: CacheEntry, tenant: Tenant) -> bool:
        return self._changes.tenant_version(tenant.id) <= prepared.since_change

    def _store(self, key: Key, prepared: CacheEntry) -> None:
        replaced = self._entries.pop(key, None)
        if replaced is not None:
            self.bytes -= len(replaced.body) + ENTRY_OVERHEAD
        self._entries[key] = prepared
        self.bytes += len(prepared.body) + ENTRY_OVERHEAD
        while self.bytes > self._most_bytes:
            _, oldest = self._entries.popitem(last=False)
            self.bytes -= len(oldest.body) + ENTRY_OVERHEAD
