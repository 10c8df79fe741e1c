"""What a project may use and uses: the figures of each region's services, and the rules by which regions add up."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from cloudconsole.core.resources import UNLIMITED
from cloudconsole.spec.records import UsageLimits

MOST: Final = 2**62
"""No figure of a cloud is larger than what a store can hold."""

Limit = Annotated[int, Meta(ge=UNLIMITED, le=MOST)]
Count = Annotated[int, Meta(ge=0, le=MOST)]

Figures = Mapping[str, int]
"""Some fields of the record, as one region has them."""

_WIRE: Final = {field.name: field.encode_name for field in structs.fields(UsageLimits)}
"""The services call the fields as the record does."""

LEAST: Final = frozenset(
    {"max_security_group_rules", "max_personality", "max_personality_size", "max_image_meta", "max_server_meta"}
)
"""Limits of a single thing, such as a server: what fits in every region is what counts. All others add up."""


class ComputeLimits(Struct, frozen=True, rename=_WIRE):
    """Of Nova's limits, those it is asked for.

    A Nova that has no file injection any more tells no limits of it, so there is nothing to inject; one that tells no
    limit of image metadata holds them to that of servers, as every Nova does. Floating IPs and security groups are
    left out: what Nova says of them is dead.
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
    """Of Cinder's limits, those it is asked for."""

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
    """Of Neutron's quotas with their use, those it is asked for.

    A Neutron without routers or without security groups knows no quota of them, and then there are none; every one
    knows networks, by which an answer that says nothing is told apart from that.
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


def usage_limits(told: Iterable[Figures]) -> UsageLimits:
    """The record over what every service of every region told.

    A service that is in no region leaves its limits and uses at 0: of what is not there, nothing can be had.
    """
    numbers: dict[str, list[int]] = {field: [] for field in _WIRE}
    for figures in told:
        for field, number in figures.items():
            numbers[field].append(number)
    return UsageLimits(
        **{field: least_limits(each) if field in LEAST else sum_limits(each) for field, each in numbers.items()}
    )


def sum_limits(numbers: list[int]) -> int:
    """The sum; unlimited where one of them is."""
    return UNLIMITED if UNLIMITED in numbers else sum(numbers)


def least_limits(numbers: list[int]) -> int:
    """The smallest, of which unlimited is the largest; 0 of none."""
    finite = [number for number in numbers if number != UNLIMITED]
    return min(finite, default=UNLIMITED if numbers else 0)
