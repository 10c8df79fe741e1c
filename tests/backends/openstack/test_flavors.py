"""Flavors of several regions: which are one, whose id it has, and in which order they come."""

from typing import Any

import msgspec
import pytest

from cloudconsole.backends.openstack.flavors import ListedFlavor, merge_flavors
from tests.backends.openstack.recordings import whole


def flavor(flavor_id: str, name: str = "m1.small", vcpus: int = 1, ram: int = 2048, disk: int = 20) -> ListedFlavor:
    return ListedFlavor(flavor_id, name, vcpus, ram, disk)


def test_those_recorded_come_by_size_with_their_own_ids() -> None:
    listed = msgspec.convert(whole("nova_flavors", "flavors")["flavors"], list[ListedFlavor])
    record = merge_flavors([listed])
    assert [(each.name, each.vcpus, each.ram, each.disk) for each in record.flavors] == [
        ("m1.tiny", 1, 512, 1),
        ("m1.small", 1, 2048, 20),
        ("m1.medium", 2, 4096, 40),
    ]
    assert {each.id for each in record.flavors} == {each.id for each in listed}
    assert (record.configs.vcpus, record.limits) == ([1, 2], {"1": [512, 2048], "2": [4096]})


def test_the_same_name_and_size_is_one_flavor_with_the_first_regions_id() -> None:
    assert [each.id for each in merge_flavors([[flavor("first")], [flavor("second")]]).flavors] == ["first"]


@pytest.mark.parametrize("other", [{"vcpus": 2}, {"ram": 4096}, {"disk": 0}, {"name": "small"}])
def test_another_name_or_size_is_another_flavor(other: dict[str, Any]) -> None:
    record = merge_flavors([[flavor("first")], [flavor("second", **other)]])
    assert {each.id for each in record.flavors} == {"first", "second"}


def test_a_disabled_one_is_left_out() -> None:
    raw = {"id": "1", "name": "old", "vcpus": 1, "ram": 1, "disk": 0, "OS-FLV-DISABLED:disabled": True}
    assert merge_flavors([[msgspec.convert(raw, ListedFlavor)]]).flavors == []


def test_they_come_by_cores_ram_disk_and_name() -> None:
    mixed = [
        flavor("5", "b"),
        flavor("4", "a"),
        flavor("3", disk=10),
        flavor("2", ram=1024),
        flavor("6", vcpus=2, ram=512),
        flavor("7", vcpus=10, ram=512),
    ]
    assert [each.id for each in merge_flavors([mixed]).flavors] == ["2", "3", "4", "5", "6", "7"]


@pytest.mark.parametrize("wrong", [{"id": ""}, {"id": 7}, {"vcpus": None}, {"ram": -1}, {"disk": "20"}, {"name": None}])
def test_nonsense_is_no_flavor(wrong: dict[str, Any]) -> None:
    raw = {"id": "1", "name": "n", "vcpus": 1, "ram": 1, "disk": 0}
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(raw | wrong, ListedFlavor)
