"""Check reads: a response must match a single state that existed while the request was in progress."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from math import inf
from typing import Any, Final, NamedTuple

from consistency import oracle
from consistency.history import Read
from consistency.model import Model
from consistency.registers import Span, Version, between

STALE: Final = "stale read"
FUTURE: Final = "read of a later state"
FRACTURED: Final = "fractured read (mixes several states)"
NEVER: Final = "read of a state that never existed"


class Window(NamedTuple):
    """The time window [since, until)."""

    since: float
    until: float

    def overlap(self, other: "Span | Version | Window") -> "Window | None":
        since, until = max(self.since, other.since), min(self.until, other.until)
        return Window(since, until) if since < until else None


class Observation(ABC):
    """The content of a response."""

    @abstractmethod
    def windows(self, window: Window) -> Iterator[Window]:
        """Parts of a window in which all of the content may have been true at once."""

    @abstractmethod
    def is_fractured(self) -> bool:
        """Whether each part of the content may have been true at some time, but not necessarily at the same."""


class UsageObservation(Observation):
    def __init__(self, model: Model, tenant: str, data: dict[str, Any]) -> None:
        self._limits = {name: data[field] for name, field in oracle.LIMITS.items()}
        self._used = tuple(data[name] for name in oracle.USED)
        self._quotas = model.quotas[tenant]
        self._spans = model.used[tenant]

    def windows(self, window: Window) -> Iterator[Window]:
        for version in self._quotas:
            if version.value == self._limits and (overlap := window.overlap(version)):
                yield from _windows_of(self._used, self._spans, overlap)

    def is_fractured(self) -> bool:
        is_quota = any(version.value == self._limits for version in self._quotas)
        return is_quota and any(True for _ in _windows_of(self._used, self._spans, Window(-inf, inf)))


class CostObservation(Observation):
    def __init__(self, model: Model, tenant: str, data: Any) -> None:
        self._costs = oracle.parse_costs(data)
        self._billed = model.billed[tenant]
        self._prices = model.prices

    def windows(self, window: Window) -> Iterator[Window]:
        for span in between(self._billed, *window):
            overlap = window.overlap(span)
            for prices in between(self._prices, *overlap) if overlap else ():
                if (both := overlap and overlap.overlap(prices)) and self._is_cost_of(span.states, prices.states):
                    yield both

    def is_fractured(self) -> bool:
        return self._is_cost_of(_all_states(self._billed), _all_states(self._prices))

    def _is_cost_of(self, billed: Iterable[Any] | None, price_books: Iterable[Any] | None) -> bool:
        if billed is None or price_books is None:
            return True
        return any(oracle.costs(amounts, prices) == self._costs for amounts in billed for prices in price_books)


class NewsObservation(Observation):
    def __init__(self, model: Model, data: list[dict[str, str]]) -> None:
        self._items = tuple((item["date"], item["url"], item["title"]) for item in data)
        self._spans = model.news

    def windows(self, window: Window) -> Iterator[Window]:
        return _windows_of(self._items, self._spans, window)

    def is_fractured(self) -> bool:
        lists: set[Any] = _all_states(self._spans)
        return {item for each in lists for item in each}.issuperset(self._items)


def check_read(model: Model, read: Read) -> str | None:
    """Return what is wrong with the data of a successful read, or None if it is consistent."""
    data = read.response.data
    observation: Observation
    try:
        if read.action == "GetUsageLimits":
            observation = UsageObservation(model, model.tenant_of(read.session), data)
        elif read.action == "GetConsumptionsEstimated":
            observation = CostObservation(model, model.tenant_of(read.session), data)
        elif read.action == "GetNews":
            observation = NewsObservation(model, data)
        else:
            return None
    except (KeyError, TypeError, ValueError) as problem:
        return f"invalid response to {read.action}: {problem!r}"
    return _classify(observation, read)


def _classify(observation: Observation, read: Read) -> str | None:
    if any(True for _ in observation.windows(Window(read.begin, read.end))):
        return None
    until = max((window.until for window in observation.windows(Window(-inf, read.begin))), default=None)
    if until is not None:
        return f"{STALE}: valid until {until:.3f}, request began {read.begin - until:.3f} s later"
    if any(True for _ in observation.windows(Window(read.end, inf))):
        return FUTURE
    return FRACTURED if observation.is_fractured() else NEVER


def _windows_of(state: Hashable, spans: Sequence[Span], window: Window) -> Iterator[Window]:
    for span in between(spans, *window):
        if (span.states is None or state in span.states) and (overlap := window.overlap(span)):
            yield overlap


def _all_states(spans: Sequence[Span]) -> set[Hashable]:
    return {state for span in spans for state in span.states or ()}
