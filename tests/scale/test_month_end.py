"""Three replicas close a month at once while their connections break: costs are exact, and the month stays closed."""

import asyncio
import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import psycopg
import pytest
from cluster.postgres import PostgresServer
from sqlalchemy import Connection, Engine, delete, event, select
from sqlalchemy.exc import DBAPIError

from cloudconsole.backends.costs.reports import RecordedCosts
from cloudconsole.core.clock import format_utc
from cloudconsole.core.ports import Tenant
from cloudconsole.operator.cloud_file import load
from cloudconsole.operator.entities import PRICES, RESOURCES, ChangeResult
from cloudconsole.operator.errors import OperatorError
from cloudconsole.operator.transaction import OperatorTransaction, operator_transaction
from cloudconsole.spec.extensions import ConsumptionsParameters
from cloudconsole.store import tables
from cloudconsole.store.base import read_only_engine, run_with_reader
from cloudconsole.store.billing import monthly_sums
from cloudconsole.store.billing.entries import open_record
from cloudconsole.store.billing.verification import incorrect_record
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from tests.backends.costs.simulation import Simulation
from tests.backends.small_cloud import ISSUER
from tests.fork_server import MAX_WAIT_SECONDS, fork_context, polls
from tests.harness import FakeClock
from tests.operator.clouds import rows

ZONE: Final = ZoneInfo("Europe/Berlin")
LOADED: Final = int(datetime(2026, 11, 29, 12, 30, tzinfo=ZONE).timestamp())
MONTH_END: Final = int(datetime(2026, 12, 1, tzinfo=ZONE).timestamp())
LATER: Final = MONTH_END + 5400
TENANTS: Final = {"north": "busy", "east": "busy", "south": "idle"}
NODES: Final = ("hk-1", "hk-2")
SHARED: Final = [f"shared-{number}" for number in range(8)]
"""Resources that all writers change."""
REPLICAS: Final = 3
CHANGES: Final = 25
MANY_ENTRIES: Final = 40
"""Busy tenants get sums by month while the writers work."""
FIRST_PRICE: Final = "2026-01-01T00:00:00Z"
CLOUD: Final = {
    "version": 1,
    "nodes": list(NODES),
    "prices": [{"kind": "volume", "unit": "gb", "price": "0.25", "from": FIRST_PRICE}],
    "tenants": [{"name": name, "quotas": {"volumes": -1, "gigabytes": -1}} for name in TENANTS],
}


# A replica, in its own process, with a writer before and one after the end of the month


class Kill(NamedTuple):
    """When the server ends the connection of a transaction."""

    statement: int
    """Before this one, or before the commit if there are fewer."""
    after_commit: bool = False


class KillingEngine:
    """Ends connections of an engine in the middle of transactions, from another connection."""

    def __init__(self, engine: Engine, address: str) -> None:
        self.engine, self._address = engine, address
        self._current = threading.local()
        self._closing_lock = threading.Lock()
        self._has_killed_closing = False
        self.ended: list[int] = []
        """Process ids of the server."""
        event.listen(engine, "before_cursor_execute", self._before_statement)
        event.listen(engine, "commit", self._before_commit)

    @contextmanager
    def killed(self, kill: Kill | None) -> Iterator[None]:
        """Apply to the next transaction of this thread."""
        self._current.kill, self._current.statements, self._current.closes = kill, 0, False
        try:
            yield
        finally:
            self._current.kill, self._current.closes = None, False

    def end_connection(self, pid: int) -> None:
        with psycopg.connect(self._address, autocommit=True) as connection:
            # Returns when the process is gone.
            connection.execute("SELECT pg_terminate_backend(%s, 600000)", [pid])
        self.ended.append(pid)

    def _before_statement(self, connection: Connection, _cursor: Any, statement: str, *_: Any) -> None:
        current = self._current
        if getattr(current, "closes", False) or self._is_due(current):
            current.kill, current.closes = None, False
            self.end_connection(backend_of(connection))
        elif "INSERT INTO billing_closings" in statement:
            with self._closing_lock:
                # The first attempt of each replica to close the month fails.
                current.closes, self._has_killed_closing = not self._has_killed_closing, True
        current.statements = getattr(current, "statements", 0) + 1

    def _before_commit(self, connection: Connection) -> None:
        kill = getattr(self._current, "kill", None)
        if kill is not None and not kill.after_commit:
            self._current.kill = None
            self.end_connection(backend_of(connection))

    @staticmethod
    def _is_due(current: Any) -> bool:
        kill = getattr(current, "kill", None)
        return kill is not None and not kill.after_commit and current.statements >= kill.statement


def backend_of(connection: Connection) -> int:
    driver_connection: Any = connection.connection.driver_connection
    pid: int = driver_connection.info.backend_pid
    return pid


def run_replica(address: str, replica: int, seed: int) -> tuple[list[str], int]:
    """Make changes on both sides of the month's end; return acknowledged ones by actor, and the broken connections."""
    monthly_sums.MANY_ENTRIES = MANY_ENTRIES  # type: ignore[misc] # for sums in a short time
    with PostgresStore(Dsn(address)).opened("cloud") as engine, ThreadPoolExecutor(2) as threads:
        killing = KillingEngine(engine, address)
        sides = {"before": range(MONTH_END - 9, MONTH_END), "after": range(MONTH_END, MONTH_END + 9)}
        writers = [
            threads.submit(write, killing, f"{side}-{replica}", times, random.Random(f"{seed} {side} {replica}"))
            for side, times in sides.items()
        ]
        acknowledged = [actor for writer in writers for actor in writer.result(MAX_WAIT_SECONDS)]
        return acknowledged, len(killing.ended)


def write(killing: KillingEngine, name: str, times: range, rng: random.Random) -> list[str]:
    """Make changes, some of which fail and are repeated or not; return the actors of those that were made."""
    acknowledged: list[str] = []
    for number in range(CHANGES):
        actor, now = f"{name}-{number}", rng.choice(times)
        change = Change(name, number, now, rng)
        for _ in range(3):
            # The first change is made without faults, so that every writer takes part in the race.
            is_killed = number > 0 and rng.random() < 0.3
            kill = Kill(rng.randrange(16), after_commit=rng.random() < 0.2) if is_killed else None
            is_made = attempt(killing, actor, change, kill)
            if is_made:
                acknowledged.append(actor)
            if is_made is not None or rng.random() < 0.4:
                break
    return acknowledged


def attempt(killing: KillingEngine, actor: str, change: "Change", kill: Kill | None) -> bool | None:
    """Return whether something was changed; None if the connection broke before the commit."""
    try:
        with killing.killed(kill):
            with operator_transaction(killing.engine, actor=actor, now=change.now, zone=ZONE, force=True) as tx:
                pid = backend_of(tx.connection)
                done = change.apply(tx)
            if kill is None or not kill.after_commit:
                return done.changed
            killing.end_connection(pid)
    except OperatorError:
        return False
    except DBAPIError:
        pass
    # The outcome is unknown: the audit log has it.
    with read_only_engine(killing.engine).begin() as connection:
        found = connection.scalar(select(tables.operator_audit.c.id).where(tables.operator_audit.c.actor == actor))
    return None if found is None else True


class Change:
    """A random change, which is the same when it is repeated."""

    def __init__(self, writer: str, number: int, now: int, rng: random.Random) -> None:
        self.now = now
        verbs = ["add", "add", "resize", "resize", "resize", "end", "past end", "remove", "price", "price", "no price"]
        self._verb = rng.choice(verbs) if number else "add"
        self._new_id = f"{writer}-{number}"
        self._id = rng.choice([*SHARED, *SHARED, *(f"{writer}-{earlier}" for earlier in range(number))])
        self._tenant = rng.choice([name for name, use in TENANTS.items() if use == "busy"])
        self._values = {"node": rng.choice(NODES), "size": rng.randint(1, 50)}
        self._past = format_utc(now - rng.randrange(7200))
        self._price = f"0.{rng.randrange(1, 10**9):09}"
        self._price_node = rng.choice([*NODES, None])
        self._price_choice = rng.random()

    def apply(self, tx: OperatorTransaction) -> ChangeResult:
        if self._verb == "add":
            named = {"tenant": self._tenant, "id": self._new_id, "kind": "volume", "name": "added"}
            return RESOURCES.add(tx, named | self._values)
        if self._verb == "resize":
            return RESOURCES.change(tx, self._id, self._values)
        if self._verb in ("end", "past end"):
            return RESOURCES.end(tx, self._id, self._past if self._verb == "past end" else None)
        if self._verb == "remove":
            return RESOURCES.remove(tx, self._id)
        return self._change_price(tx)

    def _change_price(self, tx: OperatorTransaction) -> ChangeResult:
        changeable = [record for record in PRICES.list(tx) if record["from"] != FIRST_PRICE]
        if self._verb == "price" and (not changeable or self._price_choice < 0.6):
            node = {"node": self._price_node} if self._price_node else {}
            return PRICES.add(tx, {"kind": "volume", "unit": "gb", "from": self._past, "price": self._price} | node)
        if not changeable:
            raise OperatorError("there is no price to remove")
        key = PRICES.key_of(changeable[int(self._price_choice * len(changeable))])
        return PRICES.remove(tx, key) if self._verb == "no price" else PRICES.change(tx, key, {"price": self._price})


# The costs that follow from the acknowledged changes


def second(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def simulate(tenant: str, changes: list[dict[str, Any]]) -> Simulation:
    """Simulate a tenant from the first price, and the entries of the audit log in the order of commits."""
    simulation = Simulation(ZONE)
    simulation.set_price("volume", None, second(FIRST_PRICE), 250_000_000)
    for entry in changes:
        simulation.now = entry["at"]
        before, after = (json.loads(entry[name] or "null") for name in ("before", "after"))
        entity, _, verb = entry["change"].removesuffix(" (forced)").partition(".")
        record = after or before
        if entity == "price":
            place = "volume", record.get("node"), second(record["from"])
            if verb == "remove":
                simulation.remove_price(*place)
            else:
                simulation.set_price(*place, int(Decimal(record["price"]) * 10**9))
        elif record["tenant"] == tenant:
            name = entry["subject"]
            if verb == "add":
                simulation.add(name, "volume", second(record["started"]), record["node"], record["size"])
            elif verb == "change":
                simulation.resize(name, record["node"], record["size"])
            elif verb == "end":
                simulation.end(name, second(record["ended"]))
            else:
                simulation.remove(name)
    return simulation


def cost_until(simulation: Simulation, moment: int) -> Decimal:
    simulation.now = moment
    return Decimal(simulation.simulated()) / 10**9


# Reports


class Costs(NamedTuple):
    months: dict[str, Decimal]
    rows: dict[str, Decimal]


async def read_costs(address: str, tenant: Tenant) -> Costs:
    """Return the last two months of a tenant as reported, and as sums of their rows."""
    async with run_with_reader(PostgresStore(Dsn(address))) as reader:
        costs = RecordedCosts(reader, FakeClock(LATER), ZONE, ISSUER)
        report = (await costs.report(tenant)).record[-2:]
        sums: dict[str, Decimal] = {}
        for first, last in ((date(2026, 11, 1), date(2026, 11, 30)), (date(2026, 12, 1), date(2026, 12, 31))):
            parameters = ConsumptionsParameters(start_at=first, end_at=last, limit=1000)
            found = (await costs.consumptions(tenant, parameters)).record
            assert len(found) < parameters.limit
            sums[f"{first:%Y-%m}"] = sum((Decimal(row.amount) for row in found), Decimal())
    return Costs({bill.bill_month: Decimal(bill.total or 0) for bill in report}, sums)


def closed_totals(address: str, tenants: list[Tenant]) -> dict[str, Decimal]:
    return {tenant.username: asyncio.run(read_costs(address, tenant)).months["2026-11"] for tenant in tenants}


def watch_closed_month(address: str, engine: Engine, tenants: list[Tenant], done: threading.Event) -> list[Any]:
    """Read the closed month again and again from its closing on."""
    for _ in polls():
        with read_only_engine(engine).begin() as connection:
            if connection.execute(select(tables.billing_closings)).first() is not None:
                break
    found = [closed_totals(address, tenants)]
    while not done.is_set():
        found.append(closed_totals(address, tenants))
    return found


# The test


@pytest.fixture
def address(postgres: PostgresServer, database: str, tmp_path: Path) -> str:
    """The DSN of a store with resources that have run for two days; its writers wait for locks as long as needed."""
    address = postgres.address(database, options="-c lock_timeout=0")
    store = PostgresStore(Dsn(address))
    store.migrate()
    file = tmp_path / "cloud.json"
    file.write_text(json.dumps(CLOUD))
    with store.opened("cloud") as engine:
        load(engine, file, zone=ZONE, now=LOADED, actor="loader")
        for number, name in enumerate([*SHARED, "idle"]):
            tenant = "south" if name == "idle" else ("north", "east")[number % 2]
            values = {"tenant": tenant, "id": name, "kind": "volume", "name": name, "node": NODES[number % 2]}
            with operator_transaction(engine, actor=name, now=LOADED, zone=ZONE) as tx:
                RESOURCES.add(tx, values | {"size": 10 + number})
    return address


@pytest.fixture
def engine(address: str) -> Iterator[Engine]:
    with PostgresStore(Dsn(address)).opened("cloud") as opened:
        yield opened


def race(address: str, engine: Engine, seed: int) -> list[str]:
    """Let all writers of all replicas begin at once; return the actors of acknowledged changes."""
    with ProcessPoolExecutor(REPLICAS, mp_context=fork_context()) as processes:
        with engine.begin() as lock:
            replicas = [processes.submit(run_replica, address, number, seed) for number in range(REPLICAS)]
            waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            for _ in polls():
                if lock.exec_driver_sql(waiting).scalar() == 2 * REPLICAS:
                    break
        results = [replica.result(MAX_WAIT_SECONDS) for replica in replicas]
    assert sum(ended for _, ended in results) > CHANGES
    return [actor for acknowledged, _ in results for actor in acknowledged]


def assert_sums_equal_entries(engine: Engine) -> None:
    """Compare the sums by month with those of all entries."""
    key = "tenant_id", "start", "kind", "node_id", "type"

    def read(connection: Connection) -> list[tuple[Any, ...]]:
        columns = tables.monthly_sums.c
        return [
            tuple(row) for row in connection.execute(select(tables.monthly_sums).order_by(*(columns[n] for n in key)))
        ]

    with engine.connect() as connection, connection.begin() as transaction:
        kept = read(connection)
        summed = {row[0] for row in kept}
        connection.execute(delete(tables.monthly_sums))
        _, calendar = open_record(connection, LATER, ZONE)
        monthly_sums.begin_sums(connection, Counter(summed), set(), calendar)
        assert read(connection) == kept
        transaction.rollback()
    names = {row["id"]: row["name"] for row in rows(engine, tables.tenants)}
    assert {TENANTS[names[tenant_id]] for tenant_id in summed} == {"busy"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_replicas_that_close_a_month_at_once_keep_costs_exact(
    address: str, engine: Engine, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monthly_sums, "MANY_ENTRIES", MANY_ENTRIES)
    tenants = [Tenant(row["id"], row["name"]) for row in rows(engine, tables.tenants)]
    done = threading.Event()
    with PostgresStore(Dsn(address)).opened("cloud") as other, ThreadPoolExecutor(1) as threads:
        watched = threads.submit(watch_closed_month, address, other, tenants, done)
        try:
            acknowledged = race(address, engine, seed)
        finally:
            done.set()
        totals = watched.result(MAX_WAIT_SECONDS)
    closed = totals[0]
    assert all(found == closed for found in totals)
    assert [row["until"] for row in rows(engine, tables.billing_closings)] == [MONTH_END]

    changes = [row for row in rows(engine, tables.operator_audit) if row["actor"] != "loader"]
    made = [row["actor"] for row in changes if row["actor"] not in (*SHARED, "idle")]
    assert sorted(made) == sorted(acknowledged)
    # Replicas recorded changes of the old month before and after it was closed.
    times = [row["at"] for row in changes]
    closing = next(index for index, moment in enumerate(times) if moment >= MONTH_END)
    assert min(times[closing:]) < MONTH_END

    with engine.begin() as connection:
        assert incorrect_record(connection) == []
    assert_sums_equal_entries(engine)
    for tenant in tenants:
        costs = asyncio.run(read_costs(address, tenant))
        assert costs.rows == costs.months
        assert costs.months["2026-11"] == closed[tenant.username]
        assert closed[tenant.username] == cost_until(simulate(tenant.username, changes[:closing]), MONTH_END - 1)
        assert sum(costs.months.values()) == cost_until(simulate(tenant.username, changes), LATER)
