"""Cache of encoded responses, valid while neither data nor time changes them."""

from collections import OrderedDict
from typing import Final

from msgspec import Struct

from cloudconsole.core.clock import Clock
from cloudconsole.server.metrics.layout import CACHE_HITS, CACHE_MISSES
from cloudconsole.server.metrics.shared_memory import WorkerMetrics
from cloudconsole.spec.i18n import Language
from cloudconsole.store.base import ChangeFeed

MAX_BYTES: Final = 16 * 1024 * 1024
ENTRY_OVERHEAD: Final = 500

CacheKey = tuple[str, int | str | None, Struct, Language]
"""Action, scope (see `Handler.cache_scope`), parameters and language."""


class CacheEntry(Struct, frozen=True, gc=False):
    version: int
    """Latest change that was known before the data was read."""
    created_at: float
    expires_at: float
    body: bytes
    read_at: float | None
    size: int
    """Of the body and the key's parameters."""


class ResponseCache:
    """LRU cache, bounded in bytes."""

    def __init__(self, changes: ChangeFeed, clock: Clock, metrics: WorkerMetrics, max_bytes: int = MAX_BYTES) -> None:
        self._changes = changes
        self._clock = clock
        self._metrics = metrics
        self._max_bytes = max_bytes
        self.bytes = 0
        self._entries: OrderedDict[CacheKey, CacheEntry] = OrderedDict()

    @property
    def version(self) -> int:
        """Latest known change; take it before reading data, so that a change in between invalidates the entry."""
        return self._changes.latest

    def get(self, key: CacheKey, tenant_id: int) -> CacheEntry | None:
        """Return the entry if it is valid for a tenant whose request has polled for changes."""
        entry = self._entries.get(key)
        # `created_at`, because a clock may be set back.
        if entry is None or not entry.created_at <= self._clock.now() < entry.expires_at:
            return None
        if self._changes.tenant_version(tenant_id) > entry.version:
            return None
        self._entries.move_to_end(key)
        self._metrics.add(CACHE_HITS)
        return entry

    def put(self, key: CacheKey, entry: CacheEntry) -> None:
        self._metrics.add(CACHE_MISSES)
        if entry.expires_at <= entry.created_at:
            return
        replaced = self._entries.pop(key, None)
        if replaced is not None:
            self.bytes -= replaced.size + ENTRY_OVERHEAD
        self._entries[key] = entry
        self.bytes += entry.size + ENTRY_OVERHEAD
        while self.bytes > self._max_bytes:
            _, oldest = self._entries.popitem(last=False)
            self.bytes -= oldest.size + ENTRY_OVERHEAD
