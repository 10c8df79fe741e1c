"""Prometheus text exposition of the counters of all workers, with gauges read from the store."""

import asyncio
import os
import platform
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from cloudconsole._version import __version__
from cloudconsole.core.clock import Clock
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.metrics import definitions, layout
from cloudconsole.server.metrics.definitions import PREFIX, Family
from cloudconsole.server.metrics.shared_memory import SharedMetrics
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store import health
from cloudconsole.store.base import DATABASE_NAMES, Reader, run_with_reader
from cloudconsole.store.health import Counts
from cloudconsole.store.sqlite.engine import database_file, file_sizes, free_bytes
from cloudconsole.store.sqlite.store import SqliteStore

Result = TypeVar("Result")

PAUSE_FACTOR: Final = 20
"""Pause after counting, as a multiple of its duration: counting takes at most 1/20 of the time."""
POSTGRES_PAUSE_FACTOR: Final = 500
"""The same on PostgreSQL, where each replica counts in the same database."""


class StoreGauges:
    def __init__(self, settings: Settings, clock: Clock, seconds: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seconds = seconds
        self._store = settings.store
        self._directory: Path | None = self._store.folder if isinstance(self._store, SqliteStore) else None
        self._pause_factor = PAUSE_FACTOR if self._directory is not None else POSTGRES_PAUSE_FACTOR
        self._idle_seconds = settings.session_idle
        self._counts: Counts | None = None
        self._next_count = 0.0

    def is_readable(self) -> bool:
        """Return whether the store can be read now; fast, even if counting is slow."""
        return self._read(health.probe) or False

    def counts(self) -> Counts | None:
        """Return the counts, which may be cached; None if counting failed."""
        started = self._seconds()
        if started >= self._next_count:
            self._counts = self._read(lambda reader: health.count(reader, self._clock.now(), self._idle_seconds))
            finished = self._seconds()
            self._next_count = finished + self._pause_factor * (finished - started)
        return self._counts

    def file_sizes(self) -> dict[str, int]:
        return {} if self._directory is None else file_sizes(self._directory)

    def free_bytes(self) -> list[int]:
        """Return one value, or an empty list without a data directory."""
        with suppress(OSError):
            return [] if self._directory is None else [free_bytes(self._directory)]
        return []

    def _read(self, query: Callable[[Reader], Awaitable[Result]]) -> Result | None:
        """Return None if the store cannot be read."""
        # Opening missing files would create them.
        if self._directory is not None and not all(
            database_file(self._directory, part).exists() for part in DATABASE_NAMES
        ):
            return None

        async def read() -> Result:
            async with run_with_reader(self._store) as reader:
                return await query(reader)

        try:
            return asyncio.run(read())
        except (Unavailable, sqlite3.Error):
            return None


_NANOSECONDS: Final = 1_000_000_000
_HEALTH: Final = ("healthz", "readyz")

Number = int | str
Sample = tuple[tuple[str, ...], Number]


class MetricsExposition:
    def __init__(self, shared_metrics: SharedMetrics, store: StoreGauges) -> None:
        self._shared_metrics = shared_metrics
        self._store = store

    def text(self) -> str:
        workers = self._shared_metrics.read()
        totals = [sum(cells) for cells in zip(*workers, strict=True)]
        lines: list[str] = []
        lines += _requests(totals, self._shared_metrics.operations)
        lines += _store_counters(totals)
        lines += _upstream(totals)
        lines += _processes(workers, totals)
        lines += _store_gauges(self._store)
        lines += _family(definitions.START_TIME, [((), f"{self._shared_metrics.made_at:.3f}")])
        lines += _family(definitions.BUILD, [((__version__, platform.python_version()), 1)])
        return "\n".join(lines) + "\n"


def _requests(totals: list[int], operations: dict[str, int]) -> list[str]:
    counted = {
        (call, outcome): totals[start + offset]
        for call, start in operations.items()
        for outcome, offset in layout.OUTCOME_OFFSETS.items()
    }
    # Most pairs are impossible, so errors are shown once they occurred. Logins and rejections are shown in full.
    calls = [(pair, number) for pair, number in counted.items() if number or pair[1] == layout.OK]
    logins = [
        ((outcome,), counted[layout.LOGIN, outcome]) for outcome in layout.OUTCOMES if outcome != layout.EXTENSION_ERROR
    ]
    rejections = [
        ((reason,), sum(counted[call, reason] for call in operations if call not in _HEALTH))
        for reason in layout.REJECTIONS
    ]
    connection_rejections = [
        ((str(status),), totals[offset]) for status, offset in layout.CONNECTION_REJECTIONS.items()
    ]
    durations: dict[tuple[str, ...], int] = {
        (call,): start + len(layout.OUTCOMES) for call, start in operations.items()
    }
    return [
        *_family(definitions.REQUESTS, calls),
        *_histogram(definitions.REQUEST_SECONDS, durations, totals),
        *_family(definitions.IN_FLIGHT, [((), totals[layout.IN_FLIGHT])]),
        *_family(definitions.LOGINS, logins),
        *_family(definitions.REJECTIONS, rejections),
        *_family(definitions.CONNECTION_REJECTIONS, connection_rejections),
        *_family(definitions.SHED_REQUESTS, [((), totals[layout.SHED_REQUESTS])]),
        *_family(definitions.SUPPRESSED_RECORDS, [((), totals[layout.AUDIT_SUPPRESSED])]),
        *_family(definitions.PASSWORDS_WAITING, [((), totals[layout.PASSWORDS_WAITING])]),
    ]


def _store_counters(totals: list[int]) -> list[str]:
    lookups = [(("miss",), totals[layout.CACHE_MISSES]), (("hit",), totals[layout.CACHE_HITS])]
    return [
        *_family(definitions.CACHE_LOOKUPS, lookups),
        *_family(definitions.CACHE_BYTES, [((), totals[layout.CACHE_BYTES])]),
        *_histogram(definitions.STORE_WRITES, {(): layout.STORE_WRITES}, totals),
        *_family(definitions.WRITES_WAITING, [((), totals[layout.WRITES_WAITING])]),
        *_family(definitions.STORE_ERRORS, [((), totals[layout.STORE_ERRORS])]),
        *_family(definitions.LEASE_LOST, [((), totals[layout.LEASE_LOST])]),
    ]


def _upstream(totals: list[int]) -> list[str]:
    durations: dict[tuple[str, ...], int] = {(service,): offset for service, offset in layout.UPSTREAM_OFFSETS.items()}
    failures = [(pair, totals[offset]) for pair, offset in layout.UPSTREAM_FAILURES.items()]
    in_flight = [((service,), totals[offset]) for service, offset in layout.UPSTREAM_IN_FLIGHT.items()]
    return [
        *_histogram(definitions.UPSTREAM_SECONDS, durations, totals),
        *_family(definitions.UPSTREAM_FAILURES, failures),
        *_family(definitions.UPSTREAM_IN_FLIGHT, in_flight),
    ]


def _processes(workers: list[list[int]], totals: list[int]) -> list[str]:
    processes = {number: cells[layout.PROCESS] for number, cells in enumerate(workers) if cells[layout.PROCESS]}
    memory = {number: _resident_bytes(process) for number, process in processes.items()}
    known = [((str(number),), size) for number, size in memory.items() if size is not None]
    # A worker that failed to reload uses an older certificate than the others.
    expiries = [cells[layout.CERTIFICATE_EXPIRY] for cells in workers if cells[layout.CERTIFICATE_EXPIRY]]
    longest = max(cells[layout.MAX_LAG] for cells in workers)
    return [
        *_histogram(definitions.LOOP_LAG, {(): layout.LOOP_LAG}, totals),
        *_family(definitions.MAX_LAG, [((), _seconds(longest))]),
        *_family(definitions.WORKERS, [((), len(processes))]),
        *_family(definitions.RESTARTS, [((reason,), totals[cell]) for reason, cell in layout.RESTARTS.items()]),
        *_family(definitions.WORKER_MEMORY, known),
        *_family(definitions.CERTIFICATE_EXPIRY, [((), min(expiries))] if expiries else []),
    ]


def _store_gauges(store: StoreGauges) -> list[str]:
    is_readable = store.is_readable()
    counts = store.counts() if is_readable else None
    lines = _family(definitions.STORE_READABLE, [((), int(is_readable))])
    if counts is not None:
        accounts = [(("enabled",), counts.enabled_accounts), (("disabled",), counts.disabled_accounts)]
        lines += _family(definitions.SESSIONS, [((), counts.live_sessions)])
        lines += _family(definitions.ACCOUNTS, accounts)
    lines += _family(definitions.STORE_BYTES, [((name,), size) for name, size in store.file_sizes().items()])
    lines += _family(definitions.STORE_FREE, [((), size) for size in store.free_bytes()])
    return lines


def _family(family: Family, samples: Iterable[Sample]) -> list[str]:
    name = PREFIX + family.name
    return [*_head(family), *(f"{name}{_labels(family.labels, values)} {number}" for values, number in samples)]


def _histogram(family: Family, offsets: dict[tuple[str, ...], int], totals: list[int]) -> list[str]:
    name, lines = PREFIX + family.name, _head(family)
    bounds = [*(_seconds(bound) for bound in layout.SECONDS_BOUNDS), "+Inf"]
    for values, offset in offsets.items():
        cumulative = 0
        for number, bound in enumerate(bounds):
            cumulative += totals[offset + number]
            lines.append(f"{name}_bucket{_labels((*family.labels, 'le'), (*values, bound))} {cumulative}")
        labels = _labels(family.labels, values)
        lines.append(f"{name}_sum{labels} {_seconds(totals[offset + len(bounds)])}")
        lines.append(f"{name}_count{labels} {cumulative}")
    return lines


def _head(family: Family) -> list[str]:
    name = PREFIX + family.name
    return [f"# HELP {name} {family.help}", f"# TYPE {name} {family.type}"]


def _labels(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    pairs = (f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True))
    return f"{{{','.join(pairs)}}}" if names else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _seconds(nanoseconds: int) -> str:
    """Format exactly, without floating point."""
    whole, rest = divmod(nanoseconds, _NANOSECONDS)
    return f"{whole}.{rest:09}".rstrip("0").rstrip(".")


def _resident_bytes(process: int) -> int | None:
    """Return None if the system does not provide it."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text().split()[1]
    except OSError:
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
