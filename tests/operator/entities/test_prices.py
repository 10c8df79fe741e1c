"""Prices: validation, and protection of prices that resources need."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine

from cloudconsole.operator.entities import PRICES, RESOURCES
from tests.operator.transactions import NOW, last_entry, rejected, transaction

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
SSD = {"kind": "volume", "unit": "gb", "type": "ssd", "price": "7", "from": "2026-01-01"}
SMALL_SERVER = {"kind": "instance", "unit": "each", "type": "m1.small", "price": "0.12", "from": "2026-01-01"}
VOLUME = {"kind": "volume", "unit": "gb", "price": "4"}
EXISTS = "^from: a price with this kind, unit, type, node and start already exists$"


def past_costs(hours: str, resources: str) -> str:
    return rf"changes the cost of {hours} \(UTC\), of {resources} of 1 tenant"


@pytest.fixture
def store(engine_with: Callable[[str], Engine]) -> Engine:
    return engine_with(CLOUD)


@pytest.mark.parametrize("key", ["", "volume", "volume/gb", "volume/gb/soon", "car/gb/2026-01-01", "volume/gb//n1"])
def test_malformed_price_key_is_rejected(store: Engine, key: str) -> None:
    with rejected(store, "is not a price's key: use KIND") as tx:
        PRICES.show(tx, key)


@pytest.mark.parametrize("key", ["image/gb/2026-01-01", "volume/gb/2026-01-01", "volume/gb/2026-01-01/n2"])
@pytest.mark.parametrize("of_type", ["", ":slow", ":"])
def test_unknown_price_is_rejected(store: Engine, key: str, of_type: str) -> None:
    with transaction(store) as tx:
        PRICES.add(tx, SSD)
    with rejected(store, "there is no price") as tx:
        PRICES.remove(tx, key.replace("/", f"{of_type}/", 1))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"unit": "vcpu"}, "unit: must be gb for a volume"),
        ({"price": 0.5}, "price: must be a number"),
        ({"node": "n9"}, "node: there is no node n9"),
        ({"node": "n1", "from": "2026-01-01"}, EXISTS),
    ],
)
def test_invalid_price_is_rejected(store: Engine, values: dict[str, Any], message: str) -> None:
    price = {"kind": "volume", "unit": "gb", "price": "1", "from": "2027-01-01"}
    with rejected(store, message) as tx:
        PRICES.add(tx, price | values)


def test_removal_of_a_needed_price_names_the_resource(store: Engine) -> None:
    message = "the volume v-1 on n1, started 2026-02-01T00:00:00Z needs this price"
    with rejected(store, message) as tx:
        PRICES.remove(tx, "volume/gb/2026-01-01/n1")
    with rejected(store, "the volume v-3 on n2") as tx:
        PRICES.remove(tx, "volume/gb/2026-09-01")
    with rejected(store, "the instance i-1 on n1") as tx:
        PRICES.remove(tx, "instance/vcpu/2026-01-01")


def test_removal_of_a_needed_price_counts_the_resources(store: Engine) -> None:
    with transaction(store, force=True) as tx:
        PRICES.remove(tx, "volume/gb/2026-06-01/n1")
    with rejected(store, "2 resources of kind volume, such as v-1 on n1, .* need this price") as tx:
        PRICES.remove(tx, "volume/gb/2026-01-01/n1")
    with transaction(store) as tx:
        for resource in ("v-1", "v-2"):
            RESOURCES.remove(tx, resource)
        PRICES.remove(tx, "volume/gb/2026-01-01/n1")


def test_price_covered_by_another_can_be_removed(store: Engine) -> None:
    with transaction(store, force=True) as tx:
        PRICES.remove(tx, "volume/gb/2026-06-01/n1")
        PRICES.remove(tx, "instance/each/2026-03-01")
        PRICES.add(tx, {"kind": "volume", "unit": "gb", "price": "9", "from": "2025-01-01"})
        PRICES.remove(tx, "volume/gb/2026-01-01/n1")
        PRICES.remove(tx, "volume/gb/2026-09-01")
    assert last_entry(store)["change"] == "price.remove (forced)"


@pytest.mark.parametrize(
    "values",
    [{"from": "2027-02-02"}, {"node": "n2"}, {"kind": "volume"}],
    ids=["later", "another node", "another kind"],
)
def test_needed_price_cannot_be_moved_away(store: Engine, values: dict[str, Any]) -> None:
    image = {"id": "m-1", "tenant": "t1", "kind": "image", "name": "a", "node": "n1", "size": 1}
    with transaction(store) as tx:
        PRICES.add(tx, {"kind": "image", "unit": "gb", "price": "1", "node": "n1", "from": "2027-02-01"})
        RESOURCES.add(tx, image | {"started": "2027-02-01"})
    with rejected(store, "the image m-1 on n1") as tx:
        PRICES.change(tx, "image/gb/2027-02-01/n1", values)


@pytest.mark.parametrize("field", ["kind", "type", "node", "from"])
def test_price_that_has_been_in_force_keeps_all_but_its_amount(store: Engine, field: str) -> None:
    moved = {"kind": "image", "type": "ssd", "node": "n2", "from": "2027-02-01"}[field]
    message = f"^{field}: cannot be changed, because the price has been in force: add a new price instead$"
    for force in (False, True):
        with rejected(store, message, force=force) as tx:
            PRICES.change(tx, "volume/gb/2026-06-01/n1", {field: moved, "price": "4"})


def test_price_to_come_can_be_moved_and_becomes_another(store: Engine) -> None:
    with transaction(store) as tx:
        PRICES.add(tx, VOLUME | {"node": "n1", "from": "2027-02-01"})
        result = PRICES.change(tx, "volume/gb/2027-02-01/n1", {"from": "2027-03-01", "price": "1.5"})
        PRICES.change(tx, "volume/gb/2027-03-01/n1", {"node": None})
        assert PRICES.show(tx, "volume/gb/2027-03-01")["price"] == "1.50"
    assert result.subject == "volume/gb/2027-02-01T00:00:00Z/n1"
    after = {"kind": "volume", "unit": "gb", "price": "1.50", "from": "2027-03-01T00:00:00Z"}
    assert last_entry(store)["after"] == after


def test_price_to_come_that_is_moved_to_the_past_asks_like_a_new_one(store: Engine) -> None:
    with transaction(store) as tx:
        PRICES.add(tx, VOLUME | {"node": "n1", "from": "2027-02-01"})
    with rejected(store, past_costs("9 hours from 2027-01-15 00:00 to now", "1 resource")) as tx:
        PRICES.change(tx, "volume/gb/2027-02-01/n1", {"from": "2027-01-15"})


def test_price_cannot_be_moved_onto_another(store: Engine) -> None:
    with transaction(store) as tx:
        for start in ("2027-02-01", "2027-03-01"):
            PRICES.add(tx, VOLUME | {"node": "n1", "from": start})
    with rejected(store, EXISTS) as tx:
        PRICES.change(tx, "volume/gb/2027-03-01/n1", {"from": "2027-02-01"})


# Prices per type


def test_prices_are_listed_by_kind_type_node_and_start(store: Engine) -> None:
    with transaction(store) as tx:
        for more in ({}, {"node": "n1"}, {"type": "slow"}, {"from": "2026-06-01"}):
            PRICES.add(tx, SSD | more)
        filters: list[dict[str, str]] = [{}, {"kind": "instance"}, {"type": "ssd"}, {"node": "n1"}]
        keys, *filtered = ([PRICES.key_of(record) for record in PRICES.list(tx, each)] for each in filters)
    assert keys == [
        "instance/each/2026-03-01T00:00:00Z",
        "instance/vcpu/2026-01-01T00:00:00Z",
        "volume/gb/2026-09-01T00:00:00Z",
        "volume/gb/2026-01-01T00:00:00Z/n1",
        "volume/gb/2026-06-01T00:00:00Z/n1",
        "volume:slow/gb/2026-01-01T00:00:00Z",
        "volume:ssd/gb/2026-01-01T00:00:00Z",
        "volume:ssd/gb/2026-06-01T00:00:00Z",
        "volume:ssd/gb/2026-01-01T00:00:00Z/n1",
    ]
    assert filtered == [keys[:2], keys[6:], [key for key in keys if key.endswith("/n1")]]


@pytest.mark.parametrize("node", [{}, {"node": "n1"}], ids=["all nodes", "on a node"])
def test_duplicate_type_price_is_rejected(store: Engine, node: dict[str, str]) -> None:
    with transaction(store) as tx:
        PRICES.add(tx, SSD | node)
    with rejected(store, EXISTS) as tx:
        PRICES.add(tx, SSD | node)


@pytest.mark.parametrize("name", ["m1.small", "a/b", "50%", "%2F", "%25", "%252F/", "a:b", "大 型", "/"])
def test_price_is_found_by_its_key_for_any_type_name(store: Engine, name: str) -> None:
    with transaction(store) as tx:
        for node in ({}, {"node": "n1"}):
            result = PRICES.add(tx, SMALL_SERVER | {"type": name} | node)
            assert PRICES.show(tx, result.subject) == result.after
            assert PRICES.remove(tx, result.subject).before == result.after


def test_type_of_a_price_can_be_changed_and_removed(store: Engine) -> None:
    with transaction(store) as tx:
        PRICES.add(tx, SMALL_SERVER | {"from": "2027-02-01"})
        PRICES.change(tx, "instance:m1.small/each/2027-02-01", {"type": "m1.large"})
        PRICES.change(tx, "instance:m1.large/each/2027-02-01", {"type": None})
        assert "type" not in PRICES.show(tx, "instance/each/2027-02-01")
    assert last_entry(store)["before"]["type"] == "m1.large"


def test_type_price_does_not_cover_a_new_resource(store: Engine) -> None:
    volume = {"tenant": "t1", "id": "v-9", "kind": "volume", "name": "x", "node": "n2", "size": 1}
    with transaction(store) as tx:
        PRICES.add(tx, SSD | {"node": "n2"})
    with rejected(store, "volume has no price on this node at 2026-02-01T00:00:00Z") as tx:
        RESOURCES.add(tx, volume | {"started": "2026-02-01"})


def test_type_price_does_not_replace_a_needed_price(store: Engine) -> None:
    with transaction(store) as tx:
        PRICES.add(tx, SSD | {"node": "n1", "from": "2025-01-01"})
    with rejected(store, "the volume v-1 on n1") as tx:
        PRICES.remove(tx, "volume/gb/2026-01-01/n1")


# Costs of the past


def test_price_that_changes_past_costs_must_be_forced(store: Engine) -> None:
    with rejected(store, past_costs("2405 hours from 2026-10-07 04:00 to now", "1 resource")) as tx:
        PRICES.add(tx, VOLUME | {"node": "n2", "from": "2026-10-07T04:30:00Z"})
    with rejected(store, past_costs("2880 hours from 2026-02-01 00:00 to 2026-06-01 00:00", "1 resource")) as tx:
        PRICES.change(tx, "volume/gb/2026-01-01/n1", {"price": "4"})
    with rejected(store, past_costs("5481 hours from 2026-06-01 00:00 to now", "2 resources")) as tx:
        PRICES.change(tx, "volume/gb/2026-06-01/n1", {"price": "4"})
    with transaction(store, force=True) as tx:
        PRICES.change(tx, "volume/gb/2026-06-01/n1", {"price": "4"})


def test_removal_of_a_price_in_force_must_be_forced_for_the_current_hour(store: Engine) -> None:
    with rejected(store, past_costs("1 hour from 2027-01-15 08:00 to now", "1 resource"), now=NOW + 1200) as tx:
        PRICES.remove(tx, "volume/gb/2026-06-01/n1")
    message = r"; from now on the price 1.00 applies, which is in force from 2026-01-01 00:00 \(UTC\)$"
    with rejected(store, message, now=NOW + 1200) as tx:
        PRICES.remove(tx, "volume/gb/2026-06-01/n1")


@pytest.mark.parametrize(
    ("existing", "removed", "following"),
    [
        ([], {"node": "n1"}, "from now on no price applies"),
        ([{"node": "n1"}], {"node": "n1", "from": "2026-05-01"}, "price 1.00 applies, which is in force"),
        ([{"price": "3"}], {"node": "n1"}, "price 3.00 for all nodes applies, which is in force from 2026-01-01 00:00"),
        ([{"node": "n1", "from": "2027-03-01"}], {"node": "n1"}, r"from now until 2027-03-01 00:00 \(UTC\)"),
        ([{"from": "2027-03-01"}], {"node": "n1"}, "no price applies from now until 2027-03-01 00:00"),
        ([{"type": "ssd"}, {}], {"type": "ssd", "node": "n1"}, "price 1.00 for all nodes applies"),
        ([{}], {"type": "ssd"}, "from now on the prices without a type apply"),
        ([{"node": "n1", "from": "2026-05-01"}], {"node": "n1"}, None),
        ([], {"from": "2027-03-01"}, None),
    ],
)
def test_removal_of_a_price_in_force_names_what_applies_instead(
    engine_with: Callable[[str], Engine],
    existing: list[dict[str, str]],
    removed: dict[str, str],
    following: str | None,
) -> None:
    price = VOLUME | {"price": "1", "from": "2026-01-01"}
    with transaction(engine_with("version: 1\nnodes: [n1]\n")) as tx:
        for values in existing:
            PRICES.add(tx, price | values)
        message = PRICES.after_removal(tx, PRICES.add(tx, price | removed).subject)
    assert (message is None) if following is None else re.search(following, str(message))


def test_price_of_closed_months_names_the_correction(store: Engine) -> None:
    message = "closed months keep their totals, and the current month gets a correction$"
    later = NOW + 40 * 86_400
    with rejected(store, message, now=later) as tx:
        PRICES.add(tx, VOLUME | {"from": "2027-01-20"})
    with rejected(store, past_costs("2 hours from 2027-02-24 07:00 to now", "1 resource") + "$", now=later) as tx:
        PRICES.add(tx, VOLUME | {"from": "2027-02-24T07:00:00Z"})


@pytest.mark.parametrize(
    "values",
    [
        {"from": "2027-01-15T08:00:01Z"},
        {"from": "2026-02-01", "kind": "image"},
        {"from": "2026-02-01", "type": "ssd"},
        {"from": "2026-11-01", "price": "3"},
    ],
    ids=["from now on", "nothing of the kind", "nothing of the type", "same price"],
)
def test_price_that_changes_no_past_costs_needs_no_force(store: Engine, values: dict[str, Any]) -> None:
    with transaction(store) as tx:
        PRICES.add(tx, VOLUME | values)
