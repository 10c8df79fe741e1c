"""The values that a register may have had, and when.

A register is a row of the store with a single writer, which issues one write at a time. Writes therefore take effect in
the order in which they were issued: the database makes a second writer of a row wait for the first.

An acknowledged write took effect between its start and its acknowledgement. A write of unknown outcome took effect at
any time since its start, or never; once a later write is acknowledged, it has taken effect or never will. While a write
is in progress a read may see either state, regardless of what another read saw: only the acknowledgement decides.
"""

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import islice, product
from math import inf, prod
from typing import Any, Final, NamedTuple

from consistency.history import HistoryError, Write

MAX_STATES: Final = 4096
"""With more possible states in a span, nothing is refuted there."""


class Effect(NamedTuple):
    """A write that took effect, or may have if it is not `certain`, between `begin` and `end`."""

    value: Any
    begin: float
    end: float
    certain: bool


class Version(NamedTuple):
    """A value that a register may have had at any time in [since, until)."""

    value: Any
    since: float
    until: float


class Span(NamedTuple):
    """The combined states that several registers may have been in at any time in [since, until)."""

    since: float
    until: float
    states: frozenset[Hashable] | None
    """None if there are too many."""


def effects(writes: Iterable[Write]) -> list[Effect]:
    """Effects of the writes of one register, in order."""
    found: list[Effect] = []
    last_end = -inf
    for write in writes:
        if write.begin < last_end:
            raise HistoryError(f"cannot check {' '.join(write.register)}: concurrent writes at {write.begin}")
        last_end = write.end
        if write.outcome == "unknown":
            found.append(Effect(write.value, write.begin, inf, certain=False))
        elif write.outcome == "ok":
            _acknowledge(found, write)
    return found


def _acknowledge(found: list[Effect], write: Write) -> None:
    """Add an acknowledged write: earlier writes have taken effect by its end or never will."""
    for index, earlier in enumerate(found):
        if earlier.end == inf:
            found[index] = earlier._replace(end=write.end)
    if write.changed:
        found.append(Effect(write.value, write.begin, write.end, certain=True))
        return
    # It was a no-op: one of the preceding writes of unknown outcome had already made the change.
    begin = None
    while found and not found[-1].certain and found[-1].value == write.value:
        begin = found.pop().begin
    if begin is not None:
        found.append(Effect(write.value, begin, write.end, certain=True))


def versions(initial: Any, found: Sequence[Effect]) -> list[Version]:
    """Return when each value is possible: from the start of its write until a later write has certainly replaced it."""
    until = inf
    backwards = []
    for effect in reversed(found):
        backwards.append(Version(effect.value, effect.begin, until))
        if effect.certain:
            until = effect.end
    return [Version(initial, -inf, until), *reversed(backwards)]


def timeline(registers: Sequence[Sequence[Version]], combine: Callable[[Sequence[Any]], Hashable]) -> list[Span]:
    """Possible combined states of several registers over time; values of different times are never combined."""
    events: dict[float, list[int]] = {-inf: list(range(len(registers)))}
    for index, each in enumerate(registers):
        for version in each:
            events.setdefault(version.since, []).append(index)
            events.setdefault(version.until, []).append(index)
    events.pop(inf, None)
    moments = sorted(events)
    candidates: list[list[Any]] = [[] for _ in registers]
    spans = []
    for since, until in zip(moments, [*moments[1:], inf], strict=True):
        for index in events[since]:
            candidates[index] = [each.value for each in registers[index] if each.since <= since < each.until]
        too_many = prod(len(each) for each in candidates) > MAX_STATES
        spans.append(Span(since, until, None if too_many else frozenset(map(combine, product(*candidates)))))
    return spans


def between(spans: Sequence[Span], begin: float, end: float) -> Iterator[Span]:
    """Yield the spans that overlap or touch a time window."""
    first = bisect_right(spans, begin, key=lambda span: span.since) - 1
    for span in islice(spans, max(first, 0), None):
        if span.since > end:
            return
        yield span
