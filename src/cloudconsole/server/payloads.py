"""Prepared payloads: an answer is encoded once and handed out again while neither data nor time changes it."""

from collections import OrderedDict
from typing import Final, NamedTuple

from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import Tenant
from cloudconsole.server.actions import Handler, Ports
from cloudconsole.server.observing.layout import PAYLOADS_PREPARED, PAYLOADS_REUSED
from cloudconsole.server.observing.meter import Meter
from cloudconsole.spec import envelope

MOST_BYTES: Final = 32 * 1024 * 1024
ENTRY_OVERHEAD: Final = 500

Key = tuple[str, int | None, tuple[str, ...]]


class Prepared(NamedTuple):
    stamp: int
    since: float
    until: float
    data: bytes


class Payloads:
    """The least recently used make room for new ones, so that memory stays bounded however many tenants call."""

    def __init__(self, clock: Clock, meter: Meter, most_bytes: int = MOST_BYTES) -> None:
        self._clock = clock
        self._meter = meter
        self._most_bytes = most_bytes
        self.bytes = 0
        self._prepared: OrderedDict[Key, Prepared] = OrderedDict()

    async def get(
        self, handler: Handler, ports: Ports, tenant: Tenant, parameters: tuple[str, ...], stamp: int
    ) -> bytes:
        """The payload for a call that found the store's data at this stamp.

        It was taken before the data is read: a change in between makes the payload stale, never wrongly fresh.
        """
        key = (handler.action.name, None if handler.same_for_all else tenant.id, parameters)
        now = self._clock.now()
        prepared = self._prepared.get(key)
        # `since`, because a clock may be set back.
        if prepared is not None and prepared.stamp == stamp and prepared.since <= now < prepared.until:
            self._prepared.move_to_end(key)
            self._meter.add(PAYLOADS_REUSED)
            return prepared.data
        fresh = await handler.answer(ports, tenant, *parameters)
        data = envelope.encode(fresh.record)
        self._meter.add(PAYLOADS_PREPARED)
        self._keep(key, Prepared(stamp, now, fresh.until, data))
        return data

    def _keep(self, key: Key, prepared: Prepared) -> None:
        replaced = self._prepared.pop(key, None)
        if replaced is not None:
            self.bytes -= len(replaced.data) + ENTRY_OVERHEAD
        self._prepared[key] = prepared
        self.bytes += len(prepared.data) + ENTRY_OVERHEAD
        while self.bytes > self._most_bytes:
            _, oldest = self._prepared.popitem(last=False)
            self.bytes -= len(oldest.data) + ENTRY_OVERHEAD
