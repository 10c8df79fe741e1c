"""Limits: the fields used from each service's response, and how regions are combined."""

from typing import Any

import msgspec
import pytest

from cloudconsole.backends.openstack.quotas import (
    ComputeLimits,
    NetworkQuotas,
    VolumeLimits,
    least_limits,
    sum_limits,
    usage_limits,
)
from cloudconsole.spec.records import UsageLimits
from tests.backends.openstack.recordings import recorded


def compute(**changes: Any) -> ComputeLimits:
    absolute = recorded("nova_limits")["limits"]["absolute"] | changes
    return msgspec.convert({name: value for name, value in absolute.items() if value is not ...}, ComputeLimits)


def volume(**changes: Any) -> VolumeLimits:
    return msgspec.convert(recorded("cinder_limits")["limits"]["absolute"] | changes, VolumeLimits)


def network(**changes: Any) -> NetworkQuotas:
    quota = recorded("neutron_quota_details")["quota"] | changes
    return msgspec.convert({name: value for name, value in quota.items() if value is not ...}, NetworkQuotas)


def quota(limit: Any, used: Any) -> dict[str, Any]:
    return {"limit": limit, "used": used, "reserved": 0}


# Responses


def test_each_field_comes_from_its_service() -> None:
    record = usage_limits([compute().figures(), volume().figures(), network().figures()])
    assert record == UsageLimits(
        *(10, 2, 20, 2, 51200, 2560),
        *(10, 3, 1000, 6, 10, 0),
        *(50, 0, 10, 1, 100),
        *(100, 5, 10240, 128, 128),
    )


def test_nova_without_file_injection_has_zero_personality() -> None:
    newest = msgspec.convert(recorded("nova_limits_newest")["limits"]["absolute"], ComputeLimits).figures()
    assert (newest["max_personality"], newest["max_personality_size"]) == (0, 0)


def test_image_metadata_limit_defaults_to_the_server_limit() -> None:
    assert compute(maxImageMeta=..., maxServerMeta=77).figures()["max_image_meta"] == 77


def test_a_neutron_without_routers_or_security_groups_has_none() -> None:
    figures = network(floatingip=..., security_group=..., security_group_rule=...).figures()
    assert figures == dict.fromkeys(figures, 0)


def test_empty_network_quotas_are_rejected() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({}, NetworkQuotas)


@pytest.mark.parametrize("value", [None, "10", -2, 10.0, True, [], 2**63, ...])
def test_invalid_limit_is_rejected(value: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        compute(maxTotalCores=value)
    with pytest.raises(msgspec.ValidationError):
        network(network=quota(value, 0) if value is not ... else {})


@pytest.mark.parametrize("value", [None, "10", -1, 10.0, True])
def test_invalid_usage_count_is_rejected(value: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        volume(totalVolumesUsed=value)
    with pytest.raises(msgspec.ValidationError):
        network(floatingip=quota(10, value))


# Regions


def test_limits_per_item_are_the_minimum_over_regions_and_others_are_summed() -> None:
    north = {**compute(maxServerMeta=128, maxTotalCores=-1).figures(), **network().figures()}
    south = {**compute(maxServerMeta=64, totalCoresUsed=5).figures(), "max_security_group_rules": -1}
    record = usage_limits([north, south])
    assert (record.max_total_cores, record.total_cores_used, record.max_total_instances) == (-1, 7, 20)
    assert (record.max_server_meta, record.max_personality, record.max_security_group_rules) == (64, 5, 100)
    assert (record.max_total_volumes, record.total_volumes_used) == (0, 0)


@pytest.mark.parametrize(
    ("limits", "total", "least"),
    [([], 0, 0), ([0, 5], 5, 0), ([7, 5, 6], 18, 5), ([-1, 5, 3], -1, 3), ([5, -1], -1, 5), ([-1, -1], -1, -1)],
)
def test_sum_is_unlimited_if_any_limit_is_and_minimum_if_all_are(limits: list[int], total: int, least: int) -> None:
    assert (sum_limits(limits), least_limits(limits)) == (total, least)
