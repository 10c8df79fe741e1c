"""A small cloud of two tenants, modified as an operator would."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, insert, select

from cloudconsole.backends.embedded.cloud import EmbeddedCloud
from cloudconsole.backends.embedded.content import EmbeddedContent
from cloudconsole.core.clock import format_utc
from cloudconsole.core.ports import CacheableResult, Tenant
from cloudconsole.core.resources import Kind
from cloudconsole.operator.entities import RESOURCES
from cloudconsole.operator.resource_and_price_rules import SIZES
from cloudconsole.operator.transaction import OperatorTransaction, operator_transaction
from cloudconsole.spec.records import ConsumptionItem, DomainDetail, NewsItem, UrlItem, UsageLimits
from cloudconsole.store.base import read_only_engine
from cloudconsole.store.tables import nodes, prices, tenants
from tests.harness import FakeClock
from tests.stores import open_engine, run, store_in, wait_for_replicas

ACME, RIVAL = Tenant(1, "acme"), Tenant(2, "rival")
NORTH, SOUTH = 1, 2
ONE = 10**9
"""One unit of the currency, in billionths."""


def at(text: str) -> int:
    """Return a time of day on 15 November 2026, UTC, as a timestamp."""
    hour, minute, second = (int(part) for part in f"{text}:00".split(":")[:3])
    return int(datetime(2026, 11, 15, hour, minute, second, tzinfo=UTC).timestamp())


LONG_AGO = at("00:00") - 30 * 86_400


def with_operator_names(sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Replace column names with the names that operators use."""
    columns = {column: name for name, column in SIZES.items()}
    return {columns.get(name, name): value for name, value in sizes.items()}


class SmallCloud:
    def __init__(self, data_dir: Path, clock: FakeClock, zone: tzinfo = UTC) -> None:
        self.data_dir = data_dir
        self.clock = clock
        self.engine = open_engine(data_dir, "cloud")
        self.reader = store_in(data_dir).reader()
        self.cloud = EmbeddedCloud(self.reader, clock, zone)
        self.content = EmbeddedContent(self.reader, clock, zone)
        self._recorded = 0

    def close(self) -> None:
        run(self.reader.leave())
        self.reader.close()
        self.engine.dispose()

    def use_zone(self, zone: tzinfo) -> None:
        self.cloud = EmbeddedCloud(self.reader, self.clock, zone)
        self.content = EmbeddedContent(self.reader, self.clock, zone)

    # Operator changes

    def insert(self, table: Table, *rows: Mapping[str, Any]) -> None:
        with self.engine.begin() as connection:
            connection.execute(insert(table), [dict(row) for row in rows])

    def add_tenants_and_nodes(self) -> None:
        self.insert(tenants, {"id": ACME.id, "name": "acme"}, {"id": RIVAL.id, "name": "rival"})
        self.insert(nodes, {"id": NORTH, "name": "north"}, {"id": SOUTH, "name": "south"})

    def price(
        self, kind: str, unit: str, billionths: int, *, node: int | None = None, since: int = 0, of: str | None = None
    ) -> None:
        row = {"kind": kind, "unit": unit, "node_id": node, "start": since, "billionths": billionths, "type": of}
        self.insert(prices, row)

    def record(
        self, kind: Kind, *, since: int = LONG_AGO, until: int | None = None, tenant: Tenant = ACME, **more: Any
    ) -> str:
        """Record a resource, by default on the node north if its kind has a node, and end it if `until` is given."""
        self._recorded += 1
        resource_id = f"r-{self._recorded}"
        on_no_node = kind in ("security_group", "keypair")
        node = more.pop("node", None if on_no_node else NORTH)
        values = {"id": resource_id, "kind": kind, "name": resource_id, **with_operator_names(more)}
        names = {"tenant": self.name_of(tenants, tenant.id), "node": self.name_of(nodes, node)}
        with self.transaction() as transaction:
            RESOURCES.add(transaction, {**names, **values, "started": format_utc(since)})
            if until is not None:
                RESOURCES.end(transaction, resource_id, format_utc(until))
        return resource_id

    def volume(self, size: int = 1, **more: Any) -> str:
        return self.record("volume", size_gb=size, **more)

    def instance(self, vcpus: int = 1, ram_mb: int = 1024, **more: Any) -> str:
        return self.record("instance", vcpus=vcpus, ram_mb=ram_mb, **more)

    def end(self, resource_id: str, moment: int) -> None:
        with self.transaction() as transaction:
            RESOURCES.end(transaction, resource_id, format_utc(moment))

    def resize(self, resource_id: str, *, node: int | None = None, **changes: Any) -> None:
        moved = {} if node is None else {"node": self.name_of(nodes, node)}
        with self.transaction() as transaction:
            RESOURCES.change(transaction, resource_id, moved | with_operator_names(changes))

    @contextmanager
    def transaction(self) -> Iterator[OperatorTransaction]:
        """Open a transaction whose changes all readers have seen when it ends."""
        with operator_transaction(self.engine, actor="tests", now=int(self.clock.now()), force=True) as transaction:
            yield transaction
        wait_for_replicas(self.data_dir)

    def name_of(self, table: Table, row_id: int | None) -> str | None:
        with read_only_engine(self.engine).connect() as connection:
            return connection.scalar(select(table.c.name).where(table.c.id == row_id))

    def connect(self) -> Connection:
        return self.engine.connect()

    # Tenant reads

    def consumption(self, tenant: Tenant = ACME) -> CacheableResult[list[ConsumptionItem]]:
        return run(self.cloud.consumption(tenant))

    def hourly(self, tenant: Tenant = ACME) -> dict[str, Decimal]:
        """Return the cost per hour by kind."""
        return {item.res_type: Decimal(item.hour) for item in self.consumption(tenant).record}

    def volume_cost(self) -> Decimal:
        return self.hourly().get("volume", Decimal(0))

    def usage(self, tenant: Tenant = ACME) -> UsageLimits:
        return run(self.cloud.usage_limits(tenant)).record

    def urls(self, tenant: Tenant = ACME) -> list[UrlItem]:
        return run(self.content.urls(tenant)).record

    def domain(self, domain_id: str, tenant: Tenant = ACME) -> DomainDetail:
        return run(self.content.domain(tenant, domain_id)).record

    def news(self) -> CacheableResult[list[NewsItem]]:
        return run(self.content.news())
