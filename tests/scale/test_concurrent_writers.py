"""Concurrent writers in separate processes on one PostgreSQL: nothing is lost, and all counters are exact."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from datetime import UTC
from pathlib import Path
from typing import Any, Final

import pytest
from cluster.postgres import PostgresServer
from sqlalchemy import Engine

from cloudconsole.backends.embedded.cloud import USES, usage_limits
from cloudconsole.core.clock import SystemClock
from cloudconsole.core.resources import QUOTA_DEFAULTS
from cloudconsole.operator import bulk_import
from cloudconsole.operator.bulk_import import import_resources
from cloudconsole.operator.cloud_file import load
from cloudconsole.operator.entities import RESOURCES, ChangeResult
from cloudconsole.operator.entities.resources import recount
from cloudconsole.operator.errors import OperatorError, OverridableError
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.store import counters, tables
from cloudconsole.store.base import run_with_reader
from cloudconsole.store.billing.verification import incorrect_record
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from tests.e2e.processes import command
from tests.fork_server import fork_context
from tests.operator.clouds import expected_usage, rows

NOW: Final = 1_800_000_000
TENANTS: Final = ("north", "east", "south")
CLOUD: Final = "version: 1\nnodes: [hk-1, hk-2]\n" + (
    "prices: [{kind: volume, unit: gb, price: 1, from: 2025-01-01}]\n"
    "tenants:\n"
    + "".join(f"  - {{name: {name}, quotas: {{volumes: -1, gigabytes: -1, keypairs: -1}}}}\n" for name in TENANTS)
)

AuditEntries = list[tuple[str, str]]
"""Acknowledged changes in order: the change and its subject."""


def import_line(number: int, source: str) -> dict[str, Any]:
    """Return one entry of an import file; every seventh resource has ended."""
    ended = {} if number % 7 else {"ended": "2026-03-01T00:00:00Z"}
    tenant = TENANTS[number % len(TENANTS)]
    values = {"tenant": tenant, "id": f"{source}-{number}", "kind": "volume", "name": "imported"}
    return {**values, "node": "hk-1", "size": 1 + number % 9, "started": "2026-02-01T00:00:00Z", **ended}


def write_lines(directory: Path, source: str, count: int) -> Path:
    file = directory / f"{source}.jsonl"
    file.write_text("".join(json.dumps(import_line(number, source)) + "\n" for number in range(count)))
    return file


@pytest.fixture
def address(postgres: PostgresServer, database: str, tmp_path: Path) -> str:
    """The DSN of a store with a few tenants without resources."""
    address = postgres.address(database)
    PostgresStore(Dsn(address)).migrate()
    file = tmp_path / "cloud.yaml"
    file.write_text(CLOUD)
    load_file(address, file)
    return address


@pytest.fixture
def engine(address: str) -> Iterator[Engine]:
    with PostgresStore(Dsn(address)).opened("cloud") as opened:
        yield opened


# Writers, each in its own process


def load_file(address: str, file: Path) -> AuditEntries:
    with PostgresStore(Dsn(address)).opened("cloud") as engine:
        done = load(engine, file, zone=UTC, now=NOW, actor="loader")
    return [("load", file.name)] if done.changed else []


def import_file(address: str, file: Path) -> AuditEntries:
    bulk_import.LINES_PER_TRANSACTION = 50  # type: ignore[misc] # for many transactions in a short time
    entries: AuditEntries = []
    with PostgresStore(Dsn(address)).opened("cloud") as engine, file.open("rb") as source:
        for tally in import_resources(engine, source, file.name, actor=file.stem, clock=SystemClock(), zone=UTC):
            entries = [("import", file.name)] * (tally.lines // 50)
    return entries


def recount_repeatedly(address: str, times: int) -> AuditEntries:
    """Recount; the counters are always correct, so nothing changes."""
    with PostgresStore(Dsn(address)).opened("cloud") as engine:
        for _ in range(times):
            assert recount(engine, actor="recounter", now=NOW, zone=UTC) == 0
    return []


def change_resources(address: str, actor: str, times: int) -> AuditEntries:
    """Add, resize, end and remove resources; a change fails if a load has removed the resource."""
    rng, entries, keys = random.Random(actor), AuditEntries(), list[str]()
    with PostgresStore(Dsn(address)).opened("cloud") as engine:
        for number in range(times):
            verb = rng.choice(["add", "add", "change", "end", "remove"]) if keys else "add"
            key = f"{actor}-{number}" if verb == "add" else keys.pop(rng.randrange(len(keys)))
            try:
                with operator_transaction(engine, actor=actor, now=NOW) as transaction:
                    done = change_resource(transaction, verb, key, rng)
            except OperatorError:
                continue
            if done.changed:
                entries.append((f"resource.{verb}", key))
            if verb in ("add", "change"):
                keys.append(key)
    return entries


def change_resource(transaction: Any, verb: str, key: str, rng: random.Random) -> ChangeResult:
    values = {"size": rng.randrange(1, 99), "node": rng.choice(["hk-1", "hk-2"])}
    if verb == "add":
        return RESOURCES.add(
            transaction, {"tenant": rng.choice(TENANTS), "id": key, "kind": "volume", "name": key, **values}
        )
    if verb == "change":
        return RESOURCES.change(transaction, key, values)
    return (RESOURCES.end if verb == "end" else RESOURCES.remove)(transaction, key)


# Invariants


def audit_entries_by_actor(engine: Engine) -> dict[str, AuditEntries]:
    """Return the changes of each actor in order; of a load only its main entry, not those of removed resources."""
    entries: dict[str, AuditEntries] = {}
    for row in rows(engine, tables.operator_audit):
        if row["actor"] != "loader" or row["change"] == "load":
            entries.setdefault(row["actor"], []).append((row["change"], row["subject"]))
    return entries


def replayed(engine: Engine) -> dict[str, tuple[str, int, bool]]:
    """Replay the audit log; return tenant, size and whether it has ended of every expected resource."""
    expected: dict[str, tuple[str, int, bool]] = {}
    for row in rows(engine, tables.operator_audit):
        after = json.loads(row["after"] or "null")
        if row["change"] == "import":
            first, last = after["lines"]
            lines = (import_line(number - 1, row["actor"]) for number in range(first, last + 1))
            expected |= {each["id"]: (each["tenant"], each["size"], "ended" in each) for each in lines}
        elif row["change"] == "resource.remove":
            del expected[row["subject"]]
        elif row["change"].startswith("resource."):
            expected[row["subject"]] = (after["tenant"], after["size"], "ended" in after)
    return expected


def stored_resources(engine: Engine) -> dict[str, tuple[str, int, bool]]:
    names = {row["id"]: row["name"] for row in rows(engine, tables.tenants)}
    return {
        row["id"]: (names[row["tenant_id"]], row["size_gb"], row["ended_at"] is not None)
        for row in rows(engine, tables.resources)
    }


def reported_usage(address: str, tenant_id: int) -> dict[str, int]:
    """Return the usage of a tenant according to GetUsageLimits."""

    async def read() -> dict[str, int]:
        async with run_with_reader(PostgresStore(Dsn(address))) as reader:
            record = (await usage_limits(reader, tenant_id, NOW)).record
            return {quota: getattr(record, field) for field, quota in USES.items()}

    return asyncio.run(read())


def assert_exact(engine: Engine, address: str) -> None:
    """Check that totals, usage and the response of the action match the resources."""
    with engine.begin() as connection:
        assert counters.incorrect_counters(connection) == []
        assert incorrect_record(connection) == []
    counted = expected_usage(rows(engine, tables.resources))
    for row in rows(engine, tables.tenants):
        uses = counted.get(row["id"], Counter())
        assert reported_usage(address, row["id"]) == {quota: uses[quota] for quota in USES.values()}


def test_concurrent_writers_lose_nothing_and_count_exactly(address: str, engine: Engine, tmp_path: Path) -> None:
    files = [write_lines(tmp_path, source, 800) for source in ("imported", "brought")]
    with ProcessPoolExecutor(7, mp_context=fork_context()) as processes:
        tasks = {
            **{file.stem: processes.submit(import_file, address, file) for file in files},
            **{name: processes.submit(change_resources, address, name, 40) for name in ("ann", "bob", "cleo")},
            "loader": processes.submit(load_file, address, tmp_path / "cloud.yaml"),
            "recounter": processes.submit(recount_repeatedly, address, 5),
        }
        entries = {actor: work.result(timeout=240) for actor, work in tasks.items()}
    # The audit log also has the first load, which created the tenants.
    entries["loader"].insert(0, ("load", "cloud.yaml"))
    assert audit_entries_by_actor(engine) == {actor: changes for actor, changes in entries.items() if changes}
    assert stored_resources(engine) == replayed(engine)
    assert_exact(engine, address)


def add_resources(address: str, actor: str, count: int) -> int:
    """Add security groups; return how many were accepted."""
    added = 0
    with PostgresStore(Dsn(address)).opened("cloud") as engine:
        for number in range(count):
            with suppress(OverridableError), operator_transaction(engine, actor=actor, now=NOW) as transaction:
                values = {"tenant": "north", "id": f"{actor}-{number}", "kind": "security_group", "name": "web"}
                added += RESOURCES.add(transaction, values).changed
    return added


def test_concurrent_changes_never_exceed_a_quota(address: str, engine: Engine) -> None:
    with ProcessPoolExecutor(4, mp_context=fork_context()) as processes:
        additions = [processes.submit(add_resources, address, f"operator-{number}", 6) for number in range(4)]
        added = sum(work.result(timeout=240) for work in additions)
    assert added == len(stored_resources(engine)) == QUOTA_DEFAULTS["security_groups"]
    assert_exact(engine, address)


def test_concurrent_imports_of_one_file_add_it_once(address: str, engine: Engine, tmp_path: Path) -> None:
    file = write_lines(tmp_path, "imported", 500)
    with ProcessPoolExecutor(2, mp_context=fork_context()) as processes:
        for work in [processes.submit(import_file, address, file) for _ in range(2)]:
            work.result(timeout=240)
    assert len(stored_resources(engine)) == 500
    assert_exact(engine, address)


def test_lock_timeout_is_reported(postgres: PostgresServer, database: str, address: str, engine: Engine) -> None:
    short_timeout = postgres.address(database, options="-c lock_timeout=100")
    with engine.begin():
        done = command("admin", "recount", CLOUDCONSOLE_DATABASE=short_timeout)
    message = f"the database {database} on 127.0.0.1 is locked by other writers: try again"
    assert (done.returncode, done.stderr) == (1, f"cloudconsole: {message}\n")
    assert command("admin", "recount", CLOUDCONSOLE_DATABASE=address).returncode == 0
