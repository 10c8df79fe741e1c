"""Latency of single requests: in blocks within interleaved rounds, or alternating one by one."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from msgspec import Struct

from bench.measurements import InvalidRun, Latencies
from bench.rounds import RunLength, rotated, show_progress

MAX_CALLS: Final = 100
"""Per variant and round, to limit the size of the results."""


class TimedCall(Struct, frozen=True):
    """A function to time; it raises `InvalidRun` on a wrong response."""

    name: str
    call: Callable[[], object]
    prepare: Callable[[], object] = lambda: None
    """Called before each block, untimed."""


def measure_in_blocks(variants: list[TimedCall], length: RunLength) -> dict[str, Latencies]:
    """Call each variant repeatedly for some seconds in every round, at least once."""
    rounds: dict[str, list[list[float]]] = {variant.name: [] for variant in variants}
    for variant in variants:
        _prepare(variant)
        _time(variant)
    for number in range(length.rounds):
        for variant in rotated(variants, number):
            _prepare(variant)
            end, values = time.perf_counter() + length.seconds, [_time(variant)]
            while time.perf_counter() < end and len(values) < MAX_CALLS:
                values.append(_time(variant))
            rounds[variant.name].append(values)
        show_progress(number, length)
    return {name: Latencies(name, values) for name, values in rounds.items()}


def measure_alternately(variants: list[TimedCall], length: RunLength) -> dict[str, Latencies]:
    """Call all variants once, again and again, so that compared calls are close in time."""
    rounds: dict[str, list[list[float]]] = {variant.name: [] for variant in variants}
    for variant in variants:
        _time(variant)
    cycle = 0
    for number in range(length.rounds):
        for values in rounds.values():
            values.append([])
        end = time.perf_counter() + length.seconds * len(variants)
        while time.perf_counter() < end or not rounds[variants[0].name][-1]:
            for variant in rotated(variants, cycle):
                rounds[variant.name][-1].append(_time(variant))
            cycle += 1
        show_progress(number, length)
    return {name: Latencies(name, values) for name, values in rounds.items()}


def _prepare(variant: TimedCall) -> None:
    with _variant_in_errors(variant):
        variant.prepare()


def _time(variant: TimedCall) -> float:
    began = time.perf_counter()
    with _variant_in_errors(variant):
        variant.call()
    return round((time.perf_counter() - began) * 1000, 3)


@contextmanager
def _variant_in_errors(variant: TimedCall) -> Iterator[None]:
    try:
        yield
    except InvalidRun as error:
        raise InvalidRun(f"{variant.name}: {error}") from error
