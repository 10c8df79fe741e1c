"""Billable resources: which listed items count, at what size, and what they cost."""

import time
from collections.abc import Iterator
from itertools import product
from typing import Any, get_args

import msgspec
import pytest

from cloudconsole.backends.openstack import billable
from cloudconsole.backends.openstack.billable import ListedBalancer, ListedImage, ListedServer
from cloudconsole.backends.openstack.costs import hourly_by_kind
from cloudconsole.core.ports import PriceList
from cloudconsole.core.pricing import Price, PriceBook
from cloudconsole.core.resources import PRICED_UNITS, TYPED_UNITS, Amounts, BillableResource
from cloudconsole.spec.records import BillableType
from tests.backends.openstack.small_openstack import DELETED_SERVER, HOUR, PROJECT, recorded, recorded_items

GB = 1024**3


def server(**changes: Any) -> ListedServer:
    raw = recorded_items("nova_servers_changed")[0] | changes
    return msgspec.convert({name: value for name, value in raw.items() if value is not ...}, ListedServer)


def image(**changes: Any) -> ListedImage:
    return msgspec.convert(recorded("glance_images_hidden")["images"][0] | changes, ListedImage)


def billable_servers(listed: ListedServer, since: float = HOUR) -> list[BillableResource]:
    return list(billable.servers("north", [listed], since))


# Servers


@pytest.fixture
def non_utc_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set a local time zone other than UTC: a time without a zone is UTC all the same."""
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_servers_have_flavor_amounts_and_deleted_ones_an_end() -> None:
    raw = [*recorded_items("nova_servers"), *recorded_items("nova_servers_changed")]
    found = list(billable.servers("north", msgspec.convert(raw, list[ListedServer]), HOUR))
    assert {resource.type: resource.amounts for resource in found} == {
        "m1.tiny": Amounts(items=1, vcpus=1, ram_mb=512, ram_gb=1),
        "m1.small": Amounts(items=1, vcpus=1, ram_mb=2048, ram_gb=2),
        "m1.medium": Amounts(items=1, vcpus=2, ram_mb=4096, ram_gb=4),
    }
    assert len(found) == 3
    assert [resource.id for resource in found if resource.ended_at is not None] == [DELETED_SERVER]


@pytest.mark.parametrize("status", ["ACTIVE", "ERROR", "SHELVED_OFFLOADED", "WHATEVER"])
def test_a_server_counts_in_every_state(status: str) -> None:
    assert [resource.ended_at for resource in billable_servers(server(status=status))] == [None]


@pytest.mark.usefixtures("non_utc_host")
@pytest.mark.parametrize("status", ["DELETED", "SOFT_DELETED"])
@pytest.mark.parametrize(
    ("terminated", "updated", "ended_at"),
    [
        ("2026-11-15T20:10:00.000000", "2026-11-15T20:11:00Z", HOUR + 600),
        ("2026-11-15T20:00:00.000000", "2026-11-15T20:11:00Z", HOUR),
        (None, "2026-11-15T20:11:00Z", HOUR + 660),
        (..., "2026-11-15T20:11:00Z", HOUR + 660),
        ("2026-11-15T21:10:00+01:00", "2026-11-15T20:11:00Z", HOUR + 600),
        ("2026-11-15T19:59:59.000000", "2026-11-15T20:11:00Z", None),
        (None, "2026-11-15T19:59:59Z", None),
    ],
)
def test_a_deleted_server_counts_if_it_ended_in_the_hour(
    status: str, terminated: Any, updated: str, ended_at: float | None
) -> None:
    found = billable_servers(server(**{"status": status, "OS-SRV-USG:terminated_at": terminated, "updated": updated}))
    assert [resource.ended_at for resource in found] == ([] if ended_at is None else [ended_at])


@pytest.mark.parametrize(("ram", "ram_gb"), [(0, 0), (1, 1), (1024, 1), (1025, 2), (2**60 + 1, 2**50 + 1)])
def test_ram_is_rounded_up_to_whole_gb(ram: int, ram_gb: int) -> None:
    (resource,) = billable_servers(server(flavor={"original_name": "f", "vcpus": 1, "ram": ram}))
    assert (resource.amounts.ram_mb, resource.amounts.ram_gb) == (ram, ram_gb)


@pytest.mark.parametrize(
    "malformed",
    [
        {"flavor": ...},
        {"flavor": {"id": "1", "links": []}},
        {"flavor": {"original_name": "f", "vcpus": "1", "ram": 1}},
        {"updated": "yesterday"},
        {"id": None},
        {"OS-SRV-USG:terminated_at": 7},
    ],
)
def test_malformed_server_is_rejected(malformed: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        server(**malformed)


# Volumes, images and load balancers


def test_volume_without_size_or_type_counts_as_one_untyped_gb() -> None:
    (resource,) = billable.volumes("north", [billable.ListedVolume("v", 0, None)])
    assert (resource.amounts.size_gb, resource.type) == (1, None)


def test_own_images_with_data_count_once_even_if_hidden() -> None:
    raw = [*recorded_items("glance_images"), *recorded("glance_images_hidden")["images"]]
    found = list(billable.images("north", msgspec.convert([*raw, *raw], list[ListedImage]), PROJECT))
    assert len(raw) == 4
    assert [resource.amounts.size_gb for resource in found] == [1, 1, 1]


@pytest.mark.parametrize(("size", "gb"), [(0, 1), (1, 1), (GB, 1), (GB + 1, 2), (2**61 + 1, 2**31 + 1)])
def test_image_size_is_rounded_up_to_whole_gb(size: int, gb: int) -> None:
    (resource,) = billable.images("north", [image(size=size)], PROJECT)
    assert resource.amounts.size_gb == gb


@pytest.mark.parametrize("owner", ["another", None])
def test_image_of_another_owner_does_not_count(owner: str | None) -> None:
    assert list(billable.images("north", [image(owner=owner)], PROJECT)) == []


@pytest.mark.parametrize(
    "status", ["queued", "saving", "uploading", "importing", "killed", "deleted", "pending_delete"]
)
def test_an_image_without_data_does_not_count(status: str) -> None:
    assert list(billable.images("north", [image(status=status, size=None)], PROJECT)) == []


@pytest.mark.parametrize("status", ["active", "deactivated", "of tomorrow"])
def test_an_image_with_data_counts_and_must_have_a_size(status: str) -> None:
    assert len(list(billable.images("north", [image(status=status)], PROJECT))) == 1
    with pytest.raises(msgspec.ValidationError):
        image(status=status, size=None)


def test_own_load_balancers_count_in_every_state_but_deleted() -> None:
    listed = msgspec.convert(recorded_items("octavia_loadbalancers"), list[ListedBalancer])
    assert len(list(billable.balancers("north", listed, PROJECT))) == 2
    others = [
        ListedBalancer("a", PROJECT, "ERROR"),
        ListedBalancer("b", PROJECT, "DELETED"),
        ListedBalancer("c", "another", "ACTIVE"),
    ]
    assert [resource.id for resource in billable.balancers("north", others, PROJECT)] == ["a"]


# Costs


NOW = 1000.0

UNITS = [(kind, unit, None) for kind, units in PRICED_UNITS.items() for unit in units]
TYPED = [(kind, unit, "special") for kind, unit in TYPED_UNITS.items()]
SCOPES = [(*priced, node, start) for priced in [*UNITS, *TYPED] for node in (None, 1) for start in (0, 500, 1500)]
BOOK = PriceBook(
    Price(kind, unit, node, start, 2**number, name) for number, (kind, unit, name, node, start) in enumerate(SCOPES)
)
"""Distinct prices, general and for `south`, with and without a type, past, current and future."""

SCOPES_OF_RESOURCES = product(
    ("north", "south"), get_args(BillableType), (None, "special", "other"), (None, 400.0, 600.0, 2000.0), (1, 2)
)
RESOURCES = [
    BillableResource(region, kind, str(number), Amounts(*range(number, number + 5)), name, ended_at)
    for number, (region, kind, name, ended_at, _) in enumerate(SCOPES_OF_RESOURCES)
]
"""Two resources with each price, and with different amounts."""


def test_total_cost_is_the_sum_over_resources() -> None:
    expected = dict.fromkeys(PRICED_UNITS, 0)
    for resource in RESOURCES:
        node = 1 if resource.region == "south" else None
        at = 400 if resource.ended_at == 400 else NOW
        cost = BOOK.hourly(resource.kind, node, resource.amounts, at, resource.type)
        assert cost is not None
        expected[resource.kind] += cost
    assert hourly_by_kind(RESOURCES, PriceList(BOOK, {"south": 1}), NOW) == expected
