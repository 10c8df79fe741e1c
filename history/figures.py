"""Whether figures that were answered ever existed: all of them together, at one moment while the call was under way."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from math import inf
from typing import Any, Final, NamedTuple

from history import amounts
from history.model import Model
from history.recording import Call
from history.registers import Span, Version, between

STALE: Final = "stale"
LATER: Final = "of a state that came later"
MIXED: Final = "a mix of states"
NEVER: Final = "of no state there ever was"


class Time(NamedTuple):
    """From one moment until before another."""

    since: float
    until: float

    def overlap(self, other: "Span | Version | Time") -> "Time | None":
        since, until = max(self.since, other.since), min(self.until, other.until)
        return Time(since, until) if since < until else None


class Reading(ABC):
    """What an answer says."""

    @abstractmethod
    def times(self, window: Time) -> Iterator[Time]:
        """When, within a window, all of it may have been so at once."""

    @abstractmethod
    def may_be_of_several_moments(self) -> bool:
        """Whether each part of it may have been so at some moment, be it another one."""


class UsageReading(Reading):
    def __init__(self, model: Model, tenant: str, data: dict[str, Any]) -> None:
        self._limits = {name: data[field] for name, field in amounts.LIMITS.items()}
        self._used = tuple(data[name] for name in amounts.USED)
        self._quotas = model.quotas[tenant]
        self._spans = model.used[tenant]

    def times(self, window: Time) -> Iterator[Time]:
        for version in self._quotas:
            if version.value == self._limits and (time := window.overlap(version)):
                yield from _times_of(self._used, self._spans, time)

    def may_be_of_several_moments(self) -> bool:
        is_quota = any(version.value == self._limits for version in self._quotas)
        return is_quota and any(True for _ in _times_of(self._used, self._spans, Time(-inf, inf)))


class CostReading(Reading):
    def __init__(self, model: Model, tenant: str, data: Any) -> None:
        self._costs = amounts.costs_in(data)
        self._billed = model.billed[tenant]
        self._prices = model.prices

    def times(self, window: Time) -> Iterator[Time]:
        for span in between(self._billed, *window):
            time = window.overlap(span)
            for prices in between(self._prices, *time) if time else ():
                if (both := time and time.overlap(prices)) and self._may_come_of(span.states, prices.states):
                    yield both

    def may_be_of_several_moments(self) -> bool:
        return self._may_come_of(_all_states(self._billed), _all_states(self._prices))

    def _may_come_of(self, billed: Iterable[Any] | None, books: Iterable[Any] | None) -> bool:
        if billed is None or books is None:
            return True
        return any(amounts.costs(much, book) == self._costs for much in billed for book in books)


class NewsReading(Reading):
    def __init__(self, model: Model, data: list[dict[str, str]]) -> None:
        self._items = tuple((item["date"], item["url"], item["title"]) for item in data)
        self._spans = model.news

    def times(self, window: Time) -> Iterator[Time]:
        return _times_of(self._items, self._spans, window)

    def may_be_of_several_moments(self) -> bool:
        lists: set[Any] = _all_states(self._spans)
        return {item for each in lists for item in each}.issuperset(self._items)


def fault_of(model: Model, call: Call) -> str | None:
    """What is wrong with the figures of a successful call; None where they may have been so."""
    data = call.answer.data
    reading: Reading
    try:
        if call.action == "GetUsageLimits":
            reading = UsageReading(model, model.tenant_of(call.session), data)
        elif call.action == "GetConsumptionsEstimated":
            reading = CostReading(model, model.tenant_of(call.session), data)
        elif call.action == "GetNews":
            reading = NewsReading(model, data)
        else:
            return None
    except (KeyError, TypeError, ValueError) as problem:
        return f"no answer to {call.action}: {problem!r}"
    return _verdict(reading, call)


def _verdict(reading: Reading, call: Call) -> str | None:
    if any(True for _ in reading.times(Time(call.begin, call.end))):
        return None
    until = max((time.until for time in reading.times(Time(-inf, call.begin))), default=None)
    if until is not None:
        return f"{STALE}: so it was until {until:.3f}, and the call began {call.begin - until:.3f} s later"
    if any(True for _ in reading.times(Time(call.end, inf))):
        return LATER
    return MIXED if reading.may_be_of_several_moments() else NEVER


def _times_of(state: Hashable, spans: Sequence[Span], window: Time) -> Iterator[Time]:
    for span in between(spans, *window):
        if (span.states is None or state in span.states) and (time := window.overlap(span)):
            yield time


def _all_states(spans: Sequence[Span]) -> set[Hashable]:
    return {state for span in spans for state in span.states or ()}
