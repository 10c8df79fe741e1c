"""The price catalog: what is in force, what comes, and when it changes."""

from zoneinfo import ZoneInfo

from cloudconsole.backends.prices import StoredPriceCatalog
from cloudconsole.core.ports import CloudCredentials, Tenant
from cloudconsole.spec.extension_records import PriceItem
from cloudconsole.store.tables import prices
from tests.backends.small_cloud import ACME, NORTH, ONE, SmallCloud, at
from tests.stores import run

FEDERATED = Tenant(3, "user", CloudCredentials("https://identity.example.com/v3", "u", "p", {}, b""))


def catalog(cloud: SmallCloud, tenant: Tenant = ACME, zone: str = "UTC") -> tuple[list[PriceItem], float]:
    found = run(StoredPriceCatalog(cloud.reader, cloud.clock, ZoneInfo(zone)).prices(tenant))
    return found.record, found.expires_at


def summary(items: list[PriceItem]) -> list[tuple[str, str | None, bool]]:
    return [(item.start_at[11:16], item.end_at and item.end_at[11:16], item.in_force) for item in items]


def add(cloud: SmallCloud, start: str | int, **more: object) -> None:
    moment = at(start) if isinstance(start, str) else start
    row = {"kind": "volume", "unit": "gb", "node_id": None, "start": moment, "billionths": ONE, "type": None}
    cloud.insert(prices, row | more)


def test_prices_to_come_follow_the_one_in_force(cloud: SmallCloud) -> None:
    for start in ("13:00", "11:00", "12:30", "10:00"):
        add(cloud, start)
    items, expires_at = catalog(cloud)
    assert summary(items) == [("11:00", "12:30", True), ("12:30", "13:00", False), ("13:00", None, False)]
    assert expires_at == at("12:30")
    cloud.clock.moment = at("12:30")
    assert summary(catalog(cloud)[0]) == [("12:30", "13:00", True), ("13:00", None, False)]


def test_nodes_units_and_kinds_are_ordered(cloud: SmallCloud) -> None:
    add(cloud, "10:00", node_id=NORTH)
    add(cloud, "10:00")
    add(cloud, "10:00", kind="instance", unit="ram_gb")
    add(cloud, "10:00", kind="instance", unit="each")
    items, expires_at = catalog(cloud)
    assert [(item.res_type, item.unit, item.region) for item in items] == [
        ("instance", "each", None),
        ("instance", "ram_gb", None),
        ("volume", "gb", None),
        ("volume", "gb", "north"),
    ]
    assert expires_at == float("inf")


def test_only_tenants_of_a_cloud_have_prices_by_type(cloud: SmallCloud) -> None:
    add(cloud, "10:00", type="ssd", billionths=1)
    add(cloud, "10:00")
    assert [item.type for item in catalog(cloud)[0]] == [None]
    assert [(item.type, item.price) for item in catalog(cloud, FEDERATED)[0]] == [
        (None, "1.00"),
        ("ssd", "0.000000001"),
    ]


def test_times_are_in_the_operators_zone(cloud: SmallCloud) -> None:
    add(cloud, "20:00")
    assert [item.start_at for item in catalog(cloud, zone="Asia/Shanghai")[0]] == ["2026-11-16 04:00:00"]


def test_a_price_of_the_last_year_is_shown(cloud: SmallCloud) -> None:
    add(cloud, 253_402_300_799)
    assert [item.start_at for item in catalog(cloud, zone="Asia/Shanghai")[0]] == ["9999-12-31 07:59:59"]
