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
from cloudconsole.store.sqlite.engine import database_file
from cloudconsole.store.sqlite.store import SqliteStore

Result = TypeVar("Result")

REST: Final = 20
"""Counting may take a twentieth of the time: it is not done again until it has rested this often as long as it took."""
REST_OF_DATABASE: Final = 500
"""The same where many replicas count in one database, each for itself."""


class StoreGauges:
    def __init__(self, settings: Settings, clock: Clock, seconds: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seconds = seconds
        self._store = settings.store
        self._folder: Path | None = self._store.folder if isinstance(self._store, SqliteStore) else None
        self._rest = REST if self._folder is not None else REST_OF_DATABASE
        self._idle_seconds = settings.session_idle
        self._counts: Counts | None = None
        self._again_at = 0.0

    def is_readable(self) -> bool:
        """Whether it can be read now: that takes no time to tell, however long counting does."""
        return self._read(health.probe) or False

    def counts(self) -> Counts | None:
        """To be asked for while the store can be read; None where counting failed all the same."""
        started = self._seconds()
        if started >= self._again_at:
            self._counts = self._read(lambda reader: health.count(reader, self._clock.now(), self._idle_seconds))
            finished = self._seconds()
            self._again_at = finished + self._rest * (finished - started)
        return self._counts

    def file_sizes(self) -> dict[str, int]:
        return {} if self._folder is None else health.file_sizes(self._folder)

    def free_bytes(self) -> list[int]:
        """One figure, or none where the folder is gone, or there is none."""
        with suppress(OSError):
            return [] if self._folder is None else [health.free_bytes(self._folder)]
        return []

    def _read(self, ask: Callable[[Reader], Awaitable[Result]]) -> Result | None:
        """None where the store cannot be read."""
        # Opening files that are not there would make them.
        if self._folder is not None and not all(database_file(self._folder, part).exists() for part in DATABASE_NAMES):
            return None

        async def read() -> Result:
            async with run_with_reader(self._store) as reader:
                return await ask(reader)

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
        lines += _calls(totals)
        lines += _store_of_workers(totals)
        lines += _upstream(totals)
        lines += _of_processes(workers, totals)
        lines += _of_the_store(self._store)
        lines += _family(definitions.START_TIME, [((), f"{self._shared_metrics.made_at:.3f}")])
        lines += _family(definitions.BUILD, [((__version__, platform.python_version()), 1)])
        return "\n".join(lines) + "\n"


def _calls(totals: list[int]) -> list[str]:
    counted = {
        (call, outcome): totals[start + place]
        for call, start in layout.OPERATION_OFFSETS.items()
        for outcome, place in layout.OUTCOME_OFFSETS.items()
    }
    # Most pairs can never come about: what is not ok is shown once it happened. Logins and refusals are shown whole.
    calls = [(pair, number) for pair, number in counted.items() if number or pair[1] == layout.OK]
    logins = [((outcome,), counted[layout.LOGIN, outcome]) for outcome in layout.OUTCOMES]
    refusals = [
        ((reason,), sum(counted[call, reason] for call in layout.OPERATIONS if call not in _HEALTH))
        for reason in layout.REJECTIONS
    ]
    connection_refusals = [((str(status),), totals[place]) for status, place in layout.CONNECTION_REJECTIONS.items()]
    durations: dict[tuple[str, ...], int] = {
        (call,): start + len(layout.OUTCOMES) for call, start in layout.OPERATION_OFFSETS.items()
    }
    return [
        *_family(definitions.REQUESTS, calls),
        *_histogram(definitions.REQUEST_SECONDS, durations, totals),
        *_family(definitions.IN_FLIGHT, [((), totals[layout.IN_FLIGHT])]),
        *_family(definitions.LOGINS, logins),
        *_family(definitions.REJECTIONS, refusals),
        *_family(definitions.CONNECTION_REJECTIONS, connection_refusals),
        *_family(definitions.SHED_REQUESTS, [((), totals[layout.SHED_REQUESTS])]),
        *_family(definitions.SUPPRESSED_RECORDS, [((), totals[layout.AUDIT_SUPPRESSED])]),
        *_family(definitions.PASSWORDS_WAITING, [((), totals[layout.PASSWORDS_WAITING])]),
    ]


def _store_of_workers(totals: list[int]) -> list[str]:
    payloads = [(("miss",), totals[layout.CACHE_MISSES]), (("hit",), totals[layout.CACHE_HITS])]
    return [
        *_family(definitions.CACHE_LOOKUPS, payloads),
        *_family(definitions.CACHE_BYTES, [((), totals[layout.CACHE_BYTES])]),
        *_histogram(definitions.STORE_WRITES, {(): layout.STORE_WRITES}, totals),
        *_family(definitions.WRITES_WAITING, [((), totals[layout.WRITES_WAITING])]),
        *_family(definitions.STORE_ERRORS, [((), totals[layout.STORE_ERRORS])]),
        *_family(definitions.LEASE_LOST, [((), totals[layout.LEASE_LOST])]),
    ]


def _upstream(totals: list[int]) -> list[str]:
    durations: dict[tuple[str, ...], int] = {(service,): place for service, place in layout.UPSTREAM_OFFSETS.items()}
    failures = [(pair, totals[place]) for pair, place in layout.UPSTREAM_FAILURES.items()]
    in_flight = [((service,), totals[place]) for service, place in layout.UPSTREAM_IN_FLIGHT.items()]
    return [
        *_histogram(definitions.UPSTREAM_SECONDS, durations, totals),
        *_family(definitions.UPSTREAM_FAILURES, failures),
        *_family(definitions.UPSTREAM_IN_FLIGHT, in_flight),
    ]


def _of_processes(workers: list[list[int]], totals: list[int]) -> list[str]:
    processes = {number: cells[layout.PROCESS] for number, cells in enumerate(workers) if cells[layout.PROCESS]}
    memory = {number: _resident_bytes(process) for number, process in processes.items()}
    known = [((str(number),), size) for number, size in memory.items() if size is not None]
    # A worker that could not reload serves an older one than the others.
    expiries = [cells[layout.CERTIFICATE_EXPIRY] for cells in workers if cells[layout.CERTIFICATE_EXPIRY]]
    longest = max(cells[layout.LONGEST_LAG] for cells in workers)
    return [
        *_histogram(definitions.LOOP_LAG, {(): layout.LOOP_LAG}, totals),
        *_family(definitions.LONGEST_LAG, [((), _seconds(longest))]),
        *_family(definitions.WORKERS, [((), len(processes))]),
        *_family(definitions.RESTARTS, [((reason,), totals[cell]) for reason, cell in layout.RESTARTS.items()]),
        *_family(definitions.WORKER_MEMORY, known),
        *_family(definitions.CERTIFICATE_EXPIRY, [((), min(expiries))] if expiries else []),
    ]


def _of_the_store(store: StoreGauges) -> list[str]:
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


def _histogram(family: Family, places: dict[tuple[str, ...], int], totals: list[int]) -> list[str]:
    name, lines = PREFIX + family.name, _head(family)
    bounds = [*(_seconds(bound) for bound in layout.SECONDS_BOUNDS), "+Inf"]
    for values, place in places.items():
        so_far = 0
        for number, bound in enumerate(bounds):
            so_far += totals[place + number]
            lines.append(f"{name}_bucket{_labels((*family.labels, 'le'), (*values, bound))} {so_far}")
        labels = _labels(family.labels, values)
        lines.append(f"{name}_sum{labels} {_seconds(totals[place + len(bounds)])}")
        lines.append(f"{name}_count{labels} {so_far}")
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
    """Exact, however many there are."""
    whole, rest = divmod(nanoseconds, _NANOSECONDS)
    return f"{whole}.{rest:09}".rstrip("0").rstrip(".")


def _resident_bytes(process: int) -> int | None:
    """Where the system tells."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text().split()[1]
    except OSError:
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
