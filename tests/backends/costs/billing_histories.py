"""Histories of an operator: random ones, with a simulation of every hour, and told ones."""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, tzinfo
from decimal import Decimal
from typing import Any, NamedTuple

from cloudconsole.backends.costs.reports import RecordedCosts
from cloudconsole.core.billing_hours import spans
from cloudconsole.core.clock import format_utc
from cloudconsole.operator.entities import PRICES, RESOURCES
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.spec.extension_records import Forecast
from tests.backends.small_cloud import ACME, ISSUER, NODE_NAMES, SmallCloud
from tests.core.test_billing_hours import at
from tests.stores import run

NODE_IDS = {name: node_id for node_id, name in NODE_NAMES.items()}
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


class Operator:
    """Changes a cloud at random, and remembers what was true when."""

    pauses: tuple[int, ...] = (1, 600, 3600, DAY, 3 * DAY, 9 * DAY)
    reuse_probability = 0.4
    max_lag = 0
    """How many seconds the clock of a replica may be behind."""

    def __init__(self, cloud: SmallCloud, rng: random.Random, zone: tzinfo, start: int) -> None:
        self.cloud, self.rng, self.zone, self.now = cloud, rng, zone, start
        self.lives: dict[str, Life] = {}
        self.gone: dict[str, list[Life]] = {}
        self.count = 0
        self.timeline: dict[tuple[str, int | None], dict[int, NotedPrice]] = {}
        for kind, unit in (("volume", "gb"), ("loadbalance", "each")):
            self.act(PRICES.add, {"kind": kind, "unit": unit, "from": format_utc(0), "price": "0.25"})
            self.note_price(kind, None, 0, 250_000_000)

    def act(self, verb: Any, *arguments: Any) -> bool:
        try:
            with operator_transaction(self.cloud.engine, actor="tests", now=self.now, zone=self.zone, force=True) as tx:
                verb(tx, *arguments)
        except OperatorError:
            return False
        return True

    def moment(self) -> int:
        """A time in the past, now or in the future."""
        span = self.rng.choice([0, 0, 0, 3600, DAY, 40 * DAY])
        return self.now + self.rng.randint(-span, self.rng.choice([0, span]))

    def step(self) -> None:
        verb = self.rng.choice(
            [self.add, self.add, self.resize, self.resize, self.end, self.end, self.remove, self.price]
        )
        lag = self.rng.randint(0, self.max_lag) if self.max_lag else 0
        self.now -= lag
        verb()
        self.now += lag + self.rng.choice(self.pauses)

    def add(self) -> None:
        self.count += 1
        kind = self.rng.choice(["volume", "loadbalance"])
        size = self.rng.randint(1, 50) if kind == "volume" else 0
        start, node = self.moment(), self.rng.choice(list(NODE_IDS))
        free = [name for name in self.gone if name not in self.lives]
        name = self.rng.choice(free) if free and self.rng.random() < self.reuse_probability else f"r{self.count}"
        values = {"id": name, "tenant": "acme", "kind": kind, "name": "r", "node": node}
        sized = {"size": size} if size else {}
        if self.act(RESOURCES.add, {**values, **sized, "started": format_utc(start)}):
            self.lives[values["id"]] = Life(kind, [(start, node, size)])

    def some(self) -> tuple[str, Life] | None:
        return self.rng.choice(list(self.lives.items())) if self.lives else None

    def resize(self) -> None:
        chosen = self.some()
        if chosen is None:
            return
        name, life = chosen
        _, node, size = life.states[-1]
        new_node, new_size = self.rng.choice(list(NODE_IDS)), self.rng.randint(1, 50) if size else 0
        is_changed = self.act(RESOURCES.change, name, {"node": new_node, **({"size": new_size} if size else {})})
        if is_changed and (new_node, new_size) != (node, size):
            moment = max(self.now, life.states[0][0])
            life.states = [state for state in life.states if state[0] < moment] + [(moment, new_node, new_size)]

    def end(self) -> None:
        chosen = self.some()
        if chosen is None:
            return
        name, life = chosen
        moment = max(self.moment(), life.states[0][0])
        if self.act(RESOURCES.end, name, format_utc(moment)):
            life.end = moment
            life.states = [state for state in life.states if state[0] <= moment]

    def remove(self) -> None:
        chosen = self.some()
        if chosen is None or self.rng.random() < 0.5:
            return
        name, life = chosen
        if self.act(RESOURCES.remove, name):
            del self.lives[name]
            hour = next(start for start, end in self.hours(self.now - 2 * DAY) if start <= self.now < end)
            if life.end is None or life.end >= hour:
                life.end = hour - 1
            if life.states[0][0] <= life.end:
                self.gone.setdefault(name, []).append(life)

    def price(self) -> None:
        kind, unit = self.rng.choice([("volume", "gb"), ("loadbalance", "each")])
        node = self.rng.choice([None, *NODE_IDS])
        price = f"{self.rng.randrange(1, 10**9) / 10**9:.9f}"
        start = max(1, self.moment())
        values = {"kind": kind, "unit": unit, "from": format_utc(start), "price": price}
        if self.act(PRICES.add, values | ({"node": node} if node else {})):
            self.note_price(kind, NODE_IDS.get(node or ""), start, int(Decimal(price) * 10**9))
        with operator_transaction(self.cloud.engine, actor="tests", now=self.now, zone=self.zone) as tx:
            records = [record for record in PRICES.list(tx) if record["from"] != format_utc(0)]
        if not records or self.rng.random() < 0.5:
            return
        record = self.rng.choice(records)
        place = record["kind"], NODE_IDS.get(record.get("node") or ""), at(record["from"].rstrip("Z"))
        if self.rng.random() < 0.5:
            if self.act(PRICES.change, PRICES.key_of(record), {"price": price}):
                self.note_price(*place, int(Decimal(price) * 10**9))
        elif self.act(PRICES.remove, PRICES.key_of(record)):
            noted = self.timeline[place[:2]]
            noted[place[2]] = noted[place[2]]._replace(until=self.now)

    def note_price(self, kind: str, node: int | None, start: int, billionths: int) -> None:
        self.timeline.setdefault((kind, node), {})[start] = NotedPrice(billionths)

    def price_at(self, kind: str, node: int, second: int) -> int:
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
                    total += self.price_at(life.kind, NODE_IDS[state[1]], last) * (state[2] or 1)
        return total


class Story:
    """An operator's changes at given times, in UTC."""

    def __init__(self, cloud: SmallCloud) -> None:
        self.cloud = cloud
        self.zone: tzinfo = UTC
        self.costs = RecordedCosts(cloud.reader, cloud.clock, UTC, ISSUER)

    def act(self, now: str, verb: Any, *arguments: Any) -> None:
        with operator_transaction(self.cloud.engine, actor="tests", now=at(now), zone=self.zone, force=True) as tx:
            verb(tx, *arguments)

    def price(self, now: str, price: str, start: str = "2026-01-01T00:00:00Z") -> None:
        self.act(now, PRICES.add, {"kind": "volume", "unit": "gb", "from": start, "price": price})

    def volume(self, now: str, name: str = "v", size: int = 10, started: str | None = None) -> None:
        values = {"id": name, "tenant": "acme", "kind": "volume", "name": name, "node": "north", "size": size}
        self.act(now, RESOURCES.add, values | ({"started": started} if started else {}))

    def months(self, now: str) -> dict[str, str | None]:
        self.cloud.clock.moment = at(now)
        return {bill.bill_month: bill.total for bill in run(self.costs.report(ACME)).record}

    def forecast(self, now: str) -> Forecast:
        self.cloud.clock.moment = at(now)
        return run(self.costs.forecast(ACME)).record
