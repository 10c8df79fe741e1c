"""From `data` as it came to records: whatever is missing or of a wrong type is named, whatever is more is kept."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
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
    Domain,
    Flavor,
    Flavors,
    NewsItem,
    Origin,
    Quota,
    Units,
    Url,
    UsageLimits,
)
from cloudconsole.spec import records as wire

T = TypeVar("T")

_COUNTED: Final = {
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
    """A domain as any console may send it: `enabled` is declared a boolean, but text in the interface's example."""

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
    _checked(data, wire.UsageLimits)
    counted: dict[str, Any] = {name: Quota(data[used], _limit(data[most])) for name, (used, most) in _COUNTED.items()}
    bounds: dict[str, Any] = {name: _limit(data[most]) for name, most in _BOUNDS.items()}
    return UsageLimits(**counted, **bounds, raw=data)


def flavors(data: Any) -> Flavors:
    found = _checked(data, wire.Flavors)
    for vcpus in found.limits:
        if not (vcpus.isascii() and vcpus.isdigit() and len(vcpus) < 10):
            raise _unlike("limits", "a key is no core count", data)
    return Flavors(
        flavors=tuple(
            Flavor(id=each.id, name=each.name, vcpus=each.vcpus, ram=each.ram, disk=each.disk, raw=raw)
            for each, raw in zip(found.flavors, data["flavors"], strict=True)
        ),
        vcpus=tuple(found.configs.vcpus),
        ram=tuple(found.configs.ram),
        limits={int(vcpus): tuple(ram) for vcpus, ram in found.limits.items()},
        raw=data,
    )


def urls(data: Any) -> list[Url]:
    found = _checked(data, list[wire.UrlItem])
    return [Url(id=item.id, type=item.type, url=item.url, raw=raw) for item, raw in zip(found, data, strict=True)]


def domain(data: Any) -> Domain:
    found = _checked(data, _AnyDomain)
    enabled = str(found.enabled).lower()
    if enabled not in ("true", "false"):
        raise _unlike("enabled", "neither true nor false", data)
    origin = found.originConfig
    return Domain(
        id=found.domainId,
        name=found.domainName,
        comment=found.comment,
        service_areas=[area.strip() for area in found.serviceAreas.split(";") if area.strip()],
        service_type=found.serviceType,
        enabled=enabled == "true",
        cname=found.cname,
        status=found.status,
        cache_behaviors=found.cacheBehaviors,
        visit_control_rules=found.visitControlRules,
        origin=Origin(
            ips=tuple(origin.originIps), advanced=origin.advOriginConfigs, domain_name=origin.originDomainName
        ),
        query_string_settings=found.queryStringSettings,
        raw=data,
    )


def news(data: Any, about: About) -> list[NewsItem]:
    found = _checked(data, list[wire.NewsItem])
    zone = _zone(about.time_zone)
    return [
        NewsItem(date=_moment(item.date, zone, number, data), title=item.title, url=item.url, raw=raw)
        for number, (item, raw) in enumerate(zip(found, data, strict=True))
    ]


def consumption(data: Any, about: About) -> Consumption:
    found = _checked(data, list[_AnyCost])
    items = tuple(
        Cost(
            res_type=item.res_type,
            **{period: _amount(getattr(item, period), f"[{number}].{period}", data) for period in _PERIODS},
            raw=raw,
        )
        for number, (item, raw) in enumerate(zip(found, data, strict=True))
    )
    sums = {period: _sum(getattr(item, period) for item in items) for period in _PERIODS}
    return Consumption(items=items, total=Cost(res_type="total", **sums, raw={}), currency=about.currency)


def about(data: Any) -> About:
    """What can be understood of it: the interface leaves open what `GET /api/` answers."""
    if not isinstance(data, dict):
        return About()
    return About(
        actions=tuple(_or_nothing(data.get("actions"), list[str]) or ()),
        regions=tuple(_or_nothing(data.get("regions"), list[str]) or ()),
        currency=_or_nothing(data.get("currency"), str),
        time_zone=_or_nothing(data.get("timeZone"), str),
        month_days=_or_nothing(data.get("monthDays"), int),
        units=_or_nothing(data.get("units"), Units),
    )


def _checked(data: Any, kind: type[T]) -> T:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as problem:
        # Such as: Expected `int`, got `str` - at `$.limits[...][0]`
        why, _, place = str(problem).partition(" - at `")
        path = place.removeprefix("$").removesuffix("`")
        missing = _MISSING.fullmatch(why)
        if missing:
            raise _unlike(f"{path}.{missing[1]}", "it is missing", data) from None
        raise _unlike(path, why, data) from None


def _unlike(path: str, why: str, data: Any) -> ProtocolError:
    field = path.removeprefix(".") or "data"
    return ProtocolError(f"the answer's field {field} is not as the interface has it: {why}", payload=data, field=field)


def _or_nothing(value: Any, kind: type[T]) -> T | None:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None


def _limit(number: int) -> int | None:
    return None if number < 0 else number


def _amount(text: str, path: str, data: Any) -> Decimal:
    if not _DECIMAL.fullmatch(text):
        raise _unlike(path, "no decimal number as text", data)
    return Decimal(text)


def _sum(amounts: Iterable[Decimal]) -> Decimal:
    return reduce(_EXACT.add, amounts, Decimal("0.00"))


def _moment(text: str, zone: tzinfo | None, number: int, data: Any) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=zone)
    except ValueError:
        raise _unlike(f"[{number}].date", "no time such as 2026-01-31 08:00:00", data) from None


def _zone(name: str | None) -> tzinfo | None:
    """None also where this machine knows no such zone."""
    if name == "UTC":
        return UTC
    try:
        return None if name is None else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
