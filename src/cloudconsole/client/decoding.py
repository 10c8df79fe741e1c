"""Decode `data` into models: report missing or mistyped fields, preserve unknown ones in `raw`."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Context, Decimal
from functools import reduce
from typing import Any, Final, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from msgspec import Struct

from cloudconsole.client.exceptions import ProtocolError
from cloudconsole.client.models import (
    About,
    Consumption,
    Cost,
    CostSummary,
    Domain,
    DomainSummary,
    Estimate,
    Flavor,
    Flavors,
    Forecast,
    MonthlyBill,
    NewsItem,
    Origin,
    Price,
    Quota,
    QuotaNeed,
    ResourceCost,
    Units,
    Url,
    UsageLimits,
)
from cloudconsole.spec import records as wire
from cloudconsole.spec.extension_records import Consumption as WireCost
from cloudconsole.spec.extension_records import ConsumptionSummaryItem, DomainItem, EstimatedItem, PriceItem
from cloudconsole.spec.extension_records import Estimate as WireEstimate
from cloudconsole.spec.extension_records import Forecast as WireForecast
from cloudconsole.spec.extension_records import MonthlyBill as WireBill

T = TypeVar("T")

_QUOTAS: Final = {
    "instances": ("totalInstancesUsed", "maxTotalInstances"),
    "cores": ("totalCoresUsed", "maxTotalCores"),
    "ram": ("totalRAMUsed", "maxTotalRAMSize"),
    "volumes": ("totalVolumesUsed", "maxTotalVolumes"),
    "gigabytes": ("totalGigabytesUsed", "maxTotalVolumeGigabytes"),
    "snapshots": ("totalSnapshotsUsed", "maxTotalSnapshots"),
    "floating_ips": ("totalFloatingIpsUsed", "maxTotalFloatingIps"),
    "security_groups": ("totalSecurityGroupsUsed", "maxSecurityGroups"),
}
_BOUNDS: Final = {
    "security_group_rules": "maxSecurityGroupRules",
    "keypairs": "maxTotalKeypairs",
    "personality": "maxPersonality",
    "personality_size": "maxPersonalitySize",
    "image_meta": "maxImageMeta",
    "server_meta": "maxServerMeta",
}
_PERIODS: Final = ("hour", "day", "month", "year")
_DECIMAL: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)
_EXACT: Final = Context(prec=1000)
_MISSING: Final = re.compile(r"Object missing required field `([^`]*)`")


class _AnyDomain(Struct):
    """A domain as any console may send it: the interface declares `enabled` a boolean, but its example has text."""

    domainId: str  # noqa: N815
    domainName: str  # noqa: N815
    comment: str
    serviceAreas: str  # noqa: N815
    serviceType: str  # noqa: N815
    enabled: bool | str
    cname: str
    status: str
    cacheBehaviors: list[Any]  # noqa: N815
    visitControlRules: list[Any]  # noqa: N815
    originConfig: "_AnyOrigin"  # noqa: N815
    queryStringSettings: str | None  # noqa: N815


class _AnyOrigin(Struct):
    originIps: list[str]  # noqa: N815
    advOriginConfigs: Any  # noqa: N815
    originDomainName: Any  # noqa: N815


class _AnyCost(Struct):
    res_type: str
    hour: str
    day: str
    month: str
    year: str


def as_it_came(data: Any) -> Any:
    return data


def usage_limits(data: Any) -> UsageLimits:
    _convert(data, wire.UsageLimits)
    counted: dict[str, Any] = {name: Quota(data[used], _limit(data[limit])) for name, (used, limit) in _QUOTAS.items()}
    bounds: dict[str, Any] = {name: _limit(data[limit]) for name, limit in _BOUNDS.items()}
    return UsageLimits(**counted, **bounds, raw=data)


def flavors(data: Any) -> Flavors:
    decoded = _convert(data, wire.Flavors)
    for vcpus in decoded.limits:
        if not (vcpus.isascii() and vcpus.isdigit() and len(vcpus) < 10):
            raise _protocol_error("limits", "a key is not a core count", data)
    return Flavors(
        flavors=tuple(
            Flavor(id=each.id, name=each.name, vcpus=each.vcpus, ram=each.ram, disk=each.disk, raw=raw)
            for each, raw in zip(decoded.flavors, data["flavors"], strict=True)
        ),
        vcpus=tuple(decoded.configs.vcpus),
        ram=tuple(decoded.configs.ram),
        limits={int(vcpus): tuple(ram) for vcpus, ram in decoded.limits.items()},
        raw=data,
    )


def urls(data: Any) -> list[Url]:
    decoded = _convert(data, list[wire.UrlItem])
    return [Url(id=item.id, type=item.type, url=item.url, raw=raw) for item, raw in zip(decoded, data, strict=True)]


def domain(data: Any) -> Domain:
    decoded = _convert(data, _AnyDomain)
    enabled = str(decoded.enabled).lower()
    if enabled not in ("true", "false"):
        raise _protocol_error("enabled", "neither true nor false", data)
    origin = decoded.originConfig
    return Domain(
        id=decoded.domainId,
        name=decoded.domainName,
        comment=decoded.comment,
        service_areas=[area.strip() for area in decoded.serviceAreas.split(";") if area.strip()],
        service_type=decoded.serviceType,
        enabled=enabled == "true",
        cname=decoded.cname,
        status=decoded.status,
        cache_behaviors=decoded.cacheBehaviors,
        visit_control_rules=decoded.visitControlRules,
        origin=Origin(
            ips=tuple(origin.originIps), advanced=origin.advOriginConfigs, domain_name=origin.originDomainName
        ),
        query_string_settings=decoded.queryStringSettings,
        raw=data,
    )


def domains(data: Any) -> list[DomainSummary]:
    decoded = _convert(data, list[DomainItem])
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


def prices(data: Any, about: About) -> list[Price]:
    decoded = _convert(data, list[PriceItem])
    zone = _zone(about.time_zone)
    return [
        Price(
            res_type=item.res_type,
            unit=item.unit,
            region=item.region,
            type=item.type,
            price=_amount(item.price, f"[{number}].price", data),
            start=_timestamp(item.start_at, zone, f"[{number}].start_at", data),
            end=None if item.end_at is None else _timestamp(item.end_at, zone, f"[{number}].end_at", data),
            in_force=item.in_force,
            raw=raw,
        )
        for number, (item, raw) in enumerate(zip(decoded, data, strict=True))
    ]


def news(data: Any, about: About) -> list[NewsItem]:
    decoded = _convert(data, list[wire.NewsItem])
    zone = _zone(about.time_zone)
    return [
        NewsItem(date=_timestamp(item.date, zone, f"[{number}].date", data), title=item.title, url=item.url, raw=raw)
        for number, (item, raw) in enumerate(zip(decoded, data, strict=True))
    ]


def consumption(data: Any, about: About) -> Consumption:
    decoded = _convert(data, list[_AnyCost])
    items = tuple(
        Cost(
            res_type=item.res_type,
            **{period: _amount(getattr(item, period), f"[{number}].{period}", data) for period in _PERIODS},
            raw=raw,
        )
        for number, (item, raw) in enumerate(zip(decoded, data, strict=True))
    )
    sums = {period: _sum(getattr(item, period) for item in items) for period in _PERIODS}
    return Consumption(items=items, total=Cost(res_type="total", **sums, raw={}), currency=about.currency)


def estimate(data: Any, about: About) -> Estimate:
    decoded = _convert(data, WireEstimate)
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
                limit=_limit(need.limit),
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
    decoded = _convert(data, list[ConsumptionSummaryItem])
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
    decoded = _convert(data, list[WireCost])
    zone = _zone(about.time_zone)
    return [
        ResourceCost(
            res_type=item.res_type,
            res_id=item.res_id,
            name=item.name,
            region=item.region,
            vcpus=item.res_meta.vcpus,
            memory_gb=item.res_meta.memory_gb,
            size_gb=item.res_meta.size_gb,
            start=_timestamp(item.start_at, zone, f"[{number}].start_at", data),
            end=_timestamp(item.end_at, zone, f"[{number}].end_at", data),
            duration=timedelta(seconds=_seconds(item.cost_time, f"[{number}].cost_time", data)),
            unit_price=_amount(item.unit_price, f"[{number}].unit_price", data),
            amount=_amount(item.amount, f"[{number}].amount", data),
            correction=item.remarks if item.billing_type == "correction" else "",
            month=item.billing_id,
            billing=item.is_billing,
            raw=raw,
        )
        for number, (item, raw) in enumerate(zip(decoded, data, strict=True))
    ]


def _seconds(text: str, path: str, data: Any) -> int:
    if not (text.isascii() and text.isdigit()):
        raise _protocol_error(path, "not a number of seconds", data)
    return int(text)


def monthly_bills(data: Any) -> list[MonthlyBill]:
    decoded = _convert(data, list[WireBill])
    return [
        MonthlyBill(
            month=bill.bill_month,
            total=_amount_or_none(bill.total, f"[{number}].total", data),
            complete=bill.is_complete,
            raw=raw,
        )
        for number, (bill, raw) in enumerate(zip(decoded, data, strict=True))
    ]


def forecast(data: Any, about: About) -> Forecast:
    decoded = _convert(data, WireForecast)
    amounts = {name: _amount_or_none(getattr(decoded, name), name, data) for name in ("so_far", "rest", "total")}
    return Forecast(
        month=decoded.month,
        **amounts,
        hours_left=decoded.hours_left,
        complete=decoded.is_complete,
        currency=about.currency,
        raw=data,
    )


def _amount_or_none(text: str | None, path: str, data: Any) -> Decimal | None:
    return None if text is None else _amount(text, path, data)


def _cost_or_none(res_type: str, amounts: EstimatedItem | WireEstimate, path: str, data: Any) -> Cost | None:
    texts = {period: getattr(amounts, period) for period in _PERIODS}
    if None in texts.values():
        return None
    return Cost(res_type=res_type, **{name: _amount(text, path + name, data) for name, text in texts.items()}, raw={})


def about(data: Any) -> About:
    """Decode as much as possible: the interface does not specify the response of `GET /api/`."""
    if not isinstance(data, dict):
        return About()
    return About(
        actions=tuple(_convert_or_none(data.get("actions"), list[str]) or ()),
        regions=tuple(_convert_or_none(data.get("regions"), list[str]) or ()),
        currency=_convert_or_none(data.get("currency"), str),
        time_zone=_convert_or_none(data.get("timeZone"), str),
        month_days=_convert_or_none(data.get("monthDays"), int),
        units=_convert_or_none(data.get("units"), Units),
        extensions=tuple(_convert_or_none(data.get("extensions"), list[str]) or ()),
    )


def _convert(data: Any, kind: type[T]) -> T:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as problem:
        # Such as: Expected `int`, got `str` - at `$.limits[...][0]`
        why, _, location = str(problem).partition(" - at `")
        path = location.removeprefix("$").removesuffix("`")
        missing = _MISSING.fullmatch(why)
        if missing:
            raise _protocol_error(f"{path}.{missing[1]}", "it is missing", data) from None
        raise _protocol_error(path, why, data) from None


def _protocol_error(path: str, why: str, data: Any) -> ProtocolError:
    field = path.removeprefix(".") or "data"
    return ProtocolError(f"invalid response field {field}: {why}", payload=data, field=field)


def _convert_or_none(value: Any, kind: type[T]) -> T | None:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None


def _limit(number: int) -> int | None:
    return None if number < 0 else number


def _amount(text: str, path: str, data: Any) -> Decimal:
    if not _DECIMAL.fullmatch(text):
        raise _protocol_error(path, "not a decimal number as text", data)
    return Decimal(text)


def _sum(amounts: Iterable[Decimal]) -> Decimal:
    return reduce(_EXACT.add, amounts, Decimal("0.00"))


def _timestamp(text: str, zone: tzinfo | None, path: str, data: Any) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=zone)
    except ValueError:
        raise _protocol_error(path, "not a time such as 2026-01-31 08:00:00", data) from None


def _zone(name: str | None) -> tzinfo | None:
    """Return the time zone, or None if it is unknown on this system."""
    if name == "UTC":
        return UTC
    try:
        return None if name is None else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
