"""Small clouds for the tests, and helpers to load and inspect them."""

from collections import Counter
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, select

from cloudconsole.core.resources import QUOTA_USES
from cloudconsole.operator.cloud_file import CloudFileError, FileProblem, Summary, load
from cloudconsole.operator.cloud_file.loader import read_cloud_file
from cloudconsole.store import tables
from cloudconsole.store.passwords import HASHER

Rows = list[dict[str, Any]]

# Fixed salt: the hashes are part of test ids, which must be the same in all workers of a run.
SECRET_HASH = HASHER.hash("a long secret", salt=b"sixteen bytes ..")
OTHER_HASH = HASHER.hash("another", salt=b"sixteen bytes ..")

HEAD = "version: 1\nnodes: [hk-1, hk-2]\nprices: [{kind: volume, unit: gb, price: 1, from: 2025-01-01}]\n"
"""First three lines of most cloud files in these tests."""

SMALL = f"""\
version: 1
nodes: [hk-1, hk-2]
flavors:
  - {{id: 1, name: m1.tiny, vcpus: 1, ram: 512, disk: 1}}
  - {{id: 2, name: 2C4G40G, vcpus: 2, ram: 4096, disk: 40}}
prices:
  - {{kind: instance, unit: vcpu, price: "0.031", from: 2026-01-01T00:00:00Z}}
  - {{kind: volume, unit: gb, price: 0.00042, from: 2026-01-01T00:00:00Z}}
  - {{kind: volume, unit: gb, node: hk-1, price: 0.0004, from: 2026-01-01T00:00:00Z}}
news:
  - {{id: 1, date: 2026-03-01T08:00:00Z, title: 上线, url: "https://news.example.com/1"}}
urls:
  - {{id: url-ab12cd34, type: link, url: "https://www.example.com/"}}
tenants:
  - name: demo
    quotas: {{instances: 20, cores: -1}}
    accounts:
      - {{username: ann, password_hash: "{SECRET_HASH}"}}
      - {{username: bob, password_hash: "{SECRET_HASH}"}}
    urls:
      - {{id: url-00000001, type: directory, url: "https://files.example.com/"}}
    domains:
      - {{id: 206813, name: www.example.com, serviceAreas: "hk;ov", serviceType: web, cname: c.example.net, status: Up}}
    resources:
      - {{id: i-1, kind: instance, name: web, node: hk-1, vcpus: 2, ram: 4000, disk: 40, started: 2026-02-03T04:05:06Z}}
      - {{id: v-1, kind: volume, name: data, node: hk-1, size: 100, started: 2026-02-03T04:05:06Z}}
      - {{id: v-2, kind: volume, name: old, node: hk-2, size: 10, started: 2026-02-03, ended: 2026-02-04T00:00:00Z}}
      - {{id: k-1, kind: keypair, name: laptop, started: 2026-02-03T04:05:06Z}}
  - name: other
"""


def write(directory: Path, text: str | bytes) -> Path:
    file = directory / "cloud.yaml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def load_text(engine: Engine, folder: Path, text: str | bytes, zone: tzinfo = UTC, *, force: bool = False) -> Summary:
    return load(engine, write(folder, text), zone=zone, now=1_800_000_000, actor="tester", force=force)


def problems_of(directory: Path, text: str | bytes) -> list[FileProblem]:
    try:
        read_cloud_file(write(directory, text), UTC)
    except CloudFileError as error:
        return error.problems
    return []


def rows(engine: Engine, table: Any) -> Rows:
    (found,) = rows_of_all(engine, table)
    return found


def rows_of_all(engine: Engine, *selected: Any) -> list[Rows]:
    """Return the rows of each table, in one transaction: one per table would take most of the tests' time."""
    with engine.begin() as connection:
        return [
            [dict(row) for row in connection.execute(select(table).order_by(*table.primary_key)).mappings()]
            for table in selected
        ]


def contents(engine: Engine) -> dict[str, Rows]:
    """Return every row of the store by table."""
    all_tables = tables.CLOUD.tables
    return dict(zip(all_tables, rows_of_all(engine, *all_tables.values()), strict=True))


def by_name(engine: Engine, table: Any, name: str = "name") -> dict[str, dict[str, Any]]:
    return {row[name]: row for row in rows(engine, table)}


def expected_totals(resources: Rows) -> dict[tuple[int, str, int], tuple[int, ...]]:
    """Return the expected cost totals, computed from the resources alone."""
    counted: dict[tuple[int, str, int], Counter[str]] = {}
    for row in resources:
        if row["ended_at"] is None:
            key = (row["tenant_id"], row["kind"], row["node_id"] or 0)
            gigabytes = row["ram_mb"] // 1024 + (1 if row["ram_mb"] % 1024 else 0)
            counted.setdefault(key, Counter()).update(
                items=1, vcpus=row["vcpus"], ram_mb=row["ram_mb"], ram_gb=gigabytes, size_gb=row["size_gb"]
            )
    return {key: tuple(amounts[name] for name in AMOUNTS) for key, amounts in counted.items()}


def stored_totals(totals: Rows) -> dict[tuple[int, str, int], tuple[int, ...]]:
    """Return the stored cost totals without rows of zeros."""
    stored = {(row["tenant_id"], row["kind"], row["node_id"]): tuple(row[name] for name in AMOUNTS) for row in totals}
    return {key: amounts for key, amounts in stored.items() if any(amounts)}


def expected_usage(resources: Rows) -> dict[int, Counter[str]]:
    """Return the expected quota usage of each tenant, computed from the resources alone."""
    counted: dict[int, Counter[str]] = {}
    for row in resources:
        if row["ended_at"] is None:
            volume_quotas = {"gigabytes": row["size_gb"]} if row["kind"] in ("volume", "snapshot") else {}
            instance_quotas = {"cores": row["vcpus"], "ram": row["ram_mb"]} if row["kind"] == "instance" else {}
            if row["kind"] not in ("image", "loadbalance"):
                used = {f"{row['kind']}s": 1, **volume_quotas, **instance_quotas}
                counted.setdefault(row["tenant_id"], Counter()).update(used)
    return counted


def stored_usage(usage: Rows) -> dict[int, Counter[str]]:
    """Return the stored quota usage without rows of zeros."""
    stored = {row["tenant_id"]: +Counter({name: row[name] for name in QUOTA_USES}) for row in usage}
    return {tenant_id: used for tenant_id, used in stored.items() if used}


def assert_counters_correct(engine: Engine) -> None:
    assert_counters_match(*rows_of_all(engine, tables.resources, tables.totals, tables.usage))


def assert_counters_match(resources: Rows, totals: Rows, usage: Rows) -> None:
    """Check that the counters match the resources and that none of these starts or ends after `settled_at`."""
    assert stored_totals(totals) == expected_totals(resources)
    assert stored_usage(usage) == expected_usage(resources)
    settled_at = {row["tenant_id"]: row["settled_at"] for row in usage}
    for row in resources:
        assert settled_at[row["tenant_id"]] >= (row["started_at"] if row["ended_at"] is None else row["ended_at"])


AMOUNTS = ("items", "vcpus", "ram_mb", "ram_gb", "size_gb")
