"""Limits: the fields used from each service's response, and how regions are combined."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudconsole.backends.openstack.quotas import (
    MINIMUM_FIELDS,
    ComputeLimits,
    NetworkQuotas,
    VolumeLimits,
    least_limits,
    sum_limits,
    usage_limits,
)
from cloudconsole.spec.records import UsageLimits
from tests.backends.openstack.recordings import recorded

LIMITS = st.one_of(st.just(-1), st.integers(0, 2**40))
SEVERAL = st.lists(LIMITS, max_size=6)


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


def test_network_limits_from_nova_are_ignored() -> None:
    obsolete = {
        "maxTotalFloatingIps": 7,
        "totalFloatingIpsUsed": 7,
        "maxSecurityGroups": 7,
        "maxSecurityGroupRules": "?",
    }
    assert compute(**obsolete) == compute()
    assert set(compute().figures()) & set(network().figures()) == set()


def test_nova_without_file_injection_has_zero_personality() -> None:
    newest = msgspec.convert(recorded("nova_limits_newest")["limits"]["absolute"], ComputeLimits).figures()
    assert (newest["max_personality"], newest["max_personality_size"]) == (0, 0)


def test_image_metadata_limit_defaults_to_the_server_limit() -> None:
    assert compute(maxImageMeta=..., maxServerMeta=77).figures()["max_image_meta"] == 77


def test_a_neutron_without_routers_has_no_floating_ips() -> None:
    figures = network(floatingip=...).figures()
    assert (figures["max_total_floating_ips"], figures["total_floating_ips_used"]) == (0, 0)
    assert figures["max_security_groups"] == 10


def test_empty_network_quotas_are_rejected() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({}, NetworkQuotas)


@pytest.mark.parametrize("value", [None, "10", -2, 10.0, 10.5, True, [], {}, 2**63, ...])
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


def test_regions_are_summed_and_unlimited_stays_unlimited() -> None:
    one = usage_limits([compute(maxTotalCores=-1).figures(), compute(maxTotalCores=20, totalCoresUsed=5).figures()])
    assert (one.max_total_cores, one.total_cores_used, one.max_total_instances) == (-1, 7, 20)


def test_per_item_limits_are_the_minimum_over_regions() -> None:
    north = {**compute(maxServerMeta=128, maxPersonality=-1).figures(), **network().figures()}
    south = {**compute(maxServerMeta=64, maxPersonality=3).figures(), "max_security_group_rules": -1}
    record = usage_limits([north, south])
    assert (record.max_server_meta, record.max_personality, record.max_security_group_rules) == (64, 3, 100)


def test_missing_service_has_zero_limits_and_usage() -> None:
    record = usage_limits([compute().figures()])
    assert (record.max_total_volumes, record.total_volumes_used) == (0, 0)
    assert (record.max_total_floating_ips, record.max_security_group_rules) == (0, 0)


@given(SEVERAL, SEVERAL)
def test_sum_of_limits_is_associative_and_commutative(some: list[int], others: list[int]) -> None:
    assert sum_limits([*some, *others]) == sum_limits([sum_limits(some), sum_limits(others)])
    assert sum_limits([*some, *others]) == sum_limits([*others, *some])


@given(SEVERAL.filter(bool), SEVERAL.filter(bool))
def test_minimum_of_limits_is_associative_and_commutative(some: list[int], others: list[int]) -> None:
    assert least_limits([*some, *others]) == least_limits([least_limits(some), least_limits(others)])
    assert least_limits([*some, *others]) == least_limits([*others, *some])


@given(SEVERAL.filter(bool))
def test_minimum_allows_only_what_every_limit_allows(limits: list[int]) -> None:
    def allows(limit: int, amount: int) -> bool:
        return limit == -1 or amount <= limit

    smallest = least_limits(limits)
    for amount in {0, *limits, *(limit + 1 for limit in limits)} - {-1}:
        assert allows(smallest, amount) == all(allows(limit, amount) for limit in limits)


@given(st.lists(st.tuples(LIMITS, st.integers(0, 2**40)), min_size=1, max_size=6))
def test_sum_is_unlimited_only_if_a_region_is(regions: list[tuple[int, int]]) -> None:
    record = usage_limits({"max_total_cores": limit, "total_cores_used": used} for limit, used in regions)
    assert record.total_cores_used == sum(used for _, used in regions)
    assert (record.max_total_cores == -1) == any(limit == -1 for limit, _ in regions)


def test_services_cover_every_field() -> None:
    assert set(UsageLimits.__struct_fields__) >= MINIMUM_FIELDS
    combined = {**compute().figures(), **volume().figures(), **network().figures()}
    assert set(combined) == set(UsageLimits.__struct_fields__)
