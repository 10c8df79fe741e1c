"""Costs over time: the CPU time of reports, and what the billing record costs other requests and imports."""

import io
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from datetime import UTC
from typing import Final
from unittest.mock import patch

from msgspec import Struct
from sqlalchemy import select

from bench import servers
from bench.background_load import resource_changer
from bench.billing_dataset import CHANGES_PER_RESOURCE, RECORDED, RESOURCES, UNRECORDED, billing_dataset
from bench.datasets import DatasetSpec, SqliteDataset, sqlite_dataset, temporary_copy, tenant_name
from bench.measurements import MIN_GROWTH_RATIO, InvalidRun, Measurement, PartResult, Ratio, Table, UpperLimit, ratio
from bench.raw_http import Connection, action_request, expected_body
from bench.rounds import RunLength, Variant, measure, rotated, show_progress
from bench.servers import Server
from bench.tables import ratio_table
from bench.time_slices import TimeSlice, sliced_rates
from bench.wrk import Workload
from cloudconsole.core.clock import format_utc
from cloudconsole.operator import bulk_import
from cloudconsole.store.sqlite.engine import open_engine
from cloudconsole.store.tables import billing_state

REPORT: Final = "GetBillingReportList4NearlyYear"
SUMMARY: Final = "GetConsumptionsSummary"
HITS: Final = (REPORT, "GetUsageLimits", "GetNews")
OTHER_ACTIONS: Final = ("GetUsageLimits", "GetConsumptionsEstimated")
"""Actions that do not read the billing record."""
TENANTS: Final = {"1 thousand tenants": 1_000, "1 million tenants": 1_000_000}
IMPORTS: Final = {"1,000 tenants": 1_000, "one tenant": 1}
ENTRIES: Final = f"{RESOURCES * (1 + CHANGES_PER_RESOURCE):,} entries"

MAX_CPU_MS: Final = 50
MIN_HIT_RATIO: Final = 0.9
MIN_OTHER_RATIO: Final = 0.9
MIN_IMPORT_RATIO: Final = 0.85

REQUESTS_PER_SECOND: Final = 20
"""Cache misses for each second of the run length."""
SETTLE_SECONDS: Final = 0.002
"""After a response, for the rest of the server's work on the request."""
TRANSACTIONS_PER_SECOND: Final = 10
"""Transactions of an import for each second of the run length."""
IMPORTED_DAYS: Final = 270
"""Before the import, in which the imported resources started."""


class SizedConsole(Struct, frozen=True):
    """A console over a dataset with a billing record."""

    size: str
    dataset: SqliteDataset
    server: Server
    make_change: Callable[[], None]

    def request(self, action: str, tenant: str = RECORDED) -> bytes:
        return action_request(self.dataset.cookies_of(tenant), action)


class CacheMiss(Struct, frozen=True):
    """A request after a change, which invalidates all cached responses."""

    name: str
    console: SizedConsole
    request: bytes
    part_of_body: bytes


class FixedClock(Struct, frozen=True):
    moment: int

    def now(self) -> float:
        return self.moment


def run(length: RunLength) -> PartResult:
    with ExitStack() as stack:
        small, large = (_start(stack, size, count) for size, count in TENANTS.items())
        hits = _measure_hits(small, length)
        reports = _measure_misses([_miss(small, REPORT), _miss(large, REPORT), _miss(small, SUMMARY)], length)
        others: dict[str, Measurement] = {}
        for action in OTHER_ACTIONS:
            others |= _measure_misses([_miss(small, action, tenant) for tenant in (RECORDED, UNRECORDED)], length)
        memory = large.server.memory_limit(f"with billing entries of {large.size}")
    imports: dict[str, Measurement] = {}
    for size, count in IMPORTS.items():
        imports |= _measure_imports(size, count, length)
    of_small, of_large, of_summary = reports.values()
    ratios = [
        *(ratio(f"{REPORT} / {action}, cache hits", hits[REPORT], hits[action], MIN_HIT_RATIO) for action in HITS[1:]),
        ratio(f"{REPORT}, cache miss: {large.size} / {small.size}", of_small, of_large, MIN_GROWTH_RATIO),
        *(_entries_ratio(action, others) for action in OTHER_ACTIONS),
        *(_import_ratio(size, imports) for size in IMPORTS),
    ]
    limits = [
        UpperLimit(f"CPU time of {action}, cache miss", "ms", measured.spread.median, MAX_CPU_MS)
        for action, measured in ((REPORT, of_small), (SUMMARY, of_summary))
    ]
    measurements = [*hits.values(), *reports.values(), *others.values(), *imports.values()]
    return PartResult("costs", ratios, measurements, [*limits, memory])


def tables(part: PartResult) -> list[Table]:
    return [ratio_table(part)]


def _start(stack: ExitStack, size: str, count: int) -> SizedConsole:
    copy = stack.enter_context(temporary_copy(billing_dataset(count)))
    server = stack.enter_context(servers.run_console(copy.directory))
    return SizedConsole(size, copy, server, resource_changer(open_engine(copy.directory, "cloud")))


def _measure_hits(console: SizedConsole, length: RunLength) -> dict[str, Measurement]:
    """Measure requests per second in interleaved time slices."""
    variants = []
    for action in HITS:
        request = console.request(action)
        body = constant_part(action, expected_body(console.server.port, request))
        variants.append(Variant(action, console.server, Workload(request, body, is_substring=True)))
    measured = measure([tuple(variants)], length)
    # Without CPU times: those of one server cannot be divided between the slices.
    return {name: Measurement(name, each.unit, each.rounds) for name, each in measured.items()}


def constant_part(action: str, body: bytes) -> bytes:
    """Return the part of a response that stays the same when another hour begins."""
    if action == REPORT:
        # All rows but that of the current month.
        return body.rpartition(b"{")[0]
    if action == SUMMARY:
        return b'"res_type":"allcategories","count":%d,' % RESOURCES
    return body


def _miss(console: SizedConsole, action: str, tenant: str = RECORDED) -> CacheMiss:
    request = console.request(action, tenant)
    body = constant_part(action, expected_body(console.server.port, request))
    name = f"{action}, {console.size}, cache miss"
    return CacheMiss(name if tenant == RECORDED else f"{name}, no entries", console, request, body)


def _measure_misses(misses: list[CacheMiss], length: RunLength) -> dict[str, Measurement]:
    """Measure CPU milliseconds of the server per request; the requests alternate."""
    rounds: dict[str, list[float]] = {each.name: [] for each in misses}
    with ExitStack() as stack:
        connections = {each.name: stack.enter_context(Connection(each.console.server.port)) for each in misses}
        for number in range(length.rounds):
            times: dict[str, list[float]] = {each.name: [] for each in misses}
            for cycle in range(length.seconds * REQUESTS_PER_SECOND):
                for each in rotated(misses, cycle):
                    times[each.name].append(_cpu_seconds(each, connections[each.name]))
            for name, rate in _rates(times).items():
                rounds[name].append(1000 / rate)
            show_progress(number, length)
    return {name: Measurement(name, "ms", values) for name, values in rounds.items()}


def _rates(times: dict[str, list[float]]) -> dict[str, float]:
    """Return how often each variant runs per second of CPU time, in the fastest cycles."""
    slices = [{cycle: TimeSlice(1, round(took * 1e6)) for cycle, took in enumerate(each)} for each in times.values()]
    return dict(zip(times, sliced_rates(slices), strict=True))


def _cpu_seconds(miss: CacheMiss, connection: Connection) -> float:
    miss.console.make_change()
    before = miss.console.server.precise_cpu_seconds()
    response = connection.send(miss.request)
    time.sleep(SETTLE_SECONDS)
    if response.status != 200 or miss.part_of_body not in response.body:
        raise InvalidRun(f"{miss.name}: wrong response: {response.status} {response.body[:200]!r}")
    return miss.console.server.precise_cpu_seconds() - before


def _entries_ratio(action: str, measured: dict[str, Measurement]) -> Ratio:
    with_entries, without = (each for name, each in measured.items() if name.startswith(action))
    return ratio(f"{action}, cache miss: {ENTRIES} / no entries", without, with_entries, MIN_OTHER_RATIO)


def _measure_imports(size: str, tenants: int, length: RunLength) -> dict[str, Measurement]:
    """Measure resources per second of CPU time, with and without recording; the transactions alternate."""
    per_round = length.seconds * TRANSACTIONS_PER_SECOND
    total = 1 + length.rounds * per_round
    with ExitStack() as stack:
        imports = {
            f"import, {size}, {mode}": import_times(stack, tenants, total, is_recorded=is_recorded)
            for mode, is_recorded in (("recorded", True), ("not recorded", False))
        }
        rounds: dict[str, list[float]] = {name: [] for name in imports}
        for each in imports.values():
            next(each)
        for number in range(length.rounds):
            times: dict[str, list[float]] = {name: [] for name in imports}
            for cycle in range(per_round):
                for name in rotated(list(imports), cycle):
                    times[name].append(next(imports[name]))
            for name, rate in _rates(times).items():
                rounds[name].append(rate * bulk_import.LINES_PER_TRANSACTION)
            show_progress(number, length)
    return {name: Measurement(name, "resources/s", values) for name, values in rounds.items()}


def import_times(stack: ExitStack, tenants: int, transactions: int, *, is_recorded: bool) -> Iterator[float]:
    """Import into a copy of a dataset; yield the CPU seconds of each transaction."""
    copy = stack.enter_context(temporary_copy(sqlite_dataset(DatasetSpec(tenants=max(IMPORTS.values())))))
    engine = open_engine(copy.directory, "cloud")
    with engine.connect() as connection:
        # A store in its first month has closed none, so that no imported resource is a correction.
        now = connection.execute(select(billing_state.c.recording_since)).scalar_one()
    lines = io.BytesIO(b"".join(_import_lines(tenants, transactions * bulk_import.LINES_PER_TRANSACTION, now)))
    counts = bulk_import.import_resources(
        engine, lines, "bench", actor="bench", clock=FixedClock(now), zone=UTC, force=True
    )
    for number in range(1, transactions + 1):
        with nullcontext() if is_recorded else patch.object(bulk_import, "record_added"):
            before = time.process_time()
            added = next(counts).added
            spent = time.process_time() - before
        if added != number * bulk_import.LINES_PER_TRANSACTION:
            raise InvalidRun(f"an import added {added} resources in {number} transactions")
        yield spent
    engine.dispose()


def _import_lines(tenants: int, count: int, now: int) -> Iterator[bytes]:
    """Yield volumes that started at random times, cycling through the tenants."""
    numbers = random.Random(1)
    volume = {"kind": "volume", "name": "imported", "node": "hk-1", "size": 10}
    for number in range(count):
        started = format_utc(now - numbers.randrange(IMPORTED_DAYS * 86_400))
        line = {"tenant": tenant_name(number % tenants), "id": f"imported-{number}", **volume, "started": started}
        yield json.dumps(line, separators=(",", ":")).encode() + b"\n"


def _import_ratio(size: str, measured: dict[str, Measurement]) -> Ratio:
    recorded, not_recorded = (measured[f"import, {size}, {mode}"] for mode in ("recorded", "not recorded"))
    return ratio(f"import, {size}: recorded / not recorded", recorded, not_recorded, MIN_IMPORT_RATIO)
