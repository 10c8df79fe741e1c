"""Estimates: exact costs of items and their sums, and what is lacking of the quotas."""

from typing import Any

import pytest
from msgspec.structs import fields

from cloudconsole.core.estimates import Estimator
from cloudconsole.core.pricing import Price, PriceBook
from cloudconsole.spec.errors import ApiError, FlavorNotFound, InvalidField, NodeNotFound
from cloudconsole.spec.extension_records import Estimate
from cloudconsole.spec.extensions import (
    FloatingIpRequest,
    ImageRequest,
    InstanceRequest,
    LoadBalancerRequest,
    RequestedItem,
    VolumeRequest,
)
from cloudconsole.spec.records import Flavor, UsageLimits

FLAVORS = [Flavor("1", "tiny", 1, 512, 1), Flavor("2", "1", 8, 16_384, 40)]
NODES = {"hk-1": 7}
PRICES = [
    Price("instance", "each", None, 0, 1),
    Price("instance", "vcpu", None, 0, 10),
    Price("instance", "ram_gb", None, 0, 100),
    Price("volume", "gb", None, 0, 3),
    Price("volume", "gb", 7, 0, 2),
    Price("volume", "gb", None, 0, 5, "ssd"),
    Price("image", "gb", 7, 0, 4),
    Price("loadbalance", "each", None, 100, 9),
]


def usage(**given: int) -> UsageLimits:
    return UsageLimits(**{**dict.fromkeys((each.name for each in fields(UsageLimits)), 0), **given})


def estimate(*items: RequestedItem, hours: int = 0, now: float = 50, **limits: int) -> Estimate:
    return Estimator(FLAVORS, PriceBook(PRICES), NODES, ("north",), now).estimate(items, hours, usage(**limits))


@pytest.mark.parametrize(
    ("item", "billionths"),
    [
        (InstanceRequest("1"), 1 + 10 + 100),
        (InstanceRequest("tiny", count=3), 3 * 111),
        (InstanceRequest("2"), 1 + 80 + 1600),
        (VolumeRequest(10), 30),
        (VolumeRequest(10, region="hk-1"), 20),
        (VolumeRequest(10, type="ssd", count=2, region="hk-1"), 100),
        (VolumeRequest(10, type="hdd"), 30),
        (VolumeRequest(10, region="north"), 30),
        (VolumeRequest(10, count=-4), -120),
        (ImageRequest(25, region="hk-1"), 100),
        (ImageRequest(25), None),
        (LoadBalancerRequest(), None),
        (FloatingIpRequest(5), 0),
    ],
)
def test_an_item_costs_its_units_times_its_price(item: RequestedItem, billionths: int | None) -> None:
    result = estimate(item, hours=1)
    if billionths is None:
        assert (result.is_priced, result.cost, result.items[0].year) == (False, None, None)
        return
    expected = "0.00" if billionths == 0 else f"{'-' * (billionths < 0)}0.{abs(billionths):09}".rstrip("0")
    assert (result.hour, result.cost, result.items[0].hour) == (expected, expected, expected)


def test_a_price_applies_from_its_start() -> None:
    assert [estimate(LoadBalancerRequest(), now=now).is_priced for now in (99.9, 100)] == [False, True]


def test_sums_are_exact_and_null_if_one_item_has_no_price() -> None:
    items = (VolumeRequest(1, count=3), InstanceRequest("1"), FloatingIpRequest())
    result = estimate(*items, hours=10)
    assert [item.hour for item in result.items] == ["0.000000009", "0.000000111", "0.00"]
    assert (result.hour, result.day, result.month) == ("0.00000012", "0.00000288", "0.0000864")
    assert (result.year, result.hours, result.cost) == ("0.0010512", 10, "0.0000012")
    partly = estimate(*items, ImageRequest(1))
    assert (partly.hour, partly.year, partly.items[0].hour, partly.hours) == (None, None, "0.000000009", None)


def test_what_exceeds_the_free_amount_is_lacking() -> None:
    limits: dict[str, Any] = {
        "max_total_instances": 10,
        "total_instances_used": 8,
        "max_total_cores": -1,
        "total_cores_used": 99,
        "max_total_ram_size": 16_384 * 3,
        "max_total_volumes": 1,
        "total_volumes_used": 5,
        "max_total_volume_gigabytes": 100,
    }
    result = estimate(InstanceRequest("2", count=3), VolumeRequest(40), VolumeRequest(60), **limits)
    needs = {need.quota: (need.limit, need.used, need.free, need.needed, need.lacking) for need in result.quotas}
    assert needs == {
        "instances": (10, 8, 2, 3, 1),
        "cores": (-1, 99, None, 24, 0),
        "ram": (49_152, 0, 49_152, 49_152, 0),
        "volumes": (1, 5, 0, 2, 6),
        "gigabytes": (100, 0, 100, 100, 0),
        "floating_ips": (0, 0, 0, 0, 0),
    }
    assert not result.fits


def test_nothing_of_something_without_a_price_costs_nothing() -> None:
    assert estimate(ImageRequest(5, count=0)).hour == "0.00"


def test_an_ambiguous_name_needs_the_id() -> None:
    flavors = [Flavor("a", "std", 1, 1024, 0), Flavor("b", "std", 8, 1024, 0), Flavor("c", "std", 1, 1024, 0)]
    estimator = Estimator(flavors, PriceBook(PRICES), NODES, (), 50)
    assert estimator.estimate((InstanceRequest("b"),), 0, usage()).hour == "0.000000181"
    with pytest.raises(InvalidField) as error:
        estimator.estimate((InstanceRequest("std"),), 0, usage())
    assert "items[0].flavor: several flavors have this name" in error.value.message("en")


def test_a_quota_that_is_exceeded_already_matters_only_if_more_is_needed() -> None:
    limits = {"max_total_volumes": 1, "total_volumes_used": 5, "max_total_volume_gigabytes": -1}
    assert estimate(VolumeRequest(1), VolumeRequest(5, count=-1), **limits).fits
    assert estimate(VolumeRequest(1, count=-2), **limits).fits
    assert not estimate(VolumeRequest(1), **limits).fits


@pytest.mark.parametrize(
    ("item", "error", "place"),
    [
        (InstanceRequest("9"), FlavorNotFound, "items[1].flavor"),
        (InstanceRequest("Tiny"), FlavorNotFound, "items[1].flavor"),
        (VolumeRequest(1, region="hk-9"), NodeNotFound, "items[1].region"),
    ],
)
def test_unknown_names_are_reported_with_their_place(item: RequestedItem, error: type[ApiError], place: str) -> None:
    with pytest.raises(error) as raised:
        estimate(FloatingIpRequest(), item)
    assert (raised.value.values["place"], raised.value.field) == (place, "items")
