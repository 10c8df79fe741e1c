"""Interleaved rounds: every variant in every round, in a rotating order, checked before and after."""

import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from msgspec import Struct

from bench import load
from bench.client import check
from bench.figures import Measured, Refused
from bench.load import Load
from bench.servers import LOAD_CORE, Server

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


def measure(variants: list[Variant], pace: Pace) -> dict[str, Measured]:
    """Each variant's calls a second, round by round. Raises `Refused` at the first wrong answer."""
    rates: dict[str, list[float]] = {variant.name: [] for variant in variants}
    cpu: dict[str, list[float]] = {variant.name: [] for variant in variants}
    sent = {variant.name: variant.offset for variant in variants}
    for variant in variants:
        _run(variant, seconds=1, sent=sent)
    for number in range(pace.rounds):
        for variant in in_turn(variants, number):
            rate, micros = _run(variant, seconds=pace.seconds, sent=sent)
            rates[variant.name].append(rate)
            cpu[variant.name].append(micros)
        sys.stderr.write(f"  round {number + 1} of {pace.rounds}\n")
    return {name: Measured(name, "calls/s", figures, cpu[name]) for name, figures in rates.items()}


def in_turn(things: list[Thing], number: int) -> Iterable[Thing]:
    """Another one begins in each round, and every second round goes backwards."""
    start = number % len(things)
    turned = things[start:] + things[:start]
    return turned if number % 2 == 0 else reversed(turned)


def _run(variant: Variant, *, seconds: int, sent: dict[str, int]) -> tuple[float, float]:
    """Calls a second, and microseconds of the server's processor time a call."""
    variant.before()
    try:
        _check(variant)
        with variant.meanwhile():
            before = variant.server.cpu_seconds()
            counts = load.run(
                variant.load, variant.server.port, seconds=seconds, offset=sent[variant.name], core=variant.core
            )
            taken = variant.server.cpu_seconds() - before
        _check(variant)
    except Refused as refusal:
        raise Refused(f"{variant.name}: {refusal}") from refusal
    # Who calls next has not called for as long as there are others.
    sent[variant.name] += counts.requests + variant.load.connections
    return counts.rate, taken / counts.requests * 1e6


def _check(variant: Variant) -> None:
    if variant.load.callers is None:
        load = variant.load
        check(variant.server.port, load.request, load.body, is_partial=load.is_partial)
