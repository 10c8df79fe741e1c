"""Lists: search, order, pages in both directions, count."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine

from cloudconsole.operator.entities import (
    ACCOUNTS,
    DOMAINS,
    ENTITY_TYPES,
    FLAVORS,
    NEWS,
    NODES,
    PRICES,
    QUOTAS,
    RESOURCES,
    TENANTS,
    URLS,
    EntityType,
)
from cloudconsole.operator.entities.pagination import Order
from cloudconsole.operator.rows_and_records import Record
from cloudconsole.operator.transaction import OperatorTransaction, read_only_transaction
from tests.operator.clouds import SECRET_HASH, SMALL
from tests.operator.conftest import StoreWith
from tests.operator.test_entity_models import DOMAIN
from tests.operator.transactions import NOW, rejected, transaction
from tests.stores import copy_store, open_engine

ORDERS = [
    pytest.param(entity, Order(field, descending), id=f"{entity.name} {Order(field, descending)}")
    for entity in ENTITY_TYPES
    for field in entity.sort_fields()
    for descending in (False, True)
]


@pytest.fixture(scope="module")
def varied(store_with: StoreWith, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A cloud where all entity types have equal, different and missing values; no test changes it."""
    engine = open_engine(copy_store(store_with(SMALL), tmp_path_factory.mktemp("varied") / "data"), "cloud")
    with transaction(engine) as tx:
        for number in range(3):
            TENANTS.add(tx, {"name": f"T{number}", **({"project": "p@https://id.example"} if number == 1 else {})})
        for number in range(3):
            ACCOUNTS.add(tx, {"tenant": "T0", "username": f"user{number}", "password_hash": SECRET_HASH})
            NODES.add(tx, {"name": f"node{number}"})
            FLAVORS.add(tx, {"id": str(7 + 2 * number), "name": f"C{number}", "vcpus": 2, "ram": 9, "disk": 9 - number})
            URLS.add(tx, {"id": f"url-0000000{number + 3}", "type": "link", "url": "https://a.example/"})
            DOMAINS.add(tx, DOMAIN | {"tenant": "T1", "id": str(9 + number), "name": "same.example"})
            NEWS.add(tx, {"title": "Same", "url": "https://a.example/", "date": f"202{number}-01-01"})
        QUOTAS.change(tx, "T1", {"cores": -1})
        TENANTS.change(tx, "demo", {"project": "a@https://id.example"})
        URLS.change(tx, "url-00000004", {"tenant": "T2"})
        for node in (None, "node0", "node1"):
            for price, start in (("2", "2026-01-01"), ("10", "2027-01-01")):
                PRICES.add(tx, {"kind": "image", "unit": "gb", "node": node, "price": price, "from": start})
        PRICES.add(tx, {"kind": "volume", "unit": "gb", "type": "ssd", "price": "2", "from": "2026-01-01"})
        for number, name in enumerate(("b", "a", "B", "a", "100%_\\", "云")):
            RESOURCES.add(tx, {"tenant": "T0", "kind": "keypair", "id": f"k{number}", "name": name})
        RESOURCES.end(tx, "k2", "2030-01-01")
        RESOURCES.end(tx, "k3", "2029-01-01")
    yield engine
    engine.dispose()


@pytest.fixture
def tx(varied: Engine) -> Iterator[OperatorTransaction]:
    with read_only_transaction(varied, now=NOW) as tx:
        yield tx


def value_of(record: Record, field: str) -> Any:
    """Return the value by which a record is sorted; missing text comes first, a missing end or limit last."""
    value = record.get(field)
    if field == "price":
        return float(record["price"])
    if value is None:
        return 0 if field == "size" else "9999" if field == "ended" else ""
    return float("inf") if value == -1 else value


def keys(entity: EntityType, records: list[Record]) -> list[str]:
    return [entity.key_of(record) for record in records]


@pytest.mark.parametrize(("entity", "order"), ORDERS)
def test_every_order_lists_every_entity_once_in_both_directions(
    tx: OperatorTransaction, entity: EntityType, order: Order
) -> None:
    default = keys(entity, entity.list(tx))
    records = entity.list(tx, order=order)
    assert sorted(keys(entity, records)) == sorted(default)
    if order.field != entity.key:
        rank = {key: number for number, key in enumerate(default)}
        expected = sorted(
            records,
            key=lambda record: (value_of(record, order.field), rank[entity.key_of(record)]),
            reverse=order.descending,
        )
        assert records == expected
    elif order.descending:
        assert keys(entity, records) == default[::-1]
    forward: list[Record] = []
    backward: list[Record] = []
    after: str | None = None
    while page := entity.list(tx, {}, after, 2, order=order):
        forward += page
        after = entity.key_of(page[-1])
    before: str | None = after
    while page := entity.list(tx, limit=2, before=before, order=order):
        backward = page + backward
        before = entity.key_of(page[0])
    assert (forward, backward) == (records, records[:-1])


@pytest.mark.parametrize("entity", ENTITY_TYPES, ids=lambda entity: entity.name)
def test_unknown_order_is_rejected(small: Engine, entity: EntityType) -> None:
    problem = f"sort: cannot sort by password_hash: use {entity.sort_fields()[0]}"
    with rejected(small, problem) as tx:
        entity.list(tx, order=Order("password_hash"))


def test_page_after_a_missing_row_needs_the_default_order(varied: Engine) -> None:
    with read_only_transaction(varied, now=NOW) as tx:
        assert keys(RESOURCES, RESOURCES.list(tx, {"kind": "keypair"}, "k1x", 1)) == ["k2"]
    with rejected(varied, "^there is no resource k1x$") as tx:
        RESOURCES.list(tx, after="k1x", order=Order("name"))


@pytest.mark.parametrize(
    ("entity", "text", "expected"),
    [
        (TENANTS, "HeR", ["other"]),
        (TENANTS, "P@HTTPS", ["T1"]),
        (ACCOUNTS, "ER2", ["user2"]),
        (QUOTAS, "2", ["T2"]),
        (NODES, "ODE", ["node0", "node1", "node2"]),
        (PRICES, "SD", ["volume:ssd/gb/2026-01-01T00:00:00Z"]),
        (PRICES, "de1", ["image/gb/2026-01-01T00:00:00Z/node1", "image/gb/2027-01-01T00:00:00Z/node1"]),
        (RESOURCES, "EB", ["i-1"]),
        (RESOURCES, "K1", ["k1"]),
        (RESOURCES, "%", ["k4"]),
        (RESOURCES, "_", ["k4"]),
        (RESOURCES, "\\", ["k4"]),
        (RESOURCES, "云", ["k5"]),
        (RESOURCES, "' OR 1=1 --", []),
        (FLAVORS, "c1", ["9"]),
        (FLAVORS, "11", ["11"]),
        (URLS, "A.EXAMPLE", ["url-00000003", "url-00000004", "url-00000005"]),
        (DOMAINS, "SAME", ["9", "10", "11"]),
        (NEWS, "sam", ["2", "3", "4"]),
    ],
)
def test_search_finds_a_part_of_a_text_in_any_case(
    tx: OperatorTransaction, entity: EntityType, text: str, expected: list[str]
) -> None:
    filters = {"search": text}
    assert keys(entity, entity.list(tx, filters)) == expected
    assert [entity.count(tx, filters, limit) for limit in (1, 100)] == [min(1, len(expected)), len(expected)]


def test_search_combines_with_other_filters_and_orders(tx: OperatorTransaction) -> None:
    filters = {"search": "k", "kind": "keypair", "tenant": "T0", "running": True}
    assert keys(RESOURCES, RESOURCES.list(tx, filters, order=Order("name"))) == ["k4", "k2", "k1", "k3", "k0", "k5"]
    filters = {"prefix": "k", "search": "a"}
    assert keys(RESOURCES, RESOURCES.list(tx, filters, order=Order("ended"))) == ["k3", "k-1", "k1"]
    assert keys(RESOURCES, RESOURCES.list(tx, filters, order=Order("ended"), before="k1")) == ["k3", "k-1"]


def test_search_has_a_maximum_length(small: Engine) -> None:
    with transaction(small) as tx:
        assert NODES.list(tx, {"search": "x" * 255}) == []
    with rejected(small, "^search: must have at most 255 characters$") as tx:
        NODES.list(tx, {"search": "x" * 256})
