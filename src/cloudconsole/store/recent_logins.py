"""Which accounts logged in of late, and from where: read from the access trail, so that all workers know the same."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from cloudconsole.store.activity import LOGIN, OPERATOR_LOGIN
from cloudconsole.store.reader import Reader

Key = TypeVar("Key")

RECENT_SECONDS: Final = 30 * 24 * 3600
MOST_REMEMBERED: Final = 10_000
READ_EVERY_SECONDS: Final = 1.0
OVERLAP: Final = 100
"""Rows that are read again: on PostgreSQL they become visible in another order than they are numbered."""

_NEWEST: Final = """
    SELECT id, username, address, at FROM access_audit WHERE event = ? AND id > ? ORDER BY id DESC LIMIT ?
"""


class RecentLogins:
    """Bounded: the oldest are forgotten first."""

    def __init__(self, reader: Reader, network_of: Callable[[str], str]) -> None:
        self._reader = reader
        self._network_of = network_of
        self._read_at = -READ_EVERY_SECONDS
        self._last_ids = dict.fromkeys((LOGIN, OPERATOR_LOGIN), 0)
        self._pairs: dict[tuple[str, str], None] = {}
        self._networks: dict[str, None] = {}

    async def read(self, now: int) -> None:
        """Learn of the logins since the last call; does nothing where that was a moment ago."""
        moment = time.monotonic()
        if moment < self._read_at + READ_EVERY_SECONDS:
            return
        self._read_at = moment
        for event, last in self._last_ids.items():
            rows = await self._reader.all(_NEWEST, (event, max(0, last - OVERLAP), MOST_REMEMBERED))
            for row_id, username, address, at in reversed(rows):
                self._last_ids[event] = row_id
                if at > now - RECENT_SECONDS:
                    self.note(username, self._network_of(address))

    def note(self, username: str, network: str) -> None:
        _remember(self._pairs, (username, network))
        _remember(self._networks, network)

    def has(self, username: str, network: str) -> bool:
        """Whether this account logged in from this network."""
        return (username, network) in self._pairs

    def has_network(self, network: str) -> bool:
        """Whether any account logged in from this network."""
        return network in self._networks


def _remember(known: dict[Key, None], key: Key) -> None:
    known.pop(key, None)
    known[key] = None
    if len(known) > MOST_REMEMBERED:
        del known[next(iter(known))]
