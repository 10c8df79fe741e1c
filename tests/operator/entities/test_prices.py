"""Prices: what one may be, and that no resource loses the one it needs."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine

from cloudconsole.operator.entities import PRICES, RESOURCES
from tests.operator.transactions import desk_of, last_line, refused

CLOUD = """\
version: 1
nodes: [n1, n2]
prices:
  - {kind: instance, unit: vcpu, price: "0.031", from: 2026-01-01}
  - {kind: instance, unit: each, price: "0.1", from: 2026-03-01}
  - {kind: volume, unit: gb, node: n1, price: 1, from: 2026-01-01}
  - {kind: volume, unit: gb, node: n1, price: 2, from: 2026-06-01}
  - {kind: volume, unit: gb, price: 3, from: 2026-09-01}
tenants:
  - name: t1
    resources:
      - {id: i-1, kind: instance, name: a, node: n1, vcpus: 1, ram: 1, started: 2026-02-01}
      - {id: v-1, kind: volume, name: a, node: n1, size: 1, started: 2026-02-01}
      - {id: v-2, kind: volume, name: b, node: n1, size: 1, started: 2026-07-01, ended: 2026-08-01}
      - {id: v-3, kind: volume, name: c, node: n2, size: 1, started: 2026-10-01}
"""


@pytest.fixture
def store(engine_with: Callable[[str], Engine]) -> Engine:
    return engine_with(CLOUD)


def test_prices_are_listed_with_general_ones_first(store: Engine) -> None:
    with desk_of(store) as desk:
        keys = [PRICES.key_of(record) for record in PRICES.list(desk)]
        assert [PRICES.key_of(record) for record in PRICES.list(desk, {"node": "n1"})] == keys[3:]
        assert [PRICES.key_of(record) for record in PRICES.list(desk, {"kind": "instance"})] == keys[:2]
    assert keys == [
        "instance/each/2026-03-01T00:00:00Z",
        "instance/vcpu/2026-01-01T00:00:00Z",
        "volume/gb/2026-09-01T00:00:00Z",
        "volume/gb/2026-01-01T00:00:00Z/n1",
        "volume/gb/2026-06-01T00:00:00Z/n1",
    ]


def test_a_key_takes_a_time_as_an_operator_writes_it(store: Engine) -> None:
    with desk_of(store) as desk:
        assert PRICES.show(desk, "volume/gb/2026-06-01/n1")["price"] == "2.00"


@pytest.mark.parametrize("key", ["", "volume", "volume/gb", "volume/gb/soon", "car/gb/2026-01-01", "volume/gb//n1"])
def test_what_is_no_key_of_a_price_is_refused(store: Engine, key: str) -> None:
    with refused(store, "is not a price's key: use KIND") as desk:
        PRICES.show(desk, key)


@pytest.mark.parametrize("key", ["image/gb/2026-01-01", "volume/gb/2026-01-01", "volume/gb/2026-01-01/n2"])
def test_a_price_that_is_not_there(store: Engine, key: str) -> None:
    with refused(store, "there is no price") as desk:
        PRICES.remove(desk, key)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"unit": "vcpu"}, "unit: volume is priced by gb"),
        ({"kind": "snapshot"}, "kind: must be"),
        ({"price": "-1"}, "price: must not be negative"),
        ({"price": "0.0000000001"}, "price: must not have more than nine decimals"),
        ({"price": 0.5}, "price: must be a number"),
        ({"node": "n9"}, "node: there is no node n9"),
        ({"from": "2026-02-30"}, "from: is not a valid date or time"),
        ({"node": "n1", "from": "2026-01-01"}, "a price with this kind, unit, type, node and start"),
        ({"kind": "image", "type": "raw"}, "type: only instances by each"),
        ({"kind": "loadbalance", "unit": "each", "type": "small"}, "type: only instances by each"),
        ({"kind": "instance", "unit": "vcpu", "type": "m1.small"}, "type: only instances by each"),
        ({"kind": "instance", "unit": "ram_gb", "type": "m1.small"}, "type: only instances by each"),
        ({"unit": "each", "type": "ssd"}, "^unit: volume is priced by gb$"),
        ({"type": ""}, "type: must not be empty"),
        ({"type": "x" * 256}, "type: must have at most 255 characters"),
        ({"type": "a\tb"}, "type: must not contain control characters"),
        ({"type": 5}, "type: must be text"),
    ],
)
def test_a_price_that_cannot_be_added(store: Engine, values: dict[str, Any], words: str) -> None:
    price = {"kind": "volume", "unit": "gb", "price": "1", "from": "2027-01-01"}
    with refused(store, words) as desk:
        PRICES.add(desk, price | values)


def test_a_price_that_a_resource_needs_stays_and_says_which(store: Engine) -> None:
    words = "the volume v-1 on n1, started 2026-02-01T00:00:00Z needs this price"
    with refused(store, words) as desk:
        PRICES.remove(desk, "volume/gb/2026-01-01/n1")
    with refused(store, "the volume v-3 on n2") as desk:
        PRICES.remove(desk, "volume/gb/2026-09-01")
    with refused(store, "the instance i-1 on n1") as desk:
        PRICES.remove(desk, "instance/vcpu/2026-01-01")


def test_a_price_that_several_need_says_how_many(store: Engine) -> None:
    with desk_of(store) as desk:
        PRICES.remove(desk, "volume/gb/2026-06-01/n1")
    with refused(store, "2 resources of kind volume, such as v-1 on n1, .* need this price") as desk:
        PRICES.remove(desk, "volume/gb/2026-01-01/n1")


def test_a_price_that_another_one_stands_in_for_can_go(store: Engine) -> None:
    with desk_of(store) as desk:
        PRICES.remove(desk, "volume/gb/2026-06-01/n1")
        PRICES.remove(desk, "instance/each/2026-03-01")
        PRICES.add(desk, {"kind": "volume", "unit": "gb", "price": "9", "from": "2025-01-01"})
        PRICES.remove(desk, "volume/gb/2026-01-01/n1")
        PRICES.remove(desk, "volume/gb/2026-09-01")
    assert last_line(store)["change"] == "price.remove"


@pytest.mark.parametrize(
    "values", [{"from": "2026-02-02"}, {"node": "n2"}, {"kind": "image"}], ids=["later", "elsewhere", "another kind"]
)
def test_a_price_cannot_be_moved_away_from_what_needs_it(store: Engine, values: dict[str, Any]) -> None:
    with refused(store, "the volume v-1 on n1") as desk:
        PRICES.change(desk, "volume/gb/2026-01-01/n1", values)


def test_a_price_can_be_moved_as_far_as_nothing_needs_it(store: Engine) -> None:
    with desk_of(store) as desk:
        done = PRICES.change(desk, "volume/gb/2026-01-01/n1", {"from": "2026-02-01", "price": "1.5"})
        assert PRICES.show(desk, "volume/gb/2026-02-01/n1")["price"] == "1.50"
        PRICES.change(desk, "volume/gb/2026-02-01/n1", {"node": None})
    assert done.subject == "volume/gb/2026-01-01T00:00:00Z/n1"
    assert last_line(store)["after"] == {
        "kind": "volume",
        "unit": "gb",
        "price": "1.50",
        "from": "2026-02-01T00:00:00Z",
    }


def test_a_price_cannot_take_the_place_of_another(store: Engine) -> None:
    with refused(store, "a price with this kind, unit, type, node and start already exists") as desk:
        PRICES.change(desk, "volume/gb/2026-06-01/n1", {"from": "2026-01-01"})


def test_a_price_is_free_once_what_needed_it_is_gone(store: Engine) -> None:
    with desk_of(store) as desk:
        for resource in ("v-1", "v-2"):
            RESOURCES.remove(desk, resource)
        PRICES.remove(desk, "volume/gb/2026-06-01/n1")
        PRICES.remove(desk, "volume/gb/2026-01-01/n1")


# Prices of a type

SSD = {"kind": "volume", "unit": "gb", "type": "ssd", "price": "7", "from": "2026-01-01"}
SMALL_SERVER = {"kind": "instance", "unit": "each", "type": "m1.small", "price": "0.12", "from": "2026-01-01"}


def test_prices_of_types_stand_beside_the_others_and_are_listed_behind_them(store: Engine) -> None:
    with desk_of(store) as desk:
        for more in ({}, {"node": "n1"}, {"node": "n2"}, {"type": "slow"}, {"from": "2026-06-01"}):
            PRICES.add(desk, SSD | more)
        keys = [PRICES.key_of(record) for record in PRICES.list(desk, {"kind": "volume"})]
        of_type = [PRICES.key_of(record) for record in PRICES.list(desk, {"type": "ssd"})]
    assert keys[3:] == [
        "volume:slow/gb/2026-01-01T00:00:00Z",
        "volume:ssd/gb/2026-01-01T00:00:00Z",
        "volume:ssd/gb/2026-06-01T00:00:00Z",
        "volume:ssd/gb/2026-01-01T00:00:00Z/n1",
        "volume:ssd/gb/2026-01-01T00:00:00Z/n2",
    ]
    assert of_type == keys[4:]


@pytest.mark.parametrize("node", [{}, {"node": "n1"}], ids=["everywhere", "on a node"])
@pytest.mark.parametrize("price", [SSD, SMALL_SERVER], ids=["volume", "instance"])
def test_a_second_price_of_a_type_is_refused(store: Engine, price: dict[str, Any], node: dict[str, str]) -> None:
    with desk_of(store) as desk:
        PRICES.add(desk, price | node)
    with refused(store, "a price with this kind, unit, type, node and start already exists") as desk:
        PRICES.add(desk, price | node)


@pytest.mark.parametrize("name", ["m1.small", "a/b", "50%", "%2F", "%25", "%252F/", "a:b", "大 型", "/"])
def test_a_price_is_found_by_its_key_whatever_the_type_is_called(store: Engine, name: str) -> None:
    with desk_of(store) as desk:
        for node in ({}, {"node": "n1"}):
            done = PRICES.add(desk, SMALL_SERVER | {"type": name} | node)
            assert PRICES.show(desk, done.subject) == done.after
            assert PRICES.remove(desk, done.subject).before == done.after


def test_a_price_of_another_type_is_not_there(store: Engine) -> None:
    with desk_of(store) as desk:
        PRICES.add(desk, SSD)
    for key in ("volume:slow/gb/2026-01-01", "volume:/gb/2026-01-01", "volume/gb/2026-01-01"):
        with refused(store, "there is no price") as desk:
            PRICES.show(desk, key)


def test_the_type_of_a_price_can_be_changed_and_taken_away(store: Engine) -> None:
    with desk_of(store) as desk:
        PRICES.add(desk, SMALL_SERVER)
        PRICES.change(desk, "instance:m1.small/each/2026-01-01", {"type": "m1.large"})
        PRICES.change(desk, "instance:m1.large/each/2026-01-01", {"type": None})
        assert "type" not in PRICES.show(desk, "instance/each/2026-01-01")
    assert last_line(store)["before"]["type"] == "m1.large"


def test_no_resource_here_starts_by_a_price_of_a_type(store: Engine) -> None:
    volume = {"tenant": "t1", "id": "v-9", "kind": "volume", "name": "x", "node": "n2", "size": 1}
    with desk_of(store) as desk:
        PRICES.add(desk, SSD | {"node": "n2"})
    with refused(store, "volume has no price on this node at 2026-02-01T00:00:00Z") as desk:
        RESOURCES.add(desk, volume | {"started": "2026-02-01"})


def test_a_price_of_a_type_stands_in_for_no_other(store: Engine) -> None:
    with desk_of(store) as desk:
        PRICES.add(desk, SSD | {"node": "n1", "from": "2025-01-01"})
    with refused(store, "the volume v-1 on n1") as desk:
        PRICES.remove(desk, "volume/gb/2026-01-01/n1")
    with refused(store, "the volume v-1 on n1") as desk:
        PRICES.change(desk, "volume/gb/2026-01-01/n1", {"type": "slow"})


def test_a_price_of_a_type_is_needed_by_nothing_here(store: Engine) -> None:
    with desk_of(store) as desk:
        PRICES.add(desk, SSD | {"node": "n1"})
        PRICES.change(desk, "volume:ssd/gb/2026-01-01/n1", {"from": "2027-01-01"})
        PRICES.remove(desk, "volume:ssd/gb/2027-01-01/n1")


def test_a_price_that_loses_its_type_stands_in_for_others(store: Engine) -> None:
    with desk_of(store) as desk:
        PRICES.add(desk, SSD | {"node": "n1", "from": "2025-01-01"})
        PRICES.change(desk, "volume:ssd/gb/2025-01-01/n1", {"type": None})
        PRICES.remove(desk, "volume/gb/2026-01-01/n1")
