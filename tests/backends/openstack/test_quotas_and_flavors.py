"""Limits and flavors: the fields used from each service's response, and how regions are combined."""

from typing import Any

import msgspec
import pytest

from cloudconsole.backends.openstack.flavors import ListedFlavor, merge_flavors
from cloudconsole.backends.openstack.quotas import (
    ComputeLimits,
    NetworkQuotas,
    VolumeLimits,
    least_limits,
    sum_limits,
    usage_limits,
)
from cloudconsole.spec.records import UsageLimits
from tests.backends.openstack.small_openstack import recorded, recorded_items


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


def test_limits_that_a_service_omits_have_defaults() -> None:
    newest = msgspec.convert(recorded("nova_limits_newest")["limits"]["absolute"], ComputeLimits).figures()
    assert (newest["max_personality"], newest["max_personality_size"]) == (0, 0)
    assert compute(maxImageMeta=..., maxServerMeta=77).figures()["max_image_meta"] == 77
    figures = network(floatingip=..., security_group=..., security_group_rule=...).figures()
    assert figures == dict.fromkeys(figures, 0)


@pytest.mark.parametrize("value", [None, "10", -2, 10.0, True, [], 2**63, ...])
def test_invalid_limit_is_rejected(value: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        compute(maxTotalCores=value)
    with pytest.raises(msgspec.ValidationError):
        network(network=quota(value, 0) if value is not ... else value)


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


# Flavors


def flavor(flavor_id: str, name: str = "m1.small", vcpus: int = 1, ram: int = 2048, disk: int = 20) -> ListedFlavor:
    return ListedFlavor(flavor_id, name, vcpus, ram, disk)


def test_recorded_flavors_are_sorted_by_size_and_keep_their_ids() -> None:
    listed = msgspec.convert(recorded_items("nova_flavors"), list[ListedFlavor])
    record = merge_flavors([listed])
    assert [(each.name, each.vcpus, each.ram, each.disk) for each in record.flavors] == [
        ("m1.tiny", 1, 512, 1),
        ("m1.small", 1, 2048, 20),
        ("m1.medium", 2, 4096, 40),
    ]
    assert {each.id for each in record.flavors} == {each.id for each in listed}
    assert (record.configs.vcpus, record.limits) == ([1, 2], {"1": [512, 2048], "2": [4096]})


@pytest.mark.parametrize("other", [{"vcpus": 2}, {"ram": 4096}, {"disk": 0}, {"name": "small"}])
def test_different_name_or_size_is_a_different_flavor(other: dict[str, Any]) -> None:
    record = merge_flavors([[flavor("first")], [flavor("second", **other)]])
    assert {each.id for each in record.flavors} == {"first", "second"}


def test_disabled_flavor_is_omitted() -> None:
    raw = {"id": "1", "name": "old", "vcpus": 1, "ram": 1, "disk": 0, "OS-FLV-DISABLED:disabled": True}
    assert merge_flavors([[msgspec.convert(raw, ListedFlavor)]]).flavors == []


def test_flavors_are_sorted_by_cores_ram_disk_and_name() -> None:
    mixed = [
        flavor("5", "b"),
        flavor("4", "a"),
        flavor("3", disk=10),
        flavor("2", ram=1024),
        flavor("6", vcpus=2, ram=512),
        flavor("7", vcpus=10, ram=512),
    ]
    assert [each.id for each in merge_flavors([mixed]).flavors] == ["2", "3", "4", "5", "6", "7"]


@pytest.mark.parametrize(
    "malformed", [{"id": ""}, {"id": 7}, {"vcpus": None}, {"ram": -1}, {"disk": "20"}, {"name": None}]
)
def test_malformed_flavor_is_rejected(malformed: dict[str, Any]) -> None:
    raw = {"id": "1", "name": "n", "vcpus": 1, "ram": 1, "disk": 0}
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(raw | malformed, ListedFlavor)
