"""SQLite datasets with a billing record: a year of changes of one tenant, and a few entries of most others."""

import random
import shutil
import time
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, insert, literal, select, update

from bench.datasets import DatasetSpec, SqliteDataset, cached_dataset, sqlite_dataset, tenant_name
from cloudconsole.core.billing import CostKey
from cloudconsole.store import counters
from cloudconsole.store.billing.entries import entry_row
from cloudconsole.store.billing.resources import record_resources
from cloudconsole.store.sql import insert_rows
from cloudconsole.store.sqlite.engine import opened
from cloudconsole.store.tables import billing_entries, billing_state, nodes, price_entries, resources, tenants

VERSION: Final = 1
"""Version of these datasets; increment it to recreate them."""
RESOURCES: Final = 10_000
CHANGES_PER_RESOURCE: Final = 10
YEAR: Final = 365 * 86_400
BATCH: Final = 100
"""Changes that are recorded at the same time."""

RECORDED: Final = tenant_name(0)
"""The tenant with a year of changes."""
UNRECORDED: Final = tenant_name(1)
"""A tenant with the same resources, but without billing entries."""

Resource = dict[str, Any]
_SIZES: Final = (
    {"kind": "instance", "vcpus": 2, "ram_mb": 4096, "disk_gb": 40, "size_gb": 0},
    {"kind": "volume", "vcpus": 0, "ram_mb": 0, "disk_gb": 0, "size_gb": 50},
    {"kind": "image", "vcpus": 0, "ram_mb": 0, "disk_gb": 0, "size_gb": 10},
)


def billing_dataset(count: int) -> SqliteDataset:
    """Return the dataset with this many tenants, created or migrated if necessary, with all sessions just used."""
    spec = DatasetSpec(tenants=count)
    return cached_dataset(f"{spec.name}-billing-v{VERSION}", spec, lambda directory: _create(directory, spec))


def _create(directory: Path, spec: DatasetSpec) -> None:
    shutil.copytree(sqlite_dataset(spec).directory, directory, dirs_exist_ok=True)
    with opened(directory, "cloud") as engine, engine.begin() as connection:
        _fill(connection, int(time.time()))


def _fill(connection: Connection, now: int) -> None:
    began = now - YEAR
    # As if the prices had been known, and changes recorded, for a year.
    connection.execute(update(price_entries).values(known_from=0))
    connection.execute(update(billing_state).values(recording_since=began))
    node_ids = list(connection.scalars(select(nodes.c.id).order_by(nodes.c.id)))
    recorded, unrecorded = (
        connection.execute(select(tenants.c.id).where(tenants.c.name == name)).scalar_one()
        for name in (RECORDED, UNRECORDED)
    )
    changed = _record_year(connection, _resources(recorded, node_ids), began)
    insert_rows(connection, resources, changed)
    insert_rows(connection, resources, ({**row, "id": f"u-{row['id']}", "tenant_id": unrecorded} for row in changed))
    counters.recount_all(connection)
    _record_volumes(connection, node_ids[0], began)


def _resources(tenant_id: int, node_ids: list[int]) -> list[Resource]:
    return [
        {
            "id": f"billed-{index}",
            "tenant_id": tenant_id,
            "name": f"resource {index}",
            "node_id": node_ids[index // len(_SIZES) % len(node_ids)],
            "started_at": 0,
            "ended_at": None,
            **_SIZES[index % len(_SIZES)],
        }
        for index in range(RESOURCES)
    ]


def _record_year(connection: Connection, new: list[Resource], began: int) -> list[Resource]:
    """Start all resources and resize each several times, at random times; return them as they are then."""
    numbers = random.Random(1)
    changes = range(1 + CHANGES_PER_RESOURCE)
    events = sorted((began + numbers.randrange(YEAR), index) for index in range(len(new)) for _ in changes)
    current: list[Resource | None] = [None] * len(new)
    for first in range(0, len(events), BATCH):
        batch = events[first : first + BATCH]
        changed = []
        for moment, index in batch:
            before = current[index]
            after = {**new[index], "started_at": moment} if before is None else _resized(before)
            changed.append((before, after))
            current[index] = after
        record_resources(connection, changed, batch[-1][0], UTC)
    return [row for row in current if row is not None]


def _resized(resource: Resource) -> Resource:
    """Return a resource that is larger by a constant."""
    name = "vcpus" if resource["kind"] == "instance" else "size_gb"
    return {**resource, name: resource[name] + 1}


def _record_volumes(connection: Connection, node_id: int, began: int) -> None:
    """Record a volume of every other tenant that was resized and has ended, with one statement per entry."""
    for row in _volume_entries(CostKey("volume", node_id), began):
        values = {name: literal(value) for name, value in row.items()}
        columns = {**values, "tenant_id": tenants.c.id, "resource_id": literal("volume-of-") + tenants.c.name}
        others = tenants.c.name.startswith("bench-") & tenants.c.name.not_in([RECORDED, UNRECORDED])
        rows = select(*columns.values()).where(others).order_by(tenants.c.id)
        connection.execute(insert(billing_entries).from_select(list(columns), rows))


def _volume_entries(key: CostKey, began: int) -> Iterator[dict[str, Any]]:
    week = 7 * 86_400
    for event, amounts, at in (
        ("start", (1, 0, 0, 10), began + week),
        ("change", (0, 0, 0, 10), began + 20 * week),
        ("end", (-1, 0, 0, -20), began + 40 * week),
    ):
        yield entry_row(0, event, key, amounts, at, at, resource=("", "volume"), is_end=event == "end")
