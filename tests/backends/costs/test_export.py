"""Exported costs: all tenants, also removed ones, add up to the reports; corrections have no hours."""

import random
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from cloudconsole.backends.costs.export import ExportColumns, ExportedRow, export_month, recorded_tenants
from cloudconsole.backends.costs.reports import RecordedCosts
from cloudconsole.operator.entities import RESOURCES, TENANTS
from cloudconsole.spec.focus import VERSIONS, Issuer
from tests.backends.costs.billing_histories import Operator, Story
from tests.backends.small_cloud import ACME, SmallCloud
from tests.core.test_billing_hours import at
from tests.stores import run


def exported(cloud: SmallCloud, month: str, tenant: str | None = None, zone: str = "UTC") -> list[ExportedRow]:
    async def lines() -> list[ExportedRow]:
        async with cloud.reader.snapshot() as snapshot:
            tenants = await recorded_tenants(snapshot, tenant)
            year, number = map(int, month.split("-"))
            found = export_month(snapshot, (year, number), tenants, int(cloud.clock.moment), ZoneInfo(zone))
            return [line async for line in found]

    return run(lines())


def focus(line: ExportedRow) -> dict[str, str]:
    columns = ExportColumns("focus", Issuer("Example Cloud", "EUR"))
    return dict(zip(columns.names, columns.values(line), strict=True))


@pytest.mark.parametrize("zone_name", ["Europe/Berlin", "Australia/Lord_Howe"])
@pytest.mark.parametrize("page", [3, 1000])
def test_the_billed_cost_of_each_month_equals_the_report(
    cloud: SmallCloud, page: int, zone_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloudconsole.backends.costs.export._ROWS_PER_PAGE", page)
    operator = Operator(cloud, random.Random(zone_name), ZoneInfo(zone_name), at("2026-01-20"))
    for _ in range(60):
        operator.step()
    cloud.clock.moment = operator.now
    costs = RecordedCosts(cloud.reader, cloud.clock, ZoneInfo(zone_name))
    for bill in run(costs.report(ACME)).record:
        rows = [focus(line) for line in exported(cloud, bill.bill_month, zone=zone_name)]
        assert sum(Decimal(row["BilledCost"]) for row in rows) == Decimal(bill.total or 0)
        for row in rows:
            assert row["BillingPeriodStart"] <= row["ChargePeriodStart"] < row["ChargePeriodEnd"]
            assert row["ChargePeriodEnd"] <= row["BillingPeriodEnd"]
            if not row["ChargeClass"]:
                assert Decimal(row["ListUnitPrice"]) * Decimal(row["PricingQuantity"]) == Decimal(row["ListCost"])


def test_a_charge_and_its_correction(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-11-30T19:00:00", "data")
    story.act("2026-12-03T10:20:00", RESOURCES.end, "data", "2026-11-30T20:30:00Z")
    story.cloud.clock.moment = at("2026-12-05")
    (charge,) = map(focus, exported(story.cloud, "2026-11"))
    assert charge == dict.fromkeys(VERSIONS["1.2"], "") | {
        **dict.fromkeys(["BilledCost", "ContractedCost", "EffectiveCost", "ListCost"], "0.50"),
        **dict.fromkeys(["ContractedUnitPrice", "ListUnitPrice"], "0.10"),
        **dict.fromkeys(["PricingCurrencyContractedUnitPrice", "PricingCurrencyListUnitPrice"], "0.10"),
        **dict.fromkeys(["BillingCurrency", "PricingCurrency"], "EUR"),
        **dict.fromkeys(["InvoiceIssuerName", "ProviderName", "PublisherName"], "Example Cloud"),
        **dict.fromkeys(["ConsumedQuantity", "PricingQuantity"], "5.0"),
        **dict.fromkeys(["ConsumedUnit", "PricingUnit"], "Hours"),
        **dict.fromkeys(["RegionId", "RegionName"], "north"),
        **dict.fromkeys(["ResourceId", "ResourceName"], "data"),
        "PricingCurrencyEffectiveCost": "0.50",
        **dict.fromkeys(["BillingAccountId", "BillingAccountName"], "acme"),
        "BillingPeriodStart": "2026-11-01T00:00:00Z",
        "BillingPeriodEnd": "2026-12-01T00:00:00Z",
        "ChargeCategory": "Usage",
        "ChargeDescription": "Cloud disk 10 GB, per hour",
        "ChargeFrequency": "Usage-Based",
        "ChargePeriodStart": "2026-11-30T19:00:00Z",
        "ChargePeriodEnd": "2026-12-01T00:00:00Z",
        "InvoiceId": "acme/2026-11",
        "PricingCategory": "Standard",
        "ResourceType": "Cloud disk",
        "ServiceCategory": "Storage",
        "ServiceName": "Cloud disks",
        "ServiceSubcategory": "Block Storage",
        "SkuId": "volume/10 GB",
        "SkuMeter": "Cloud disk hours",
        "SkuPriceId": "volume/10 GB/north/0.10",
    }
    (correction,) = map(focus, exported(story.cloud, "2026-12"))
    assert (correction["ChargeClass"], correction["BilledCost"]) == ("Correction", "-0.30")
    assert (correction["PricingQuantity"], correction["ListUnitPrice"], correction["SkuId"]) == ("", "", "")
    assert correction["ChargePeriodStart"] == "2026-12-03T10:00:00Z"


def test_removed_tenants_are_exported_under_their_name(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-11-01T00:10:00")
    story.act("2026-11-01T02:10:00", RESOURCES.remove, "v")
    story.cloud.clock.moment = at("2026-11-05")
    before = [focus(line) for line in exported(story.cloud, "2026-11")]
    story.act("2026-11-02", TENANTS.remove, "acme")
    after = exported(story.cloud, "2026-11")
    assert [(line.tenant, line.row.cost) for line in after] == [("acme", 200_000_000)]
    assert list(map(focus, after)) == before
    assert len(exported(story.cloud, "2026-11", "acme")) == 1
    assert exported(story.cloud, "2026-11", "rival") == []


def test_a_name_that_is_used_again_continues_the_account(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-11-01T00:10:00", "first")
    story.act("2026-11-01T02:10:00", RESOURCES.remove, "first")
    story.act("2026-11-02", TENANTS.remove, "acme")
    story.act("2026-11-02", TENANTS.add, {"name": "acme"})
    story.volume("2026-11-03T00:10:00", "second")
    story.cloud.clock.moment = at("2026-11-05")
    rows = [focus(line) for line in exported(story.cloud, "2026-11", "acme")]
    assert [(row["BillingAccountId"], row["ResourceId"]) for row in rows] == [("acme", "first"), ("acme", "second")]
