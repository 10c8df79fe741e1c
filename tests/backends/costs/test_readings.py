"""Costs of OpenStack projects from readings: what counts, and gaps; a random cloud against a count of every hour."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select

from cloudconsole.backends.costs.export import export_month, recorded_tenants
from cloudconsole.backends.costs.reports import RecordedCosts
from cloudconsole.core.clock import format_utc
from cloudconsole.core.ports import CloudCredentials, Tenant
from cloudconsole.core.resources import Amounts, BillableResource
from cloudconsole.operator.entities import NODES, PRICES
from cloudconsole.operator.errors import OverridableError
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.spec.extension_records import Consumption, Forecast
from cloudconsole.spec.extensions import ConsumptionsParameters, CostExportParameters
from cloudconsole.spec.records import BillableType
from cloudconsole.store.billing import monthly_sums
from cloudconsole.store.billing.readings import Reading, record_reading
from cloudconsole.store.billing.verification import incorrect_record
from cloudconsole.store.tables import billing_entries, nodes, tenants
from tests.backends.small_cloud import ISSUER, SmallCloud
from tests.core.test_billing_hours import at
from tests.stores import run

ENDPOINT = "https://keystone.example:5000"
USER = Tenant(1, "ruth", CloudCredentials(ENDPOINT, "ruth", "p1", {}, b""))
HOUR = 3600
KATHMANDU = ZoneInfo("Asia/Kathmandu")


def hour_of(second: int, zone: tzinfo) -> int:
    offset = datetime.fromtimestamp(second, zone).utcoffset()
    assert offset is not None
    return second - (second + int(offset.total_seconds())) % HOUR


class Project:
    def __init__(self, cloud: SmallCloud, zone: tzinfo = UTC) -> None:
        self.cloud = cloud
        self.zone = zone
        self.costs = RecordedCosts(cloud.reader, cloud.clock, zone, ISSUER)

    def price(self, kind: str, unit: str, price: str, since: int = 0, *, force: bool = True, **more: str) -> None:
        values = {"kind": kind, "unit": unit, "from": format_utc(since), "price": price, **more}
        with operator_transaction(self.cloud.engine, actor="tests", now=int(self.cloud.clock.now()), force=force) as tx:
            PRICES.add(tx, values)

    def read_at(self, moment: int, resources: Iterable[BillableResource], since: int | None = None) -> None:
        since = hour_of(moment, self.zone) - HOUR if since is None else since
        self.cloud.clock.moment = moment
        record_reading(self.cloud.engine, Reading(f"p1@{ENDPOINT}", moment, since, list(resources)), self.zone)

    def read(self, text: str, *resources: BillableResource) -> None:
        self.read_at(at(text), resources)

    def months(self, moment: int | str) -> dict[str, tuple[str | None, bool]]:
        """Return total and completeness of each month with a total."""
        self.cloud.clock.moment = at(moment) if isinstance(moment, str) else moment
        rows = run(self.costs.report(USER)).record
        return {row.bill_month: (row.total, row.is_complete) for row in rows if row.total is not None}

    def forecast(self, text: str) -> Forecast:
        self.cloud.clock.moment = at(text)
        return run(self.costs.forecast(USER)).record

    def rows(self, start: str, end: str, **more: str | int) -> list[Consumption]:
        parameters = {"start_at": datetime.fromisoformat(start).date(), "end_at": datetime.fromisoformat(end).date()}
        return run(self.costs.consumptions(USER, ConsumptionsParameters(**parameters, **more))).record  # type: ignore[arg-type]


def volume(
    resource_id: str = "v", size: int = 10, *, region: str = "west", created: str | None = None, name: str = ""
) -> BillableResource:
    created_at = None if created is None else at(created)
    return BillableResource(region, "volume", resource_id, Amounts(1, size_gb=size), "ssd", None, name, created_at)


def server(created: str, ended: str | None = None) -> BillableResource:
    ended_at = None if ended is None else at(ended)
    return BillableResource("west", "instance", "s", Amounts(1, 1, 1024, 1), "tiny", ended_at, "web", at(created))


@pytest.fixture
def project(cloud: SmallCloud) -> Project:
    cloud.clock.moment = at("2026-10-01")
    project = Project(cloud)
    project.price("volume", "gb", "0.01")
    project.price("instance", "each", "0.50")
    return project


def test_nothing_is_known_without_a_reading(project: Project) -> None:
    assert project.months("2026-11-15") == {}
    assert project.forecast("2026-11-15") == Forecast("2026-11", None, None, None, 0, is_complete=False)
    assert project.rows("2026-11-01", "2026-11-30") == []


def test_a_resource_counts_in_every_hour_it_was_seen_in(project: Project) -> None:
    project.read("2026-11-15T10:00:05", volume())
    project.read("2026-11-15T11:00:05", volume())
    project.read("2026-11-15T12:00:05")
    project.read("2026-11-15T13:00:05")
    assert project.months("2026-11-15T13:30:00") == {"2026-11": ("0.20", False)}


def test_a_resource_counts_from_its_creation_if_the_hour_before_was_read(project: Project) -> None:
    project.read("2026-11-15T10:00:05")
    project.read("2026-11-15T11:00:05", volume(created="2026-11-15T10:20:00"))
    assert project.months("2026-11-15T11:30:00")["2026-11"][0] == "0.20"


@pytest.mark.parametrize("created", ["2026-11-15T08:20:00", "2026-11-15T09:30:00"])
def test_what_was_created_before_the_last_reading_counts_from_the_reading_that_saw_it(
    project: Project, created: str
) -> None:
    project.read("2026-11-15T10:00:05")
    project.read("2026-11-15T11:00:05", volume(created=created))
    assert project.months("2026-11-15T11:30:00")["2026-11"][0] == "0.10"


def test_a_server_counts_to_its_end_and_also_if_no_reading_saw_it_running(project: Project) -> None:
    project.read("2026-11-15T10:00:05")
    short = server("2026-11-15T10:10:00", "2026-11-15T10:50:00")
    project.read("2026-11-15T11:00:05", short)
    project.read("2026-11-15T11:30:00", short)
    project.read("2026-11-15T12:00:05")
    assert project.months("2026-11-15T12:30:00")["2026-11"][0] == "0.50"
    (row,) = project.rows("2026-11-15", "2026-11-15")
    assert (row.name, row.region, row.start_at, row.end_at) == (
        "web",
        "west",
        "2026-11-15 10:00:00",
        "2026-11-15 11:00:00",
    )


@pytest.mark.parametrize(
    ("readings", "hours"),
    [
        # It was deleted while it was read, and is listed again in the next hour.
        ([("09:00:05", None), ("10:00:05", "10:00:07"), ("11:00:05", "10:00:07")], 2),
        # It was deleted softly, and is reclaimed hours later.
        ([("09:00:05", None), ("10:00:05", "09:20:00"), ("11:00:05", ""), ("12:00:05", "11:30:00")], 1),
        # It was not listed for a while, as if its region were gone.
        ([("10:00:05", None), ("10:30:00", ""), ("11:00:05", "10:45:00")], 1),
        ([("10:00:05", None), ("11:00:05", ""), ("12:00:05", "11:30:00")], 2),
        # It is restored after a soft deletion.
        ([("10:00:05", None), ("10:30:00", "10:20:00"), ("10:40:00", None), ("11:00:05", None)], 2),
    ],
)
def test_an_hour_of_a_deleted_server_counts_once(
    project: Project, readings: list[tuple[str, str | None]], hours: int
) -> None:
    for moment, deleted in readings:
        ended = f"2026-11-15T{deleted}" if deleted else None
        listed = [] if deleted == "" else [server("2026-11-15T08:00:00", ended)]
        project.read(f"2026-11-15T{moment}", *listed)
    assert Decimal(project.months("2026-11-15T12:30:00")["2026-11"][0] or 0) == hours * Decimal("0.50")


def test_a_change_of_size_counts_from_the_reading_that_saw_it(project: Project) -> None:
    for moment, size in (("10:00:05", 10), ("11:00:05", 20), ("11:30:00", 30), ("12:00:05", 30)):
        project.read(f"2026-11-15T{moment}", volume(size=size))
    assert project.months("2026-11-15T12:30:00")["2026-11"][0] == "0.70"


def test_hours_without_a_reading_are_a_gap(project: Project) -> None:
    project.read("2026-11-15T10:00:05", volume())
    project.read("2026-11-15T13:10:00", volume())
    assert project.months("2026-11-15T13:30:00") == {"2026-11": ("0.20", False)}
    project.cloud.clock.moment = at("2026-11-15T15:30:00")
    *resource, first, second = project.rows("2026-11-15", "2026-11-15")
    assert [(row.start_at[11:], row.end_at[11:]) for row in resource] == [
        ("10:00:00", "11:00:00"),
        ("13:00:00", "14:00:00"),
    ]
    assert [(row.res_type, row.start_at[11:], row.end_at[11:], row.amount) for row in (first, second)] == [
        ("gap", "11:00:00", "13:00:00", "0.00"),
        ("gap", "14:00:00", "15:00:00", "0.00"),
    ]
    assert project.rows("2026-11-15", "2026-11-15", type="gap") == [first, second]
    assert project.rows("2026-11-15", "2026-11-15", marker=first.id) == [second]
    assert project.rows("2026-11-15", "2026-11-15", limit=3) == [*resource, first]


def test_a_project_that_is_no_longer_read_costs_nothing_more(project: Project) -> None:
    project.read("2026-10-31T23:00:05", volume())
    for moment in ("2026-11-10", "2026-12-10"):
        assert project.months(moment) == {"2026-10": ("0.10", False)}
    project.read("2026-12-10T08:00:05", volume())
    months = project.months("2026-12-10T08:30:00")
    assert months == {"2026-10": ("0.10", False), "2026-12": ("0.10", False)}


def test_a_later_price_for_a_closed_month_changes_only_hours_that_were_read(project: Project) -> None:
    project.read("2026-10-01T00:00:05", volume())
    project.read("2026-10-01T01:00:05", volume())
    project.cloud.clock.moment = at("2026-12-01")
    project.price("volume", "gb", "0.04", since=at("2026-10-01T01:00:00"))
    project.read("2026-12-02T08:00:05")
    assert project.months("2026-12-02T08:30:00") == {"2026-10": ("0.20", False), "2026-12": ("0.30", False)}


def test_a_later_price_counts_in_its_month_though_nothing_was_read_in_it(project: Project) -> None:
    project.read("2026-10-01T00:00:05", volume())
    project.cloud.clock.moment = at("2026-12-05")
    project.price("volume", "gb", "0.04", since=at("2026-10-01"))
    for moment in ("2026-12-06", "2027-02-02T08:30:00"):
        assert project.months(moment) == {"2026-10": ("0.10", False), "2026-12": ("0.30", False)}
        assert run(project.costs.summary(USER, "")).record[-1].amount == "0.40"
        (correction,) = project.rows("2026-12-01", "2026-12-31", type="volume")
        assert (correction.billing_id, correction.amount, correction.remarks) == ("2026-12", "0.30", "price")


def test_only_a_price_for_hours_that_had_one_must_be_forced(project: Project) -> None:
    image = BillableResource("west", "image", "m", Amounts(1, size_gb=1), None, None, "", None)
    project.read("2026-10-01T00:00:05", image)
    project.cloud.clock.moment = at("2026-10-01T02:30:00")
    project.price("image", "gb", "0.04", since=at("2026-10-01"), force=False)
    with pytest.raises(OverridableError, match="2 hours from 2026-10-01 01:00 to now"):
        project.price("image", "gb", "0.05", since=at("2026-10-01T01:00:00"), force=False)


def test_what_has_no_price_costs_nothing_in_any_report_and_leaves_the_forecast_unknown(project: Project) -> None:
    image = BillableResource("west", "image", "i", Amounts(1, size_gb=1), None)
    project.read("2026-11-30T22:00:00", volume(), image)
    project.read("2026-11-30T23:00:00", volume(), image)
    assert project.forecast("2026-11-30T23:30:00") == Forecast("2026-11", "0.20", None, None, 0, is_complete=False)
    assert project.months("2026-11-30T23:30:00") == {"2026-11": ("0.20", False)}
    summary = {row.res_type: row.amount for row in run(project.costs.summary(USER, "")).record}
    assert (summary["image"], summary["allcategories"]) == ("0.00", "0.20")
    assert {row.res_id: row.amount for row in project.rows("2026-11-30", "2026-11-30")} == {"i": "0.00", "v": "0.20"}
    export = run(project.costs.export(USER, CostExportParameters(month="2026-11", format="csv"))).record
    amount = export.columns.index("amount")
    assert [row[amount] for row in export.rows] == ["0.00", "0.20"]
    project.price("image", "gb", "1", since=at("2026-11-30T23:00:00"))
    assert project.forecast("2026-11-30T23:30:00") == Forecast("2026-11", "1.20", "0.00", "1.20", 0, is_complete=False)


@pytest.mark.parametrize("is_removed", [False, True])
def test_a_price_that_changes_after_the_last_reading_of_an_hour_does_not_apply(
    project: Project, is_removed: bool
) -> None:
    project.price("volume", "gb", "0.05", since=at("2026-10-15T10:30:00") - is_removed * HOUR)
    project.read("2026-10-15T10:00:05", volume())
    if is_removed:
        with operator_transaction(project.cloud.engine, actor="tests", now=at("2026-10-15T10:30:00"), force=True) as tx:
            PRICES.remove(tx, "volume/gb/2026-10-15T09:30:00Z")
    expected = "0.50" if is_removed else "0.10"
    for moment in ("2026-10-20", "2026-11-10T10:00:00"):
        assert project.months(moment)["2026-10"][0] == expected
    project.read("2026-11-10T10:00:05", volume())
    assert project.months("2026-11-10T10:30:00")["2026-10"][0] == expected


@pytest.mark.parametrize(("late", "november"), [("2026-10-31T21:00:05", "0.10"), ("2026-10-31T23:59:58", "0.20")])
def test_a_late_reading_changes_no_closed_month(project: Project, late: str, november: str) -> None:
    project.read(f"{late[:13]}:00:01")
    project.cloud.clock.moment = at("2026-11-01T00:00:10")
    project.cloud.volume()
    project.read(late, volume())
    october = project.months("2026-11-01T00:30:00")["2026-10"]
    project.read("2026-11-01T02:00:05", volume())
    assert project.months("2026-11-01T02:30:00") == {"2026-10": october, "2026-11": (november, False)}


def test_a_month_that_was_read_in_every_hour_is_complete(project: Project) -> None:
    for hour in range(3):
        project.read(f"2026-11-01T0{hour}:00:05", volume())
    assert project.months("2026-11-01T02:30:00") == {"2026-11": ("0.30", True)}
    assert project.months("2026-11-01T03:00:00") == {"2026-11": ("0.30", False)}


def test_the_forecast_needs_a_reading_of_this_hour_or_the_one_before(project: Project) -> None:
    project.read("2026-11-30T20:00:05", volume())
    assert project.forecast("2026-11-30T20:30:00") == Forecast("2026-11", "0.10", "0.30", "0.40", 3, is_complete=False)
    assert project.forecast("2026-11-30T21:30:00").total == "0.40"
    assert project.forecast("2026-11-30T22:00:00").total is None
    assert project.forecast("2026-12-01T00:30:00").so_far is None


def test_a_resource_that_reappears_in_the_same_hour_counts_once(project: Project) -> None:
    for moment, seen in (("10:00:05", 1), ("10:20:00", 0), ("10:40:00", 1), ("10:50:00", 0), ("10:55:00", 1)):
        project.read(f"2026-11-15T{moment}", *[volume()] * seen)
    project.read("2026-11-15T11:00:05", volume())
    assert project.months("2026-11-15T11:30:00")["2026-11"][0] == "0.20"


def test_older_readings_and_those_that_do_not_go_back_far_enough_are_ignored(project: Project) -> None:
    project.read("2026-11-15T10:00:05", volume())
    project.read("2026-11-15T10:00:04")
    project.read_at(at("2026-11-15T11:00:01"), [], since=at("2026-11-15T11:00:00"))
    project.read("2026-11-15T11:00:05", volume())
    assert project.months("2026-11-15T11:30:00")["2026-11"][0] == "0.20"


def test_a_renamed_resource_has_its_new_name(project: Project) -> None:
    project.read("2026-11-15T10:00:05", volume(name="old"))
    for name in ("other", "and other"):
        project.read("2026-11-15T10:30:00", volume(name=name))
    for minute in (0, 1):
        project.read(f"2026-11-15T11:{minute:02}:05", volume(name="new"))
    assert [row.name for row in project.rows("2026-11-15", "2026-11-15")] == ["new"]
    with project.cloud.engine.begin() as connection:
        assert len(connection.execute(select(billing_entries)).all()) == 2


def test_a_node_with_the_name_of_a_region_has_its_prices(project: Project) -> None:
    project.read("2026-11-15T10:00:05", volume())
    project.cloud.insert(nodes, {"id": 3, "name": "west"})
    project.price("volume", "gb", "0.05", node="west")
    project.read("2026-11-15T11:00:05", volume())
    assert project.months("2026-11-15T11:30:00")["2026-11"][0] == "0.60"
    assert run(project.costs.summary(USER, "west")).record[-1].amount == "0.60"
    assert run(project.costs.summary(USER, "north")).record[-1].amount == "0.00"
    assert {row.region for row in project.rows("2026-11-15", "2026-11-15")} == {"west"}


def test_an_hour_in_which_a_node_is_renamed_counts_once(project: Project) -> None:
    project.cloud.insert(nodes, {"id": 3, "name": "west"})
    project.read("2026-11-15T10:00:05", volume())
    with operator_transaction(project.cloud.engine, actor="tests", now=at("2026-11-15T10:10:00")) as tx:
        NODES.change(tx, "west", {"name": "far-west"})
    project.read("2026-11-15T10:30:00", volume())
    assert project.months("2026-11-15T10:45:00")["2026-11"][0] == "0.10"


def test_names_that_postgresql_cannot_store_are_replaced(project: Project) -> None:
    project.read("2026-11-15T10:00:05", volume(name="a\0b"))
    assert [row.name for row in project.rows("2026-11-15", "2026-11-15")] == ["a\ufffdb"]


def test_projects_and_tenants_have_records_of_their_own(project: Project) -> None:
    project.cloud.volume(size=7)
    project.read("2026-11-15T10:00:05", volume())
    other = Tenant(1, "ruth", CloudCredentials(ENDPOINT, "ruth", "p2", {}, b""))
    assert [row.total for row in run(project.costs.report(other)).record] == [None] * 12
    assert run(project.costs.summary(USER, "")).record[-1].count == 1
    with project.cloud.engine.begin() as connection:
        assert incorrect_record(connection) == []


@pytest.mark.parametrize("has_tenant", [False, True])
def test_the_operators_export_has_projects_under_the_name_of_their_tenant(project: Project, has_tenant: bool) -> None:
    if has_tenant:
        project.cloud.insert(tenants, {"id": 9, "name": "ruth's", "project": f"p1@{ENDPOINT}"})
    project.read("2026-11-15T10:00:05", volume())

    async def export() -> list[tuple[str, str]]:
        async with project.cloud.reader.snapshot() as snapshot:
            found = await recorded_tenants(snapshot, None)
            now = int(project.cloud.clock.now())
            return [
                (row.tenant, row.row.id.resource_id)
                async for row in export_month(snapshot, (2026, 11), found, now, project.zone)
            ]

    assert run(export()) == [("ruth's" if has_tenant else f"p1@{ENDPOINT}", "v")]


def test_a_federated_tenant_exports_its_project(project: Project) -> None:
    parameters = CostExportParameters(month="2026-11", format="csv")
    assert run(project.costs.export(USER, parameters)).record.rows == []
    project.read("2026-11-15T10:00:05", volume(name="disk"))
    (row,) = run(project.costs.export(USER, parameters)).record.rows
    assert (row[0], row[4], row[-2]) == ("acme", "disk", "0.10")


# A random cloud


@dataclass
class Life:
    region: str
    kind: BillableType
    created: int
    ended: int | None
    sizes: list[tuple[int, int]]

    def seen_at(self, second: int) -> int | None:
        """Return the size at a time, or None if the resource is not there."""
        if not self.created <= second < (self.ended or second + 1):
            return None
        return next(size for since, size in reversed(self.sizes) if since <= second)


@dataclass
class RandomCloud:
    rng: random.Random
    start: int
    end: int
    lives: dict[str, Life] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number in range(25):
            created = self.rng.randrange(self.start - HOUR, self.end)
            seconds = self.rng.choice([60, 1800, HOUR, 5 * HOUR, 40 * HOUR, None])
            kind: BillableType = self.rng.choice(["volume", "instance"])
            sizes = [(created, self.rng.randint(1, 9) if kind == "volume" else 0)]
            if kind == "volume":
                sizes += [(created + HOUR * self.rng.randint(1, 9), self.rng.randint(1, 9))]
            region = self.rng.choice(["north", "west"])
            self.lives[f"r{number}"] = Life(region, kind, created, seconds and created + seconds, sizes)

    def reading(self, second: int, since: int) -> list[BillableResource]:
        found = []
        for name, life in self.lives.items():
            size = life.seen_at(second)
            ended = life.ended if life.kind == "instance" and (life.ended or 0) >= since else None
            if size is None and (ended is None or ended > second):
                continue
            amounts = Amounts(1, 1, 1024, 1) if life.kind == "instance" else Amounts(1, size_gb=size or 0)
            found.append(
                BillableResource(
                    life.region, life.kind, name, amounts, None, None if size is not None else ended, name, life.created
                )
            )
        return found


class HourCount:
    """What counts in each hour, by the published rules."""

    def __init__(self, zone: tzinfo) -> None:
        self.zone = zone
        self.counted: dict[tuple[int, str], tuple[int, str]] = {}
        """Price in billionths and month of the bill, by hour and resource."""
        self.known: set[int] = set()
        self.last: int | None = None
        self.listed: set[str] = set()

    def add(self, second: int, since: int, seen: list[BillableResource]) -> bool:
        hour = hour_of(second, self.zone)
        follows = self.last is not None and hour_of(self.last, self.zone) >= hour - HOUR
        if self.last is not None and (second <= self.last or (follows and self.last < since)):
            return False
        known_from = self.last if follows and self.last is not None else hour
        month = f"{datetime.fromtimestamp(second, self.zone):%Y-%m}"
        listed = self.listed if follows else set()
        for resource in seen:
            created = int(resource.created_at or 0)
            if resource.ended_at is None:
                self.counted[hour, resource.id] = price(resource), month
                first = created if resource.id not in listed and known_from < created else second
                self._fill(resource, first, second, month)
            elif resource.id in listed:
                self._fill(resource, int(resource.ended_at), int(resource.ended_at), month)
            elif resource.ended_at >= known_from:
                self._fill(resource, max(created, known_from), int(resource.ended_at), month)
        self.listed = {resource.id for resource in seen if resource.ended_at is None}
        self.known.add(hour)
        self.last = second
        return True

    def _fill(self, resource: BillableResource, first: int, last: int, month: str) -> None:
        for hour in range(hour_of(first, self.zone), last + 1, HOUR):
            self.counted.setdefault((hour, resource.id), (price(resource), month))

    def months(self) -> dict[str, Decimal]:
        totals: dict[str, Decimal] = {}
        for billionths, month in self.counted.values():
            totals[month] = totals.get(month, Decimal(0)) + Decimal(billionths) / 10**9
        return totals


def price(resource: BillableResource) -> int:
    if resource.kind == "instance":
        return 500_000_000
    return resource.amounts.size_gb * (30_000_000 if resource.region == "north" else 10_000_000)


@pytest.mark.parametrize("many_entries", [5, monthly_sums.MANY_ENTRIES])
@pytest.mark.parametrize("zone", [UTC, KATHMANDU], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_random_readings_cost_what_a_count_of_every_hour_gives(
    project: Project, monkeypatch: pytest.MonkeyPatch, seed: int, zone: tzinfo, many_entries: int
) -> None:
    monkeypatch.setattr(monthly_sums, "MANY_ENTRIES", many_entries)
    rng = random.Random(seed)
    project = Project(project.cloud, zone)
    project.price("volume", "gb", "0.03", node="north")
    # A month that is closed before the readings begin, and one that is closed among them.
    project.read_at(at("2026-09-30T12:00:00"), [])
    start = second = at("2026-10-31T06:00:00") + rng.randrange(HOUR)
    fake = RandomCloud(rng, start, start + 2 * 24 * HOUR)
    oracle = HourCount(zone)
    while second < fake.end:
        since = hour_of(second, zone) - rng.choice([0, HOUR, HOUR])
        seen = fake.reading(second, since)
        oracle.add(second, since, seen)
        project.read_at(second, seen, since)
        hour = hour_of(second, zone)
        second = rng.choice(
            [hour + HOUR + rng.randrange(60)] * 6 + [second + 1, second + 600, hour + rng.randint(1, 5) * HOUR]
        )
        second = max(second, (oracle.last or 0) - 5)
    project.cloud.clock.moment = oracle.last or 0
    found = {month: Decimal(total or 0) for month, (total, _) in project.months(oracle.last or 0).items()}
    found.pop("2026-09")
    assert found == oracle.months()
    rows = project.rows("2026-10-01", "2026-11-30", limit=1000)
    for month, total in oracle.months().items():
        assert sum(Decimal(row.amount) for row in rows if row.billing_id == month) == total
    gaps = project.rows("2026-10-31", "2026-11-30", type="gap", limit=1000)
    missing = set(range(at("2026-10-31", str(zone)), hour_of(oracle.last or 0, zone), HOUR)) - oracle.known
    assert sum(_hours(row) for row in gaps) == len(missing)
    with project.cloud.engine.begin() as connection:
        assert incorrect_record(connection) == []


def _hours(row: Consumption) -> int:
    start, end = (datetime.fromisoformat(text) for text in (row.start_at, row.end_at))
    return int((end - start).total_seconds()) // HOUR
