"""Exported costs: all tenants, also removed ones, add up to the reports; corrections have no hours."""

import math
import random
from datetime import UTC
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select

from cloudconsole.backends.costs.export import ExportColumns, ExportedRow, export_month, recorded_tenants
from cloudconsole.backends.costs.reports import RecordedCosts
from cloudconsole.core.ports import CloudCredentials, Tenant
from cloudconsole.operator.entities import RESOURCES, TENANTS
from cloudconsole.spec.extensions import CostExportParameters, ExportFormat
from cloudconsole.spec.focus import VERSIONS
from cloudconsole.store.tables import tenants
from tests.backends.costs.billing_histories import Operator, Story
from tests.backends.small_cloud import ACME, ISSUER, RIVAL, SmallCloud
from tests.core.test_billing_hours import at
from tests.stores import run


def exported(cloud: SmallCloud, month: str, tenant: str | None = None, zone: str = "UTC") -> list[ExportedRow]:
    async def lines() -> list[ExportedRow]:
        async with cloud.reader.snapshot() as snapshot:
            named = await recorded_tenants(snapshot, tenant)
            year, number = map(int, month.split("-"))
            found = export_month(snapshot, (year, number), named, int(cloud.clock.moment), ZoneInfo(zone))
            return [line async for line in found]

    return run(lines())


def own_export(cloud: SmallCloud, tenant: Tenant, export_format: ExportFormat, limit: int = 1000) -> list[list[str]]:
    """Columns and all rows of a tenant's own export of November."""
    costs = RecordedCosts(cloud.reader, cloud.clock, UTC, ISSUER)
    found: list[list[str]] = []
    marker: str | None = ""
    while marker is not None:
        page = run(costs.export(tenant, CostExportParameters("2026-11", export_format, limit, marker))).record
        found += page.rows if found else [page.columns, *page.rows]
        marker = page.next_marker
    return found


def focus(line: ExportedRow) -> dict[str, str]:
    columns = ExportColumns("focus", ISSUER)
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
    costs = RecordedCosts(cloud.reader, cloud.clock, ZoneInfo(zone_name), ISSUER)
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
        "ChargeDescription": "Volume 10 GB, per hour",
        "ChargeFrequency": "Usage-Based",
        "ChargePeriodStart": "2026-11-30T19:00:00Z",
        "ChargePeriodEnd": "2026-12-01T00:00:00Z",
        "InvoiceId": "acme/2026-11",
        "PricingCategory": "Standard",
        "ResourceType": "Volume",
        "ServiceCategory": "Storage",
        "ServiceName": "Volumes",
        "ServiceSubcategory": "Block Storage",
        "SkuId": "volume/10 GB",
        "SkuMeter": "Volume hours",
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


@pytest.mark.parametrize("limit", [1, 2, 1000])
@pytest.mark.parametrize("export_format", ["focus", "csv"])
def test_a_tenant_exports_the_same_rows_as_the_operator(story: Story, export_format: ExportFormat, limit: int) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-10-30T19:00:00", "late")
    story.volume("2026-11-01T00:10:00", "data")
    story.act("2026-11-03T10:20:00", RESOURCES.end, "late", "2026-10-30T20:30:00Z")
    story.price("2026-11-04", "0.02", start="2026-11-04T00:00:00Z")
    story.cloud.clock.moment = at("2026-11-05")
    columns = ExportColumns(export_format, ISSUER)
    rows = [columns.values(line) for line in exported(story.cloud, "2026-11", "acme")]
    assert len(rows) == 3
    assert own_export(story.cloud, ACME, export_format, limit) == [columns.names, *rows]
    assert own_export(story.cloud, RIVAL, export_format, limit) == [columns.names]


def test_costs_of_a_removed_tenant_are_not_exported_to_a_new_one_of_its_name(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-11-01T00:10:00", "first")
    story.act("2026-11-01T02:10:00", RESOURCES.remove, "first")
    story.act("2026-11-02", TENANTS.remove, "acme")
    story.act("2026-11-02", TENANTS.add, {"name": "acme"})
    story.cloud.clock.moment = at("2026-11-05")
    with story.cloud.engine.connect() as connection:
        (new_id,) = connection.execute(select(tenants.c.id).where(tenants.c.name == "acme")).one()
    assert len(exported(story.cloud, "2026-11", "acme")) == 1
    assert len(own_export(story.cloud, Tenant(new_id, "acme"), "csv")) == 1


def test_an_export_expires_unless_its_month_is_over(story: Story) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-10-01T00:10:00")
    story.cloud.clock.moment = at("2026-11-05T10:20:00")
    months = ("2026-10", "2026-11", "2026-12")
    expiry = [run(story.costs.export(ACME, CostExportParameters(month))).expires_at for month in months]
    assert expiry == [math.inf, at("2026-11-05T11:00:00"), at("2026-11-05T11:00:00")]


@pytest.mark.parametrize("zone_name", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
@pytest.mark.parametrize("month", ["1970-01", "9998-12"])
def test_the_first_and_last_months_can_be_exported(story: Story, month: str, zone_name: str) -> None:
    story.price("2026-10-01", "0.01")
    story.volume("2026-10-01T00:10:00")
    costs = RecordedCosts(story.cloud.reader, story.cloud.clock, ZoneInfo(zone_name), ISSUER)
    assert run(costs.export(ACME, CostExportParameters(month))).record.rows == []


def test_tenants_of_an_upstream_cloud_export_no_rows(cloud: SmallCloud) -> None:
    credentials = CloudCredentials("http://a/v3", "user", "project", {}, b"")
    (columns,) = own_export(cloud, Tenant(ACME.id, "user", credentials), "csv")
    assert columns[0] == "tenant"
