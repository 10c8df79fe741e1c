"""The same requests as the tenant's resources, or the accounts and sessions of the store, grow."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from msgspec import Struct

from bench import servers
from bench.background_load import resource_changer
from bench.datasets import DatasetSpec, SqliteDataset, sqlite_dataset, temporary_copy
from bench.measurements import MIN_GROWTH_RATIO, InvalidRun, Measurement, PartResult, Ratio, Table, ratio, spread
from bench.raw_http import Connection, action_request, expected_body
from bench.rounds import RunLength, Variant, measure, rotated
from bench.servers import Server
from bench.tables import ByName, limit_table
from bench.wrk import Workload
from cloudconsole.store.sqlite.engine import open_engine

ACTIONS: Final = ("GetUsageLimits", "GetConsumptionsEstimated")
KINDS: Final = ("cache hit", "after a change")
RESOURCES: Final = {"1 thousand resources": 1_000, "100 thousand resources": 100_000, "1 million resources": 1_000_000}
ACCOUNTS: Final = {"10 accounts": 7, "1 million accounts": 1_000_000}
"""Tenants to add: the sample already has three accounts."""

REQUESTS_AFTER_CHANGES: Final = 40


class SizedConsole(Struct, frozen=True):
    """A console over a dataset of one size."""

    size: str
    dataset: SqliteDataset
    server: Server


def run(length: RunLength) -> PartResult:
    with ExitStack() as stack:
        by_resources = [_start(stack, size, DatasetSpec(demo_resources=count)) for size, count in RESOURCES.items()]
        by_accounts = [_start(stack, size, DatasetSpec(tenants=count)) for size, count in ACCOUNTS.items()]
        hits: dict[str, Measurement] = {}
        # Measure compared variants within seconds of each other: the speed of the machine drifts.
        for consoles in (by_resources, by_accounts):
            for action in ACTIONS:
                hits |= measure([_variant(each, action) for each in consoles], length)
        after_changes = _measure_after_changes(by_resources + by_accounts, length.rounds)
        largest = (by_resources[-1], by_accounts[-1])
        limits = [each.server.memory_limit(f"with {each.size}") for each in largest]
    ratios = [
        _ratio(hits | after_changes, action, kind, smallest.size, larger.size)
        for smallest, *rest in (by_resources, by_accounts)
        for larger in rest
        for action in ACTIONS
        for kind in KINDS
    ]
    return PartResult("growth", ratios, [*hits.values(), *after_changes.values()], limits)


def tables(part: PartResult) -> list[Table]:
    found = ByName(part)
    sizes = list(dict.fromkeys(name.partition(": ")[2] for name in found.ratios))
    rows = [
        [f"{action}, {kind}", *(found.ratio(f"{action}, {kind}: {size}") for size in sizes)]
        for action in ACTIONS
        for kind in KINDS
    ]
    return [Table(["speed ratio", *(size.partition(" / ")[0] for size in sizes)], rows), limit_table(part)]


def _start(stack: ExitStack, size: str, spec: DatasetSpec) -> SizedConsole:
    copy = stack.enter_context(temporary_copy(sqlite_dataset(spec)))
    return SizedConsole(size, copy, stack.enter_context(servers.run_console(copy.directory)))


def _variant(console: SizedConsole, action: str) -> Variant:
    request = action_request(console.dataset.demo_cookies(), action)
    name = f"{action}, {console.size}, cache hit"
    return Variant(name, console.server, Workload(request, expected_body(console.server.port, request)))


def _measure_after_changes(consoles: list[SizedConsole], rounds: int) -> dict[str, Measurement]:
    changers = {each.size: resource_changer(open_engine(each.dataset.directory, "cloud")) for each in consoles}
    times: dict[str, list[float]] = {}
    for number in range(rounds):
        for each in rotated(consoles, number):
            for action in ACTIONS:
                name = f"{action}, {each.size}, after a change"
                request = action_request(each.dataset.demo_cookies(), action)
                times.setdefault(name, []).append(_time_after_changes(each.server, request, changers[each.size]))
    return {name: Measurement(name, "ms", values) for name, values in times.items()}


def _time_after_changes(server: Server, request: bytes, make_change: Callable[[], None]) -> float:
    """Return the median milliseconds of requests that each follow a change."""
    with Connection(server.port) as connection:
        body = connection.send(request).body
        times = []
        for _ in range(REQUESTS_AFTER_CHANGES):
            make_change()
            times.append(_time_request(connection, request, body))
    return spread(times).median * 1000


def _time_request(connection: Connection, request: bytes, body: bytes) -> float:
    start = time.perf_counter()
    response = connection.send(request)
    took = time.perf_counter() - start
    if response.status != 200 or response.body != body:
        raise InvalidRun(f"wrong response after a change: {response.status} {response.body[:200]!r}")
    return took


def _ratio(measured: dict[str, Measurement], action: str, kind: str, small: str, large: str) -> Ratio:
    """Return the speed with the larger dataset relative to the smaller one, from rates or from times."""
    smaller, larger = (measured[f"{action}, {size}, {kind}"] for size in (small, large))
    name = f"{action}, {kind}: {large} / {small}"
    if larger.unit == "requests/s":
        return ratio(name, larger, smaller, MIN_GROWTH_RATIO)
    return ratio(name, smaller, larger, MIN_GROWTH_RATIO)
