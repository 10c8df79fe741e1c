"""Which values a register may have had, and when.

A register is one row of the store, and has one writer, who does one thing after the other. So its writes take effect in
the order in which they were asked for: a database lets whoever writes a row wait for one who has written it before.

A write that was acknowledged took effect at some moment between its beginning and its acknowledgement; one whose
outcome is unknown took effect at some moment from its beginning on, or never; and once a later one was acknowledged, it
has done so by then or never will. A reading may see either state as long as a write is under way, whichever another
reading saw: only an acknowledgement settles it for all.
"""

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import islice, product
from math import inf, prod
from typing import Any, Final, NamedTuple

from history.recording import RecordingError, Write

MOST_STATES: Final = 4096
"""More at one moment are not told apart: nothing is refuted there."""


class Effect(NamedTuple):
    """A write that took effect, or (unless it is sure) may have, between two moments."""

    value: Any
    begin: float
    end: float
    sure: bool


class Version(NamedTuple):
    """A value that a register may have had at any moment from one until before another."""

    value: Any
    since: float
    until: float


class Span(NamedTuple):
    """The states that several registers together may have been in, at any moment of a time."""

    since: float
    until: float
    states: frozenset[Hashable] | None
    """None where there are too many."""


def effects(writes: Iterable[Write]) -> list[Effect]:
    """What one register's writes, in their order, did or may have done to it."""
    found: list[Effect] = []
    last_end = -inf
    for write in writes:
        if write.begin < last_end:
            raise RecordingError(f"{' '.join(write.register)} has two writers at {write.begin}: it cannot be checked")
        last_end = write.end
        if write.outcome == "unknown":
            found.append(Effect(write.value, write.begin, inf, sure=False))
        elif write.outcome == "done":
            _settle(found, write)
    return found


def _settle(found: list[Effect], write: Write) -> None:
    """Those before it have taken effect by now, or never will."""
    for place, earlier in enumerate(found):
        if earlier.end == inf:
            found[place] = earlier._replace(end=write.end)
    if write.changed:
        found.append(Effect(write.value, write.begin, write.end, sure=True))
        return
    # It was found done: by one of those, right before it, of whose outcome nothing was known.
    begin = None
    while found and not found[-1].sure and found[-1].value == write.value:
        begin = found.pop().begin
    if begin is not None:
        found.append(Effect(write.value, begin, write.end, sure=True))


def versions(initial: Any, found: Sequence[Effect]) -> list[Version]:
    """A value may be there from its write's beginning until a later write has surely replaced it."""
    until = inf
    backwards = []
    for effect in reversed(found):
        backwards.append(Version(effect.value, effect.begin, until))
        if effect.sure:
            until = effect.end
    return [Version(initial, -inf, until), *reversed(backwards)]


def timeline(registers: Sequence[Sequence[Version]], combine: Callable[[Sequence[Any]], Hashable]) -> list[Span]:
    """The states of several registers together, each moment's apart: what was never there at one moment is in none."""
    events: dict[float, list[int]] = {-inf: list(range(len(registers)))}
    for place, each in enumerate(registers):
        for version in each:
            events.setdefault(version.since, []).append(place)
            events.setdefault(version.until, []).append(place)
    events.pop(inf, None)
    moments = sorted(events)
    candidates: list[list[Any]] = [[] for _ in registers]
    spans = []
    for since, until in zip(moments, [*moments[1:], inf], strict=True):
        for place in events[since]:
            candidates[place] = [each.value for each in registers[place] if each.since <= since < each.until]
        many = prod(len(each) for each in candidates) > MOST_STATES
        spans.append(Span(since, until, None if many else frozenset(map(combine, product(*candidates)))))
    return spans


def between(spans: Sequence[Span], begin: float, end: float) -> Iterator[Span]:
    """Those that touch a time: not one that was over when it began, nor one that came later."""
    first = bisect_right(spans, begin, key=lambda span: span.since) - 1
    for span in islice(spans, max(first, 0), None):
        if span.since > end:
            return
        yield span
