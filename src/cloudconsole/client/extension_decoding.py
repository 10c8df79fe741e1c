"""Decode `data` of extensions into models."""

from datetime import timedelta
from decimal import Decimal
from typing import Any, Final

from cloudconsole.client.extension_models import (
    Announcement,
    CostExport,
    CostSummary,
    DomainSummary,
    Estimate,
    Forecast,
    MonthlyBill,
    Price,
    QuotaNeed,
    ResourceCost,
)
from cloudconsole.client.models import (
    About,
    Cost,
)
from cloudconsole.client.values import convert, exact_amount, limit_or_none, protocol_error, timestamp, zone_named
from cloudconsole.spec.extension_records import Announcement as WireAnnouncement
from cloudconsole.spec.extension_records import Consumption as WireCost
from cloudconsole.spec.extension_records import ConsumptionSummaryItem, DomainItem, EstimatedItem, PriceItem
from cloudconsole.spec.extension_records import CostExport as WireExport
from cloudconsole.spec.extension_records import Estimate as WireEstimate
from cloudconsole.spec.extension_records import Forecast as WireForecast
from cloudconsole.spec.extension_records import MonthlyBill as WireBill

_PERIODS: Final = ("hour", "day", "month", "year")


def domains(data: Any) -> list[DomainSummary]:
    decoded = convert(data, list[DomainItem])
    return [
        DomainSummary(
            id=item.domain_id,
            name=item.domain_name,
            enabled=item.enabled == "true",
            status=item.status,
            service_type=item.service_type,
            raw=raw,
        )
        for item, raw in zip(decoded, data, strict=True)
    ]


def announcements(data: Any, about: About) -> list[Announcement]:
    decoded = convert(data, list[WireAnnouncement])
    zone = zone_named(about.time_zone)
    return [
        Announcement(
            id=item.id,
            date=timestamp(item.date, zone, f"[{number}].date", data),
            title=item.title,
            url=item.url,
            language=item.language,
            pinned=item.pinned,
            raw=raw,
        )
        for number, (item, raw) in enumerate(zip(decoded, data, strict=True))
    ]


def prices(data: Any, about: About) -> list[Price]:
    decoded = convert(data, list[PriceItem])
    zone = zone_named(about.time_zone)
    return [
        Price(
            res_type=item.res_type,
            unit=item.unit,
            region=item.region,
            type=item.type,
            price=exact_amount(item.price, f"[{number}].price", data),
            start=timestamp(item.start_at, zone, f"[{number}].start_at", data),
            end=None if item.end_at is None else timestamp(item.end_at, zone, f"[{number}].end_at", data),
            in_force=item.in_force,
            raw=raw,
        )
        for number, (item, raw) in enumerate(zip(decoded, data, strict=True))
    ]


def estimate(data: Any, about: About) -> Estimate:
    decoded = convert(data, WireEstimate)
    return Estimate(
        items=tuple(
            _cost_or_none(item.res_type, item, f"items[{number}].", data) for number, item in enumerate(decoded.items)
        ),
        total=_cost_or_none("total", decoded, "", data),
        hours=decoded.hours,
        cost=_amount_or_none(decoded.cost, "cost", data),
        quotas=tuple(
            QuotaNeed(
                quota=need.quota,
                limit=limit_or_none(need.limit),
                used=need.used,
                free=need.free,
                needed=need.needed,
                lacking=need.lacking,
            )
            for need in decoded.quotas
        ),
        fits=decoded.fits,
        currency=about.currency,
        raw=data,
    )


def cost_summary(data: Any) -> list[CostSummary]:
    decoded = convert(data, list[ConsumptionSummaryItem])
    return [
        CostSummary(
            res_type=item.res_type,
            count=item.count,
            amount=_amount_or_none(item.amount, f"[{number}].amount", data),
            raw=raw,
        )
        for number, (item, raw) in enumerate(zip(decoded, data, strict=True))
    ]


def costs(data: Any, about: About) -> list[ResourceCost]:
    decoded = convert(data, list[WireCost])
    zone = zone_named(about.time_zone)
    return [
        ResourceCost(
            res_type=item.res_type,
            res_id=item.res_id,
            name=item.name,
            region=item.region,
            vcpus=item.res_meta.vcpus,
            memory_gb=item.res_meta.memory_gb,
            size_gb=item.res_meta.size_gb,
            start=timestamp(item.start_at, zone, f"[{number}].start_at", data),
            end=timestamp(item.end_at, zone, f"[{number}].end_at", data),
            duration=timedelta(seconds=_seconds(item.cost_time, f"[{number}].cost_time", data)),
            unit_price=exact_amount(item.unit_price, f"[{number}].unit_price", data),
            amount=exact_amount(item.amount, f"[{number}].amount", data),
            correction=item.remarks if item.billing_type == "correction" else "",
            month=item.billing_id,
            billing=item.is_billing,
            raw=raw,
        )
        for number, (item, raw) in enumerate(zip(decoded, data, strict=True))
    ]


def _seconds(text: str, path: str, data: Any) -> int:
    if not (text.isascii() and text.isdigit()):
        raise protocol_error(path, "not a number of seconds", data)
    return int(text)


def monthly_bills(data: Any) -> list[MonthlyBill]:
    decoded = convert(data, list[WireBill])
    return [
        MonthlyBill(
            month=bill.bill_month,
            total=_amount_or_none(bill.total, f"[{number}].total", data),
            corrections=_amount_or_none(bill.corrections, f"[{number}].corrections", data),
            complete=bill.is_complete,
            raw=raw,
        )
        for number, (bill, raw) in enumerate(zip(decoded, data, strict=True))
    ]


def forecast(data: Any, about: About) -> Forecast:
    decoded = convert(data, WireForecast)
    amounts = {name: _amount_or_none(getattr(decoded, name), name, data) for name in ("so_far", "rest", "total")}
    return Forecast(
        month=decoded.month,
        **amounts,
        hours_left=decoded.hours_left,
        complete=decoded.is_complete,
        currency=about.currency,
        raw=data,
    )


def cost_export(data: Any, previous: CostExport | None = None) -> CostExport:
    """Decode a page after the previous one."""
    decoded = convert(data, WireExport)
    columns = tuple(decoded.columns)
    if previous is not None and columns != previous.columns:
        raise protocol_error("columns", "not those of the previous page", data)
    if previous is not None and decoded.next_marker == previous.raw["next_marker"]:
        raise protocol_error("next_marker", "the console repeats a page", data)
    for number, row in enumerate(decoded.rows):
        if len(row) != len(columns):
            raise protocol_error(f"rows[{number}]", "has not one value for each column", data)
    return CostExport(columns=columns, rows=tuple(map(tuple, decoded.rows)), raw=data)


def _amount_or_none(text: str | None, path: str, data: Any) -> Decimal | None:
    return None if text is None else exact_amount(text, path, data)


def _cost_or_none(res_type: str, amounts: EstimatedItem | WireEstimate, path: str, data: Any) -> Cost | None:
    texts = {period: getattr(amounts, period) for period in _PERIODS}
    if None in texts.values():
        return None
    return Cost(
        res_type=res_type, **{name: exact_amount(text, path + name, data) for name, text in texts.items()}, raw={}
    )
