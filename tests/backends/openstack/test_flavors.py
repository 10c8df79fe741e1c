"""Merging the flavors of several regions: equality, ids and order."""

from typing import Any

import msgspec
import pytest

from cloudconsole.backends.openstack.flavors import ListedFlavor, merge_flavors
from tests.backends.openstack.recordings import recorded_items


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


def test_equal_flavors_are_merged_under_the_first_regions_id() -> None:
    assert [each.id for each in merge_flavors([[flavor("first")], [flavor("second")]]).flavors] == ["first"]


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
