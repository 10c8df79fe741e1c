"""Interleaved rounds: every variant in every round, in a rotating order, checked before and after."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import TypeVar

from msgspec import Struct

from bench.client import check
from bench.figures import Measured, Refused
from bench.load import Counts, Load, Running
from bench.servers import LOAD_CORE, Server
from bench.turns import Turns, rates_of

Thing = TypeVar("Thing")


class Pace(Struct, frozen=True):
    """How long a run is."""

    rounds: int
    seconds: int


class Variant(Struct, frozen=True):
    """One server under one load, perhaps with something going on meanwhile."""

    name: str
    server: Server
    load: Load
    before: Callable[[], None] = lambda: None
    meanwhile: Callable[[], AbstractContextManager[object]] = nullcontext
    core: int | None = LOAD_CORE
    offset: int = 0
    """Which of many callers begins."""


Together = tuple[Variant, ...]
"""These are measured at the same time, in turns."""


def measure(variants: Sequence[Variant | Together], pace: Pace) -> dict[str, Measured]:
    """Each variant's calls a second, round by round. Raises `Refused` at the first wrong answer."""
    groups = [each if isinstance(each, tuple) else (each,) for each in variants]
    alone = [variant for group in groups for variant in group]
    rates: dict[str, list[float]] = {variant.name: [] for variant in alone}
    cpu: dict[str, list[float]] = {variant.name: [] for variant in alone}
    sent = {variant.name: variant.offset for variant in alone}
    for variant in alone:
        _run((variant,), seconds=1, sent=sent)
    for number in range(pace.rounds):
        for group in in_turn(groups, number):
            for name, (rate, micros) in _run(group, seconds=pace.seconds, sent=sent).items():
                rates[name].append(rate)
                cpu[name].append(micros)
        sys.stderr.write(f"  round {number + 1} of {pace.rounds}\n")
    return {name: Measured(name, "calls/s", figures, cpu[name]) for name, figures in rates.items()}


def in_turn(things: list[Thing], number: int) -> Iterable[Thing]:
    """Another one begins in each round, and every second round goes backwards."""
    start = number % len(things)
    turned = things[start:] + things[:start]
    return turned if number % 2 == 0 else reversed(turned)


def _run(group: Together, *, seconds: int, sent: dict[str, int]) -> dict[str, tuple[float, float]]:
    """Calls a second, and microseconds of the server's processor time a call."""
    for variant in group:
        with _naming(variant):
            variant.before()
            _check(variant)
    counted: list[Counts] = []
    spent: list[float] = []
    with ExitStack() as meanwhile:
        for variant in group:
            meanwhile.enter_context(variant.meanwhile())
        before = [variant.server.cpu_seconds() for variant in group]
        running = [_start(variant, Turns(number, len(group)), seconds, sent) for number, variant in enumerate(group)]
        for each in running:
            meanwhile.callback(each.end)
        for variant, each, taken in zip(group, running, before, strict=True):
            with _naming(variant):
                counted.append(each.counts())
            spent.append(variant.server.cpu_seconds() - taken)
    for variant, counts in zip(group, counted, strict=True):
        # Who calls next has not called for as long as there are others.
        sent[variant.name] += counts.requests + variant.load.connections
        with _naming(variant):
            _check(variant)
    found = rates_of([counts.turns for counts in counted]) if len(group) > 1 else [counted[0].rate]
    return {
        variant.name: (rate, taken / counts.requests * 1e6)
        for variant, counts, rate, taken in zip(group, counted, found, spent, strict=True)
    }


def _start(variant: Variant, turns: Turns, seconds: int, sent: dict[str, int]) -> Running:
    port, offset = variant.server.port, sent[variant.name]
    return Running(variant.load, port, seconds=seconds, offset=offset, core=variant.core, turns=turns)


@contextmanager
def _naming(variant: Variant) -> Iterator[None]:
    try:
        yield
    except Refused as refusal:
        raise Refused(f"{variant.name}: {refusal}") from refusal


def _check(variant: Variant) -> None:
    if variant.load.callers is None:
        load = variant.load
        check(variant.server.port, load.request, load.body, is_partial=load.is_partial)
