"""Many who write at once on one PostgreSQL, each in its own process: nothing is lost, and every figure is exact."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from datetime import UTC
from pathlib import Path
from typing import Any, Final

import pytest
from cluster.postgres import PostgresServer
from sqlalchemy import Engine, func, select

from cloudconsole.backends.embedded.cloud import USES, usage_limits
from cloudconsole.core.clock import SystemClock
from cloudconsole.core.resources import QUOTA_DEFAULTS
from cloudconsole.operator import bulk_import
from cloudconsole.operator.bulk_import import LINES_PER_TRANSACTION, import_resources
from cloudconsole.operator.cloud_file import load
from cloudconsole.operator.entities import RESOURCES, ChangeResult
from cloudconsole.operator.errors import OperatorError, OverridableError
from cloudconsole.operator.maintenance.recount import recount
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.store import counters, tables
from cloudconsole.store.base import run_with_reader
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from tests.e2e.processes import command, eventually
from tests.fork_server import WarmProcess, forking
from tests.harness import clean_environment
from tests.operator.clouds import counted_usage, rows

NOW: Final = 1_800_000_000
TENANTS: Final = ("north", "east", "south")
CLOUD: Final = "version: 1\nnodes: [hk-1, hk-2]\n" + (
    "prices: [{kind: volume, unit: gb, price: 1, from: 2025-01-01}]\n"
    "tenants:\n"
    + "".join(f"  - {{name: {name}, quotas: {{volumes: -1, gigabytes: -1, keypairs: -1}}}}\n" for name in TENANTS)
)

Trail = list[tuple[str, str]]
"""What someone was told is done, in order: the change, and of what."""


def line(number: int, of: str) -> dict[str, Any]:
    """One line of a file to import; every seventh will have ended by then."""
    ended = {} if number % 7 else {"ended": "2026-03-01T00:00:00Z"}
    what = {"tenant": TENANTS[number % len(TENANTS)], "id": f"{of}-{number}", "kind": "volume", "name": "imported"}
    return {**what, "node": "hk-1", "size": 1 + number % 9, "started": "2026-02-01T00:00:00Z", **ended}


def write_lines(folder: Path, of: str, count: int) -> Path:
    file = folder / f"{of}.jsonl"
    file.write_text("".join(json.dumps(line(number, of)) + "\n" for number in range(count)))
    return file


@pytest.fixture
def address(postgres: PostgresServer, database: str, tmp_path: Path) -> str:
    """Where a store with a few tenants and nothing of theirs is."""
    address = postgres.address(database)
    PostgresStore(Dsn(address)).migrate()
    file = tmp_path / "cloud.yaml"
    file.write_text(CLOUD)
    load_it(address, file)
    return address


@pytest.fixture
def engine(address: str) -> Iterator[Engine]:
    with PostgresStore(Dsn(address)).opened("cloud") as opened:
        yield opened


# Those who write, each in a process of its own


def load_it(address: str, file: Path) -> Trail:
    with PostgresStore(Dsn(address)).opened("cloud") as engine:
        done = load(engine, file, zone=UTC, now=NOW, actor="loader")
    return [("load", file.name)] if done.changed else []


def import_it(address: str, file: Path) -> Trail:
    bulk_import.LINES_PER_TRANSACTION = 50  # type: ignore[misc] # so that there are many in a short time
    told: Trail = []
    with PostgresStore(Dsn(address)).opened("cloud") as engine, file.open("rb") as source:
        for tally in import_resources(engine, source, file.name, actor=file.stem, clock=SystemClock(), zone=UTC):
            told = [("import", file.name)] * (tally.lines // 50)
    return told


def count_anew(address: str, times: int) -> Trail:
    """Nothing is ever wrong, so there is nothing to tell."""
    with PostgresStore(Dsn(address)).opened("cloud") as engine:
        for _ in range(times):
            assert recount(engine, actor="recounter", now=NOW, zone=UTC) == 0
    return []


def operate(address: str, actor: str, times: int) -> Trail:
    """Resources made, resized, ended and removed; a refusal is one where a load has taken the resource away."""
    chance, told, own = random.Random(actor), Trail(), list[str]()
    with PostgresStore(Dsn(address)).opened("cloud") as engine:
        for number in range(times):
            verb = chance.choice(["add", "add", "change", "end", "remove"]) if own else "add"
            key = f"{actor}-{number}" if verb == "add" else own.pop(chance.randrange(len(own)))
            try:
                with operator_transaction(engine, actor=actor, now=NOW) as desk:
                    done = _VERBS[verb](desk, key, chance)
            except OperatorError:
                continue
            if done.changed:
                told.append((f"resource.{verb}", key))
            if verb in ("add", "change"):
                own.append(key)
    return told


def _add(desk: Any, key: str, chance: random.Random) -> ChangeResult:
    values = {"tenant": chance.choice(TENANTS), "id": key, "kind": "volume", "name": key, "node": "hk-1"}
    return RESOURCES.add(desk, {**values, "size": chance.randrange(1, 99)})


_VERBS: Final[dict[str, Callable[[Any, str, random.Random], ChangeResult]]] = {
    "add": _add,
    "change": lambda desk, key, chance: RESOURCES.change(
        desk, key, {"size": chance.randrange(1, 99), "node": chance.choice(["hk-1", "hk-2"])}
    ),
    "end": lambda desk, key, _chance: RESOURCES.end(desk, key),
    "remove": lambda desk, key, _chance: RESOURCES.remove(desk, key),
}


# What must be true of them


def told_by_the_trail(engine: Engine) -> dict[str, Trail]:
    """What each of them did, in order. A load is told as a whole; what it took away has lines of its own besides."""
    told: dict[str, Trail] = {}
    for row in rows(engine, tables.operator_audit):
        if row["actor"] != "loader" or row["change"] == "load":
            told.setdefault(row["actor"], []).append((row["change"], row["subject"]))
    return told


def replayed(engine: Engine) -> dict[str, tuple[str, int, bool]]:
    """Tenant, size and whether it has ended of every resource that must be there: the trail, line by line."""
    there: dict[str, tuple[str, int, bool]] = {}
    for row in rows(engine, tables.operator_audit):
        after = json.loads(row["after"] or "null")
        if row["change"] == "import":
            first, last = after["lines"]
            lines = (line(number - 1, row["actor"]) for number in range(first, last + 1))
            there |= {each["id"]: (each["tenant"], each["size"], "ended" in each) for each in lines}
        elif row["change"] == "resource.remove":
            del there[row["subject"]]
        elif row["change"].startswith("resource."):
            there[row["subject"]] = (after["tenant"], after["size"], "ended" in after)
    return there


def kept(engine: Engine) -> dict[str, tuple[str, int, bool]]:
    names = {row["id"]: row["name"] for row in rows(engine, tables.tenants)}
    return {
        row["id"]: (names[row["tenant_id"]], row["size_gb"], row["ended_at"] is not None)
        for row in rows(engine, tables.resources)
    }


def answered(address: str, tenant_id: int) -> dict[str, int]:
    """What GetUsageLimits says that a tenant uses."""

    async def ask() -> dict[str, int]:
        async with run_with_reader(PostgresStore(Dsn(address))) as reader:
            record = (await usage_limits(reader, tenant_id, NOW)).record
            return {quota: getattr(record, field) for field, quota in USES.items()}

    return asyncio.run(ask())


def assert_exact(engine: Engine, address: str) -> None:
    """Totals, usage and the action's answer are what the resources add up to."""
    with engine.begin() as connection:
        assert counters.incorrect_counters(connection) == []
    counted = counted_usage(rows(engine, tables.resources))
    for row in rows(engine, tables.tenants):
        uses = counted.get(row["id"], Counter())
        assert answered(address, row["id"]) == {quota: uses[quota] for quota in USES.values()}


def test_many_writers_at_once_lose_nothing_and_count_exactly(address: str, engine: Engine, tmp_path: Path) -> None:
    files = [write_lines(tmp_path, of, 800) for of in ("imported", "brought")]
    with ProcessPoolExecutor(7, mp_context=forking()) as processes:
        works = {
            **{file.stem: processes.submit(import_it, address, file) for file in files},
            **{name: processes.submit(operate, address, name, 40) for name in ("ann", "bob", "cleo")},
            "loader": processes.submit(load_it, address, tmp_path / "cloud.yaml"),
            "recounter": processes.submit(count_anew, address, 5),
        }
        told = {actor: work.result(timeout=240) for actor, work in works.items()}
    # The first load, which made the tenants, is in the trail, too.
    told["loader"].insert(0, ("load", "cloud.yaml"))
    assert told_by_the_trail(engine) == {actor: changes for actor, changes in told.items() if changes}
    assert kept(engine) == replayed(engine)
    assert_exact(engine, address)


def add_some(address: str, of: str, count: int) -> int:
    """How many of them were taken."""
    taken = 0
    with PostgresStore(Dsn(address)).opened("cloud") as engine:
        for number in range(count):
            with suppress(OverridableError), operator_transaction(engine, actor=of, now=NOW) as desk:
                what = {"tenant": "north", "id": f"{of}-{number}", "kind": "security_group", "name": "web"}
                taken += RESOURCES.add(desk, what).changed
    return taken


def test_a_quota_is_never_exceeded_by_those_who_ask_at_once(address: str, engine: Engine) -> None:
    with ProcessPoolExecutor(4, mp_context=forking()) as processes:
        asked = [processes.submit(add_some, address, f"operator-{number}", 6) for number in range(4)]
        taken = sum(work.result(timeout=240) for work in asked)
    assert taken == len(kept(engine)) == QUOTA_DEFAULTS["security_groups"]
    assert_exact(engine, address)


def test_two_imports_of_the_same_file_bring_it_in_once(address: str, engine: Engine, tmp_path: Path) -> None:
    file = write_lines(tmp_path, "imported", 500)
    with ProcessPoolExecutor(2, mp_context=forking()) as processes:
        for work in [processes.submit(import_it, address, file) for _ in range(2)]:
            work.result(timeout=240)
    assert len(kept(engine)) == 500
    assert_exact(engine, address)


def test_a_killed_import_goes_on_where_it_stopped(address: str, engine: Engine, tmp_path: Path) -> None:
    count = 4 * LINES_PER_TRANSACTION
    file = write_lines(tmp_path, "imported", count)
    arguments = ["admin", "import", str(file)]
    with open("/dev/null", "w") as nowhere:  # noqa: PTH123 - it is no file
        process = WarmProcess(arguments, clean_environment(CLOUDCONSOLE_DATABASE=address), stdout=nowhere.fileno())
    eventually(lambda: number_of_resources(engine))
    process.kill()
    process.wait(timeout=60)
    # Whoever comes next waits for what the killed one was in the middle of to be taken back.
    with engine.begin():
        so_far = number_of_resources(engine)
    assert so_far in range(LINES_PER_TRANSACTION, count + 1, LINES_PER_TRANSACTION)
    done = command(*arguments, CLOUDCONSOLE_DATABASE=address)
    assert done.stdout == f"resources: {count - so_far} added, {so_far} already there\n"
    assert number_of_resources(engine) == count
    assert_exact(engine, address)


def number_of_resources(engine: Engine) -> int:
    with engine.execution_options(reads_only=True).connect() as connection:
        return connection.scalar(select(func.count()).select_from(tables.resources)) or 0


def test_who_waits_in_vain_for_others_is_told_so(
    postgres: PostgresServer, database: str, address: str, engine: Engine
) -> None:
    impatient = postgres.address(database, options="-c lock_timeout=100")
    with engine.begin():
        done = command("admin", "recount", CLOUDCONSOLE_DATABASE=impatient)
    words = f"the database {database} on 127.0.0.1 is locked by other writers: try again"
    assert (done.returncode, done.stderr) == (1, f"cloudconsole: {words}\n")
    assert command("admin", "recount", CLOUDCONSOLE_DATABASE=address).returncode == 0
