"""A hand-made cloud of one or two tenants, changed the way an operator changes it."""

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
from cloudconsole.operator.resource_rules import SIZES
from cloudconsole.operator.transaction import OperatorTransaction, operator_transaction
from cloudconsole.spec.records import ConsumptionItem, DomainDetail, NewsItem, UrlItem, UsageLimits
from cloudconsole.store.base import read_only
from cloudconsole.store.tables import nodes, prices, tenants
from tests.harness import HeldClock
from tests.stores import open_engine, run, settle, store_in

ACME, RIVAL = Tenant(1, "acme"), Tenant(2, "rival")
NORTH, SOUTH = 1, 2
ONE = 10**9
"""One of the currency, in billionths."""


def at(text: str) -> int:
    """A moment on 15 November 2026, UTC."""
    hour, minute, second = (int(part) for part in f"{text}:00".split(":")[:3])
    return int(datetime(2026, 11, 15, hour, minute, second, tzinfo=UTC).timestamp())


LONG_AGO = at("00:00") - 30 * 86_400


def in_file_names(sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Columns by the names that operators know."""
    columns = {column: name for name, column in SIZES.items()}
    return {columns.get(name, name): value for name, value in sizes.items()}


class SmallCloud:
    def __init__(self, folder: Path, clock: HeldClock, zone: tzinfo = UTC) -> None:
        self.folder = folder
        self.clock = clock
        self.engine = open_engine(folder, "cloud")
        self.reader = store_in(folder).reader()
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

    # What an operator does

    def insert(self, table: Table, *rows: Mapping[str, Any]) -> None:
        with self.engine.begin() as connection:
            connection.execute(insert(table), [dict(row) for row in rows])

    def add_places(self) -> None:
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
        """Record a resource, on the node north where its kind is on one, and end it where it has an end."""
        self._recorded += 1
        resource_id = f"r-{self._recorded}"
        on_no_node = kind in ("security_group", "keypair")
        node = more.pop("node", None if on_no_node else NORTH)
        values = {"id": resource_id, "kind": kind, "name": resource_id, **in_file_names(more)}
        names = {"tenant": self.name_of(tenants, tenant.id), "node": self.name_of(nodes, node)}
        with self.desk() as desk:
            RESOURCES.add(desk, {**names, **values, "started": format_utc(since)})
            if until is not None:
                RESOURCES.end(desk, resource_id, format_utc(until))
        return resource_id

    def volume(self, size: int = 1, **more: Any) -> str:
        return self.record("volume", size_gb=size, **more)

    def instance(self, vcpus: int = 1, ram_mb: int = 1024, **more: Any) -> str:
        return self.record("instance", vcpus=vcpus, ram_mb=ram_mb, **more)

    def end(self, resource_id: str, moment: int) -> None:
        with self.desk() as desk:
            RESOURCES.end(desk, resource_id, format_utc(moment))

    def resize(self, resource_id: str, *, node: int | None = None, **changes: Any) -> None:
        place = {} if node is None else {"node": self.name_of(nodes, node)}
        with self.desk() as desk:
            RESOURCES.change(desk, resource_id, place | in_file_names(changes))

    @contextmanager
    def desk(self) -> Iterator[OperatorTransaction]:
        """For a change that everyone has seen when it is over."""
        with operator_transaction(self.engine, actor="tests", now=int(self.clock.now()), force=True) as desk:
            yield desk
        settle(self.folder)

    def name_of(self, table: Table, row_id: int | None) -> str | None:
        with read_only(self.engine).connect() as connection:
            return connection.scalar(select(table.c.name).where(table.c.id == row_id))

    def connect(self) -> Connection:
        return self.engine.connect()

    # What a tenant sees

    def consumption(self, tenant: Tenant = ACME) -> CacheableResult[list[ConsumptionItem]]:
        return run(self.cloud.consumption(tenant))

    def hourly(self, tenant: Tenant = ACME) -> dict[str, Decimal]:
        """What each kind costs per hour."""
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
