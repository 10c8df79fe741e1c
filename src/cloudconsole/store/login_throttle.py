"""Login throttle: which limit on failed logins an attempt has reached, and which accounts logged in recently."""

import math
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

from cloudconsole.core import login_throttle
from cloudconsole.spec.errors import TooManyRequests
from cloudconsole.store.base import Reader
from cloudconsole.store.tables.activity import LOGIN, OPERATOR_LOGIN

MAX_ENTRIES: Final = 10_000

_COUNTED: Final = "+at BETWEEN :since AND :until"
"""The unary plus prevents a scan of the index on `at`, through the failures of all networks."""


def _nth_newest(condition: str, number: int) -> str:
    """Return SQL for the failure that decides a limit; counting first is much cheaper than sorting."""
    failures = f"FROM login_failures WHERE {condition} AND {_COUNTED}"
    return f"""
        CASE WHEN (SELECT COUNT(*) {failures}) >= {number}
        THEN (SELECT at {failures} ORDER BY at DESC LIMIT 1 OFFSET {number - 1}) END
    """


_IN_56_BITS: Final = "network BETWEEN :first_of_home AND :last_of_home"
_IN_48_BITS: Final = "network BETWEEN :first_of_site AND :last_of_site"

COUNT_FAILURES: Final = f"""
    SELECT {_nth_newest("network = :network AND user_hash = :user_hash", login_throttle.USER_FAILURES)},
           {_nth_newest("network = :network", login_throttle.ADDRESS_FAILURES)},
           {_nth_newest(_IN_56_BITS, login_throttle.NETWORK_FAILURES[56])},
           {_nth_newest(_IN_48_BITS, login_throttle.NETWORK_FAILURES[48])},
           EXISTS (SELECT 1 FROM login_failures WHERE {_IN_48_BITS} AND {_COUNTED})
"""
"""Returns one row: `FailureCounts`."""


class FailureCounts(NamedTuple):
    """For each limit the time of the failure whose expiry ends the wait, or None if the limit is not reached."""

    of_user: int | None
    of_address: int | None
    of_56_bits: int | None
    of_48_bits: int | None
    is_any: bool
    """Whether any login failed recently in the widest counted network."""

    @property
    def decisive(self) -> int | None:
        """The latest of these: once it expires, no limit is reached."""
        return max((failure for failure in self[:4] if failure is not None), default=None)

    def check(self, now: int) -> None:
        """Raise `TooManyRequests` if a limit is reached."""
        if self.decisive is not None:
            raise TooManyRequests(login_throttle.wait_seconds(self.decisive, now))


def failure_parameters(network: str, user_hash: bytes, now: int) -> dict[str, Any]:
    """Return the parameters of `COUNT_FAILURES`."""
    (first_of_home, last_of_home), (first_of_site, last_of_site) = (
        login_throttle.span(network, bits) for bits in (56, 48)
    )
    return {
        "network": network,
        "user_hash": user_hash,
        "since": now - login_throttle.WINDOW_SECONDS + 1,
        "until": now + login_throttle.SKEW_SECONDS,
        "first_of_home": first_of_home,
        "last_of_home": last_of_home,
        "first_of_site": first_of_site,
        "last_of_site": last_of_site,
    }


class _Blocked(NamedTuple):
    decisive: int
    decided_at: int
    read_at: float
    changes: int


class LoginThrottle:
    """Rejects attempts before the password check; the transaction of the login checks again.

    A rejection is cached while nothing can have changed it, so that clients that keep trying cost no reads. On SQLite
    every commit invalidates it at once. On PostgreSQL it expires before the replication wait ends: once a change is
    acknowledged, no worker uses an older decision.
    """

    def __init__(self, reader: Reader, replication_wait_seconds: float) -> None:
        self._reader = reader
        self._cache_seconds = 0.8 * replication_wait_seconds if replication_wait_seconds else math.inf
        self._blocked: dict[tuple[str, bytes], _Blocked] = {}

    async def check(self, network: str, user_hash: bytes, now: int) -> bool:
        """Return whether logins failed recently in the network; raise `TooManyRequests` if the attempt must wait."""
        changes = self._reader.changes
        await changes.poll()
        latest, began = changes.latest, time.monotonic()
        key = network, user_hash
        blocked = self._blocked.get(key)
        if blocked is not None and self._is_valid(blocked, now, began):
            raise TooManyRequests(login_throttle.wait_seconds(blocked.decisive, now))
        self._blocked.pop(key, None)
        row = await self._reader.seek(COUNT_FAILURES, failure_parameters(network, user_hash, now))
        if row is None:
            return False
        failures = FailureCounts(*row)
        if failures.decisive is not None:
            if len(self._blocked) >= MAX_ENTRIES:
                del self._blocked[next(iter(self._blocked))]
            self._blocked[key] = _Blocked(failures.decisive, now, began, latest)
        failures.check(now)
        return bool(failures.is_any)

    def _is_valid(self, blocked: _Blocked, now: int, moment: float) -> bool:
        return (
            # `<=`, because a clock may be set back.
            blocked.decided_at <= now < blocked.decisive + login_throttle.WINDOW_SECONDS
            and moment < blocked.read_at + self._cache_seconds
            and self._reader.changes.session_version(b"") <= blocked.changes
        )


Key = TypeVar("Key")

RECENT_SECONDS: Final = 30 * 24 * 3600

READ_EVERY_SECONDS: Final = 1.0
OVERLAP: Final = 100
"""Rows read again: PostgreSQL may make them visible in a different order than their ids."""

_NEWEST: Final = """
    SELECT id, username, address, at FROM access_audit WHERE event = ? AND id > ? ORDER BY id DESC LIMIT ?
"""


class RecentLogins:
    """Accounts and networks with recent logins; the oldest are evicted first."""

    def __init__(self, reader: Reader, network_of: Callable[[str], str]) -> None:
        self._reader = reader
        self._network_of = network_of
        self._read_at = -READ_EVERY_SECONDS
        self._last_ids = dict.fromkeys((LOGIN, OPERATOR_LOGIN), 0)
        self._pairs: dict[tuple[str, str], None] = {}
        self._networks: dict[str, None] = {}

    async def read(self, now: int) -> None:
        """Read the logins since the last call, at most once per `READ_EVERY_SECONDS`."""
        moment = time.monotonic()
        if moment < self._read_at + READ_EVERY_SECONDS:
            return
        self._read_at = moment
        for event, last in self._last_ids.items():
            rows = await self._reader.all(_NEWEST, (event, max(0, last - OVERLAP), MAX_ENTRIES))
            for row_id, username, address, at in reversed(rows):
                self._last_ids[event] = row_id
                if at > now - RECENT_SECONDS:
                    self.record(username, self._network_of(address))

    def record(self, username: str, network: str) -> None:
        _add(self._pairs, (username, network))
        _add(self._networks, network)

    def has(self, username: str, network: str) -> bool:
        """Return whether this account logged in from this network."""
        return (username, network) in self._pairs

    def has_network(self, network: str) -> bool:
        """Return whether any account logged in from this network."""
        return network in self._networks


def _add(known: dict[Key, None], key: Key) -> None:
    known.pop(key, None)
    known[key] = None
    if len(known) > MAX_ENTRIES:
        del known[next(iter(known))]
