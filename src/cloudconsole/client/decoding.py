"""Decode `data` into models: report missing or mistyped fields, preserve unknown ones in `raw`."""

from typing import Any, Final

from msgspec import Struct

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
from cloudconsole.client.values import (
    convert,
    convert_or_none,
    exact_amount,
    exact_sum,
    limit_or_none,
    protocol_error,
    timestamp,
    zone_named,
)
from cloudconsole.spec import records as wire

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
    convert(data, wire.UsageLimits)
    counted: dict[str, Any] = {
        name: Quota(data[used], limit_or_none(data[limit])) for name, (used, limit) in _QUOTAS.items()
    }
    bounds: dict[str, Any] = {name: limit_or_none(data[limit]) for name, limit in _BOUNDS.items()}
    return UsageLimits(**counted, **bounds, raw=data)


def flavors(data: Any) -> Flavors:
    decoded = convert(data, wire.Flavors)
    for vcpus in decoded.limits:
        if not (vcpus.isascii() and vcpus.isdigit() and len(vcpus) < 10):
            raise protocol_error("limits", "a key is not a core count", data)
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
    decoded = convert(data, list[wire.UrlItem])
    return [Url(id=item.id, type=item.type, url=item.url, raw=raw) for item, raw in zip(decoded, data, strict=True)]


def domain(data: Any) -> Domain:
    decoded = convert(data, _AnyDomain)
    enabled = str(decoded.enabled).lower()
    if enabled not in ("true", "false"):
        raise protocol_error("enabled", "neither true nor false", data)
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


def news(data: Any, about: About) -> list[NewsItem]:
    decoded = convert(data, list[wire.NewsItem])
    zone = zone_named(about.time_zone)
    return [
        NewsItem(date=timestamp(item.date, zone, f"[{number}].date", data), title=item.title, url=item.url, raw=raw)
        for number, (item, raw) in enumerate(zip(decoded, data, strict=True))
    ]


def consumption(data: Any, about: About) -> Consumption:
    decoded = convert(data, list[_AnyCost])
    items = tuple(
        Cost(
            res_type=item.res_type,
            **{period: exact_amount(getattr(item, period), f"[{number}].{period}", data) for period in _PERIODS},
            raw=raw,
        )
        for number, (item, raw) in enumerate(zip(decoded, data, strict=True))
    )
    sums = {period: exact_sum(getattr(item, period) for item in items) for period in _PERIODS}
    return Consumption(items=items, total=Cost(res_type="total", **sums, raw={}), currency=about.currency)


def about(data: Any) -> About:
    """Decode as much as possible: the interface does not specify the response of `GET /api/`."""
    if not isinstance(data, dict):
        return About()
    return About(
        actions=tuple(convert_or_none(data.get("actions"), list[str]) or ()),
        regions=tuple(convert_or_none(data.get("regions"), list[str]) or ()),
        currency=convert_or_none(data.get("currency"), str),
        time_zone=convert_or_none(data.get("timeZone"), str),
        month_days=convert_or_none(data.get("monthDays"), int),
        units=convert_or_none(data.get("units"), Units),
        extensions=tuple(convert_or_none(data.get("extensions"), list[str]) or ()),
    )
