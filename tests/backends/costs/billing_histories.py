"""Histories of an operator: random ones, with a simulation of every hour, and told ones."""

import random
from datetime import UTC, tzinfo
from decimal import Decimal
from typing import Any

from cloudconsole.backends.costs.reports import RecordedCosts
from cloudconsole.core.clock import format_utc
from cloudconsole.operator.entities import PRICES, RESOURCES
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.spec.extension_records import Forecast
from tests.backends.costs.simulation import DAY, Life, Simulation
from tests.backends.small_cloud import ACME, ISSUER, NODE_NAMES, SmallCloud
from tests.core.test_billing_hours import at
from tests.stores import run

NODE_IDS = {name: node_id for node_id, name in NODE_NAMES.items()}


class Operator:
    """Changes a cloud at random, and remembers what was true when."""

    pauses: tuple[int, ...] = (1, 600, 3600, DAY, 3 * DAY, 9 * DAY)
    reuse_probability = 0.4
    max_lag = 0
    """How many seconds the clock of a replica may be behind."""

    def __init__(self, cloud: SmallCloud, rng: random.Random, zone: tzinfo, start: int) -> None:
        self.cloud, self.rng = cloud, rng
        self.simulation = Simulation(zone, start)
        self.count = 0
        for kind, unit in (("volume", "gb"), ("loadbalance", "each")):
            self.act(PRICES.add, {"kind": kind, "unit": unit, "from": format_utc(0), "price": "0.25"})
            self.simulation.set_price(kind, None, 0, 250_000_000)

    @property
    def now(self) -> int:
        return self.simulation.now

    @now.setter
    def now(self, moment: int) -> None:
        self.simulation.now = moment

    def simulated(self) -> int:
        return self.simulation.simulated()

    def act(self, verb: Any, *arguments: Any) -> bool:
        try:
            with operator_transaction(
                self.cloud.engine, actor="tests", now=self.now, zone=self.simulation.zone, force=True
            ) as tx:
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
        free = [name for name in self.simulation.gone if name not in self.simulation.lives]
        name = self.rng.choice(free) if free and self.rng.random() < self.reuse_probability else f"r{self.count}"
        values = {"id": name, "tenant": "acme", "kind": kind, "name": "r", "node": node}
        sized = {"size": size} if size else {}
        if self.act(RESOURCES.add, {**values, **sized, "started": format_utc(start)}):
            self.simulation.add(name, kind, start, node, size)

    def some(self) -> tuple[str, Life] | None:
        lives = self.simulation.lives
        return self.rng.choice(list(lives.items())) if lives else None

    def resize(self) -> None:
        chosen = self.some()
        if chosen is None:
            return
        name, life = chosen
        size = life.states[-1][2]
        new_node, new_size = self.rng.choice(list(NODE_IDS)), self.rng.randint(1, 50) if size else 0
        if self.act(RESOURCES.change, name, {"node": new_node, **({"size": new_size} if size else {})}):
            self.simulation.resize(name, new_node, new_size)

    def end(self) -> None:
        chosen = self.some()
        if chosen is None:
            return
        name, life = chosen
        moment = max(self.moment(), life.states[0][0])
        if self.act(RESOURCES.end, name, format_utc(moment)):
            self.simulation.end(name, moment)

    def remove(self) -> None:
        chosen = self.some()
        if chosen is not None and self.rng.random() >= 0.5 and self.act(RESOURCES.remove, chosen[0]):
            self.simulation.remove(chosen[0])

    def price(self) -> None:
        kind, unit = self.rng.choice([("volume", "gb"), ("loadbalance", "each")])
        node = self.rng.choice([None, *NODE_IDS])
        price = f"{self.rng.randrange(1, 10**9) / 10**9:.9f}"
        start = max(1, self.moment())
        values = {"kind": kind, "unit": unit, "from": format_utc(start), "price": price}
        if self.act(PRICES.add, values | ({"node": node} if node else {})):
            self.simulation.set_price(kind, node, start, int(Decimal(price) * 10**9))
        with operator_transaction(self.cloud.engine, actor="tests", now=self.now, zone=self.simulation.zone) as tx:
            records = [record for record in PRICES.list(tx) if record["from"] != format_utc(0)]
        if not records or self.rng.random() < 0.5:
            return
        record = self.rng.choice(records)
        place = record["kind"], record.get("node"), at(record["from"].rstrip("Z"))
        if self.rng.random() < 0.5:
            if self.act(PRICES.change, PRICES.key_of(record), {"price": price}):
                self.simulation.set_price(*place, int(Decimal(price) * 10**9))
        elif self.act(PRICES.remove, PRICES.key_of(record)):
            self.simulation.remove_price(*place)


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
