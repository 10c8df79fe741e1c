"""A small cloud of two tenants, modified as an operator would."""

import random
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, Table, insert

from cloudconsole.backends.embedded.cloud import EmbeddedCloud
from cloudconsole.backends.embedded.content import EmbeddedContent
from cloudconsole.core.clock import format_utc
from cloudconsole.core.ports import CacheableResult, Tenant
from cloudconsole.core.resources import KINDS, NODELESS, SIZED_IN_GB, Kind
from cloudconsole.operator.entities import RESOURCES
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.spec.extension_records import Announcement
from cloudconsole.spec.focus import Issuer
from cloudconsole.spec.records import ConsumptionItem, DomainDetail, NewsItem, UrlItem, UsageLimits
from cloudconsole.store import counters
from cloudconsole.store.base import Reader
from cloudconsole.store.sql import insert_rows
from cloudconsole.store.tables import prices, resources
from tests.harness import FakeClock
from tests.stores import run, wait_for_replicas

ACME, RIVAL = Tenant(1, "acme"), Tenant(2, "rival")
NORTH, SOUTH = 1, 2
NODE_NAMES = {NORTH: "north", SOUTH: "south"}
ISSUER = Issuer("Example Cloud", "EUR")
ONE = 10**9
"""One unit of the currency, in billionths."""


def at(text: str) -> int:
    """Return a time of day on 15 November 2026, UTC, as a timestamp."""
    hour, minute, second = (int(part) for part in f"{text}:00".split(":")[:3])
    return int(datetime(2026, 11, 15, hour, minute, second, tzinfo=UTC).timestamp())


LONG_AGO = at("00:00") - 30 * 86_400


def random_resource(rng: random.Random, resource_id: str) -> dict[str, Any]:
    kind = rng.choice(KINDS)
    started = rng.choice([LONG_AGO + rng.randrange(86_400), at("11:30") + rng.randrange(7200), at("12:00")])
    return {
        "id": resource_id,
        "tenant_id": rng.choice([ACME.id, ACME.id, RIVAL.id]),
        "kind": kind,
        "name": "r",
        "node_id": None if kind in NODELESS else rng.choice([NORTH, SOUTH]),
        "vcpus": rng.randint(1, 64) if kind == "instance" else 0,
        "ram_mb": rng.randint(1, 70_000) if kind == "instance" else 0,
        "disk_gb": rng.randint(0, 99) if kind == "instance" else 0,
        "size_gb": rng.randint(1, 5000) if kind in SIZED_IN_GB else 0,
        "started_at": started,
        "ended_at": rng.choice([None, None, started + rng.randrange(7200), max(started, at("12:00")), at("18:00")]),
    }


class SmallCloud:
    def __init__(self, data_dir: Path, engine: Engine, reader: Reader) -> None:
        self.data_dir = data_dir
        self.clock = FakeClock(at("12:20"))
        self.engine = engine
        self.reader = reader
        self.use_zone(UTC)
        self._recorded = 0

    def use_zone(self, zone: tzinfo) -> None:
        self.cloud = EmbeddedCloud(self.reader, self.clock, zone)
        self.content = EmbeddedContent(self.reader, self.clock, zone)

    # Operator changes

    def insert(self, table: Table, *rows: Mapping[str, Any]) -> None:
        with self.engine.begin() as connection:
            connection.execute(insert(table), [dict(row) for row in rows])

    def insert_random_resources(self, rng: random.Random, number: int) -> list[dict[str, Any]]:
        """Insert and return rows of resources of any kind, which may start or end around noon."""
        rows = [random_resource(rng, f"r{each}") for each in range(number)]
        with self.engine.begin() as connection:
            insert_rows(connection, resources, rows)
            counters.recount_all(connection)
        return rows

    def price(
        self, kind: str, unit: str, billionths: int, *, node: int | None = None, since: int = 0, of: str | None = None
    ) -> None:
        row = {"kind": kind, "unit": unit, "node_id": node, "start": since, "billionths": billionths, "type": of}
        self.insert(prices, row)

    def record(self, kind: Kind, *, since: int = LONG_AGO, until: int | None = None, **more: Any) -> None:
        """Record a resource, by default on the node north if its kind has a node, and end it if `until` is given."""
        self._recorded += 1
        resource_id = f"r-{self._recorded}"
        node = None if kind in NODELESS else NODE_NAMES[more.pop("node", NORTH)]
        names = {"tenant": ACME.username, "id": resource_id, "kind": kind, "name": resource_id, "node": node}
        with operator_transaction(self.engine, actor="tests", now=int(self.clock.now()), force=True) as transaction:
            RESOURCES.add(transaction, {**names, **more, "started": format_utc(since)})
            if until is not None:
                RESOURCES.end(transaction, resource_id, format_utc(until))
        wait_for_replicas(self.data_dir)

    def volume(self, size: int = 1, **more: Any) -> None:
        self.record("volume", size=size, **more)

    def instance(self, vcpus: int = 1, ram: int = 1024, **more: Any) -> None:
        self.record("instance", vcpus=vcpus, ram=ram, **more)

    # Tenant reads

    def consumption(self, tenant: Tenant = ACME) -> CacheableResult[list[ConsumptionItem]]:
        return run(self.cloud.consumption(tenant))

    def hourly(self, tenant: Tenant = ACME) -> dict[str, Decimal]:
        """Return the cost per hour by kind."""
        return {item.res_type: Decimal(item.hour) for item in self.consumption(tenant).record}

    def volume_cost(self) -> Decimal:
        return self.hourly().get("volume", Decimal(0))

    def usage_limits(self, tenant: Tenant = ACME) -> CacheableResult[UsageLimits]:
        return run(self.cloud.usage_limits(tenant))

    def usage(self, tenant: Tenant = ACME) -> UsageLimits:
        return self.usage_limits(tenant).record

    def urls(self) -> list[UrlItem]:
        return run(self.content.urls(ACME)).record

    def domain(self, domain_id: str) -> DomainDetail:
        return run(self.content.domain(ACME, domain_id)).record

    def news(self) -> CacheableResult[list[NewsItem]]:
        return run(self.content.news())

    def announcements(self) -> CacheableResult[list[Announcement]]:
        return run(self.content.announcements())
