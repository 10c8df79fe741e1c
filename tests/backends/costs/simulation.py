"""Costs by simulating every hour, from the changes of an operator in the order in which they were made."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import tzinfo
from typing import NamedTuple

from cloudconsole.core.billing_hours import spans

DAY = 86_400


@dataclass
class Life:
    kind: str
    states: list[tuple[int, str, int]]
    """From when on, node and size."""
    end: int | None = None

    def state_at(self, second: int) -> tuple[int, str, int] | None:
        return next((state for state in reversed(self.states) if state[0] <= second), None)


class NotedPrice(NamedTuple):
    billionths: int
    until: int | None = None


class Simulation:
    """What was true when, as known now; changes are made now, which may be before an earlier one."""

    def __init__(self, zone: tzinfo, now: int = 0) -> None:
        self.zone, self.now = zone, now
        self.lives: dict[str, Life] = {}
        self.gone: dict[str, list[Life]] = {}
        self.timeline: dict[tuple[str, str | None], dict[int, NotedPrice]] = {}

    # Changes

    def add(self, name: str, kind: str, start: int, node: str, size: int) -> None:
        self.lives[name] = Life(kind, [(start, node, size)])

    def resize(self, name: str, node: str, size: int) -> None:
        life = self.lives[name]
        if (node, size) != life.states[-1][1:]:
            moment = max(self.now, life.states[0][0])
            life.states = [state for state in life.states if state[0] < moment] + [(moment, node, size)]

    def end(self, name: str, moment: int) -> None:
        life = self.lives[name]
        life.end = moment
        life.states = [state for state in life.states if state[0] <= moment]

    def remove(self, name: str) -> None:
        life = self.lives.pop(name)
        hour = next(start for start, end in self.hours(self.now - 2 * DAY) if start <= self.now < end)
        if life.end is None or life.end >= hour:
            life.end = hour - 1
        if life.states[0][0] <= life.end:
            self.gone.setdefault(name, []).append(life)

    def set_price(self, kind: str, node: str | None, start: int, billionths: int) -> None:
        """Add or change a price, of a node or of all."""
        self.timeline.setdefault((kind, node), {})[start] = NotedPrice(billionths)

    def remove_price(self, kind: str, node: str | None, start: int) -> None:
        prices = self.timeline[kind, node]
        prices[start] = prices[start]._replace(until=self.now)

    # Costs

    def price_at(self, kind: str, node: str, second: int) -> int:
        """The latest price that had begun and was not removed, of the node or of all."""
        for place in (node, None):
            noted = self.timeline.get((kind, place), {})
            valid = [start for start, price in noted.items() if start <= second and second < (price.until or math.inf)]
            if valid:
                return noted[max(valid)].billionths
        raise AssertionError("all kinds have a price")

    def hours(self, since: int) -> Iterator[tuple[int, int]]:
        """The clock hours from an earlier one to the current one."""
        for span in spans(since - since % 3600 - 3600, self.now + 3600, self.zone):
            hour = span.start
            while hour < span.end and hour <= self.now:
                following = min(hour - (hour - span.phase) % 3600 + 3600, span.end)
                yield hour, following
                hour = following

    def simulated(self) -> int:
        """The cost of all hours up to now, with what is known now."""
        total = 0
        for name in {*self.lives, *self.gone}:
            billed: set[int] = set()
            for life in [*self.gone.get(name, []), *([self.lives[name]] if name in self.lives else [])]:
                start = life.states[0][0]
                for hour, following in self.hours(start) if start <= self.now else ():
                    last = min(following - 1, self.now, following if life.end is None else life.end)
                    state = life.state_at(last)
                    if state is None or (life.end is not None and life.end < hour) or hour in billed:
                        continue
                    billed.add(hour)
                    total += self.price_at(life.kind, state[1], last) * (state[2] or 1)
        return total
