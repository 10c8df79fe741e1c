"""Single calls, timed: whole blocks of them in interleaved rounds, or one of each in turn."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from msgspec import Struct

from bench.figures import Refused, Times
from bench.rounds import Pace, in_turn

MOST_CALLS: Final = 100
"""Of one variant in one round: more would only make the results longer."""


class Timed(Struct, frozen=True):
    """Something to be timed; it raises `Refused` where the answer is wrong."""

    name: str
    call: Callable[[], object]
    before: Callable[[], object] = lambda: None
    """Done at the beginning of each block, and not counted."""


def in_blocks(variants: list[Timed], pace: Pace) -> dict[str, Times]:
    """In every round, each variant for some seconds, and at least once."""
    rounds: dict[str, list[list[float]]] = {variant.name: [] for variant in variants}
    for variant in variants:
        _begun(variant)
        _timed(variant)
    for number in range(pace.rounds):
        for variant in in_turn(variants, number):
            _begun(variant)
            end, calls = time.perf_counter() + pace.seconds, [_timed(variant)]
            while time.perf_counter() < end and len(calls) < MOST_CALLS:
                calls.append(_timed(variant))
            rounds[variant.name].append(calls)
        sys.stderr.write(f"  round {number + 1} of {pace.rounds}\n")
    return {name: Times(name, calls) for name, calls in rounds.items()}


def by_turns(variants: list[Timed], pace: Pace) -> dict[str, Times]:
    """In every round, one call of each variant after the other, again and again: what is compared is moments apart."""
    rounds: dict[str, list[list[float]]] = {variant.name: [] for variant in variants}
    for variant in variants:
        _timed(variant)
    turn = 0
    for number in range(pace.rounds):
        for calls in rounds.values():
            calls.append([])
        end = time.perf_counter() + pace.seconds * len(variants)
        while time.perf_counter() < end or not rounds[variants[0].name][-1]:
            for variant in in_turn(variants, turn):
                rounds[variant.name][-1].append(_timed(variant))
            turn += 1
        sys.stderr.write(f"  round {number + 1} of {pace.rounds}\n")
    return {name: Times(name, calls) for name, calls in rounds.items()}


def _begun(variant: Timed) -> None:
    with _named(variant):
        variant.before()


def _timed(variant: Timed) -> float:
    began = time.perf_counter()
    with _named(variant):
        variant.call()
    return round((time.perf_counter() - began) * 1000, 3)


@contextmanager
def _named(variant: Timed) -> Iterator[None]:
    try:
        yield
    except Refused as refusal:
        raise Refused(f"{variant.name}: {refusal}") from refusal
