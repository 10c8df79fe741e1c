"""Interleaved rounds: every round measures every variant, in rotating order, and verifies responses around it."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import TypeVar

from msgspec import Struct

from bench.measurements import InvalidRun, Measurement
from bench.raw_http import verify_responses
from bench.servers import LOAD_CORE, Server
from bench.time_slices import SliceSchedule, sliced_rates
from bench.wrk import Workload, WrkCounts, WrkProcess

Item = TypeVar("Item")


class RunLength(Struct, frozen=True):
    rounds: int
    seconds: int


class Variant(Struct, frozen=True):
    """One server under one workload."""

    name: str
    server: Server
    workload: Workload
    prepare: Callable[[], None] = lambda: None
    background: Callable[[], AbstractContextManager[object]] = nullcontext
    """Background load during the measurement."""
    core: int | None = LOAD_CORE
    offset: int = 0
    """The first line of the cookies file to use."""


SlicedGroup = tuple[Variant, ...]
"""Variants that are measured at the same time, in interleaved time slices."""


def measure(variants: Sequence[Variant | SlicedGroup], length: RunLength) -> dict[str, Measurement]:
    """Measure each variant's requests per second, round by round. Raises `InvalidRun` at the first wrong response."""
    groups = [each if isinstance(each, tuple) else (each,) for each in variants]
    alone = [variant for group in groups for variant in group]
    rates: dict[str, list[float]] = {variant.name: [] for variant in alone}
    cpu: dict[str, list[float]] = {variant.name: [] for variant in alone}
    offsets = {variant.name: variant.offset for variant in alone}
    for variant in alone:
        _run((variant,), seconds=1, offsets=offsets)
    for number in range(length.rounds):
        for group in rotated(groups, number):
            for name, (rate, micros) in _run(group, seconds=length.seconds, offsets=offsets).items():
                rates[name].append(rate)
                cpu[name].append(micros)
        show_progress(number, length)
    return {name: Measurement(name, "requests/s", values, cpu[name]) for name, values in rates.items()}


def rotated(items: list[Item], number: int) -> Iterable[Item]:
    """Start with another item in each round, and reverse every second round."""
    start = number % len(items)
    order = items[start:] + items[:start]
    return order if number % 2 == 0 else reversed(order)


def show_progress(number: int, length: RunLength) -> None:
    sys.stderr.write(f"  round {number + 1} of {length.rounds}\n")


def _run(group: SlicedGroup, *, seconds: int, offsets: dict[str, int]) -> dict[str, tuple[float, float]]:
    """Return requests per second and microseconds of server CPU time per request."""
    for variant in group:
        with _variant_in_errors(variant):
            variant.prepare()
            _verify(variant)
    counted: list[WrkCounts] = []
    spent: list[float] = []
    with ExitStack() as stack:
        for variant in group:
            stack.enter_context(variant.background())
        before = [variant.server.cpu_seconds() for variant in group]
        running = [
            _start(variant, SliceSchedule(index, len(group)), seconds, offsets) for index, variant in enumerate(group)
        ]
        for process in running:
            stack.callback(process.stop)
        for variant, process, start in zip(group, running, before, strict=True):
            with _variant_in_errors(variant):
                counted.append(process.wait())
            spent.append(variant.server.cpu_seconds() - start)
    for variant, counts in zip(group, counted, strict=True):
        # The next run starts with the tenants that have been inactive for longest.
        offsets[variant.name] += counts.requests + variant.workload.connections
        with _variant_in_errors(variant):
            _verify(variant)
    rates = sliced_rates([counts.slices for counts in counted]) if len(group) > 1 else [counted[0].rate]
    return {
        variant.name: (rate, cpu / counts.requests * 1e6)
        for variant, counts, rate, cpu in zip(group, counted, rates, spent, strict=True)
    }


def _start(variant: Variant, schedule: SliceSchedule, seconds: int, offsets: dict[str, int]) -> WrkProcess:
    port, offset = variant.server.port, offsets[variant.name]
    return WrkProcess(variant.workload, port, seconds=seconds, offset=offset, core=variant.core, schedule=schedule)


@contextmanager
def _variant_in_errors(variant: Variant) -> Iterator[None]:
    try:
        yield
    except InvalidRun as error:
        raise InvalidRun(f"{variant.name}: {error}") from error


def _verify(variant: Variant) -> None:
    if variant.workload.cookies_file is None:
        workload = variant.workload
        verify_responses(variant.server.port, workload.request, workload.body, is_substring=workload.is_substring)
