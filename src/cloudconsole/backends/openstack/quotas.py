"""Quotas and usage of a project by service and region, and their aggregation over regions."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from cloudconsole.core.resources import UNLIMITED
from cloudconsole.spec.records import UsageLimits

MAX_FIGURE: Final = 2**62
"""The largest accepted figure, which fits in a 64-bit integer."""

Limit = Annotated[int, Meta(ge=UNLIMITED, le=MAX_FIGURE)]
Count = Annotated[int, Meta(ge=0, le=MAX_FIGURE)]

Figures = Mapping[str, int]
"""Some fields of the record for one region."""

_WIRE: Final = {field.name: field.encode_name for field in structs.fields(UsageLimits)}
"""Wire names of the fields, which are those of the services."""

MINIMUM_FIELDS: Final = frozenset(
    {"max_security_group_rules", "max_personality", "max_personality_size", "max_image_meta", "max_server_meta"}
)
"""Limits per resource, such as a server: the minimum over all regions applies. All others are summed."""


class ComputeLimits(Struct, frozen=True, rename=_WIRE):
    """The required limits of Nova.

    Newer versions of Nova have no file injection and omit its limits, which are then 0. Without a limit of image
    metadata, that of servers applies, as in every Nova. Nova's limits of floating IPs and security groups are obsolete
    and ignored.
    """

    max_total_instances: Limit
    total_instances_used: Count
    max_total_cores: Limit
    total_cores_used: Count
    max_total_ram_size: Limit
    total_ram_used: Count
    max_total_keypairs: Limit
    max_server_meta: Limit
    max_image_meta: Limit | UnsetType = UNSET
    max_personality: Limit = 0
    max_personality_size: Limit = 0

    def figures(self) -> Figures:
        image_meta = self.max_server_meta if self.max_image_meta is UNSET else self.max_image_meta
        return structs.asdict(self) | {"max_image_meta": image_meta}


class VolumeLimits(Struct, frozen=True, rename=_WIRE):
    """The required limits of Cinder."""

    max_total_volumes: Limit
    total_volumes_used: Count
    max_total_volume_gigabytes: Limit
    total_gigabytes_used: Count
    max_total_snapshots: Limit
    total_snapshots_used: Count

    def figures(self) -> Figures:
        return structs.asdict(self)


class Quota(Struct, frozen=True):
    limit: Limit
    used: Count


class NetworkQuotas(Struct, frozen=True):
    """The required quotas of Neutron with their usage.

    A Neutron without routers or security groups has no quotas for them, which are then 0. Every Neutron has networks:
    the field is required to detect an empty response.
    """

    network: Quota
    floatingip: Quota = Quota(0, 0)
    security_group: Quota = Quota(0, 0)
    security_group_rule: Quota = Quota(0, 0)

    def figures(self) -> Figures:
        return {
            "max_total_floating_ips": self.floatingip.limit,
            "total_floating_ips_used": self.floatingip.used,
            "max_security_groups": self.security_group.limit,
            "total_security_groups_used": self.security_group.used,
            "max_security_group_rules": self.security_group_rule.limit,
        }


def usage_limits(reported: Iterable[Figures]) -> UsageLimits:
    """Aggregate the figures of all services and regions.

    A service missing in all regions has limits and usage 0.
    """
    numbers: dict[str, list[int]] = {field: [] for field in _WIRE}
    for figures in reported:
        for field, number in figures.items():
            numbers[field].append(number)
    return UsageLimits(
        **{
            field: least_limits(each) if field in MINIMUM_FIELDS else sum_limits(each)
            for field, each in numbers.items()
        }
    )


def sum_limits(numbers: list[int]) -> int:
    """Return the sum, or unlimited if any limit is."""
    return UNLIMITED if UNLIMITED in numbers else sum(numbers)


def least_limits(numbers: list[int]) -> int:
    """Return the minimum, with unlimited as the largest; 0 if there are none."""
    finite = [number for number in numbers if number != UNLIMITED]
    return min(finite, default=UNLIMITED if numbers else 0)
