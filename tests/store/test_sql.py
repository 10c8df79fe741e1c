"""Bulk statements: rows are stored exactly, in any number."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, insert, select
from sqlalchemy.exc import IntegrityError

from cloudconsole.store import sql
from cloudconsole.store.sql import delete_rows, in_values, insert_rows, update_rows
from cloudconsole.store.tables import accounts, news, nodes, resources, tenants
from tests.stores import open_engine


@pytest.fixture
def engine(folder: Path) -> Iterator[Engine]:
    opened = open_engine(folder, "cloud")
    with opened.begin() as connection:
        connection.execute(insert(tenants).values(name="demo"))
        connection.execute(insert(nodes).values(name="hk-1"))
    yield opened
    opened.dispose()


def item(number: int, **more: Any) -> dict[str, Any]:
    plain = {"published_at": 1_800_000_000, "title": f"item {number}", "url": "https://example.com/", "disabled": False}
    return {"id": number, **plain, "language": None, "pinned": False, **more}


def news_of(engine: Engine) -> list[dict[str, Any]]:
    with engine.begin() as connection:
        return [dict(row) for row in connection.execute(select(news).order_by(news.c.id)).mappings()]


def test_rows_are_stored_exactly(engine: Engine) -> None:
    given = [
        item(1, published_at=2**63 - 1, title="上线 \"quoted\" 'twice' \\ %s :name ?", disabled=True),
        item(2, published_at=-(2**63), title="", language="zh", pinned=True),
        item(3, title='{"before": [null, "\\u0000"]}'),
    ]
    with engine.begin() as connection:
        insert_rows(connection, news, given)
    assert news_of(engine) == given


def test_null_and_63_bit_numbers_stay_exact(engine: Engine) -> None:
    sizes = {"vcpus": 0, "ram_mb": 0, "disk_gb": 0, "size_gb": 0}
    row = {"id": "k-1", "tenant_id": 1, "kind": "keypair", "name": "null", "node_id": None, **sizes}
    account = {"tenant_id": 1, "username": "ann", "role": "tenant", "password_hash": "x", "disabled": False}
    with engine.begin() as connection:
        insert_rows(connection, resources, [{**row, "started_at": 5, "ended_at": None}])
        (found,) = connection.execute(select(resources)).mappings()
        insert_rows(connection, accounts, [account | {"version": 2**63 - 2}])
        assert connection.scalar(select(accounts.c.version)) == 2**63 - 2
    assert (found["name"], found["node_id"], found["ended_at"]) == ("null", None, None)


@pytest.mark.parametrize("count", [0, 1, 4, 7, 8])
def test_any_number_of_rows_is_written(engine: Engine, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(sql, "MAX_ROWS_PER_STATEMENT", 4)
    with engine.begin() as connection:
        insert_rows(connection, news, (item(number) for number in range(count)))
    assert news_of(engine) == [item(number) for number in range(count)]
    with engine.begin() as connection:
        update_rows(connection, news, ({"id": number, "title": f"new {number}"} for number in range(count)))
    assert news_of(engine) == [item(number, title=f"new {number}") for number in range(count)]
    with engine.begin() as connection:
        delete_rows(connection, news.c.id, range(count))
    assert news_of(engine) == []


def test_other_rows_are_not_changed(engine: Engine) -> None:
    with engine.begin() as connection:
        insert_rows(connection, news, [item(1), item(2), item(3)])
        update_rows(connection, news, [{"id": 2, "title": "new"}, {"id": 9, "title": "nowhere"}])
        delete_rows(connection, news.c.id, [3, 9])
    assert news_of(engine) == [item(1), item(2, title="new")]


def test_omitted_columns_get_their_defaults(engine: Engine) -> None:
    with engine.begin() as connection:
        insert_rows(connection, tenants, [{"name": "a"}, {"name": "b"}])
        found = connection.execute(select(tenants).where(tenants.c.id > 1).order_by(tenants.c.id)).mappings().all()
    assert [(row["name"], row["disabled"], row["guests_ended_at"]) for row in found] == [("a", 0, 0), ("b", 0, 0)]


def test_duplicate_row_is_rejected_unless_a_conflict_clause_is_given(engine: Engine) -> None:
    rows, names = [{"name": "hk-2"}, {"name": "hk-1"}], select(nodes.c.name).order_by(nodes.c.name)
    with pytest.raises(IntegrityError), engine.begin() as connection:
        insert_rows(connection, nodes, rows)
    with engine.begin() as connection:
        assert connection.scalars(names).all() == ["hk-1"]
        insert_rows(connection, nodes, rows, "ON CONFLICT (name) DO NOTHING")
        assert connection.scalars(names).all() == ["hk-1", "hk-2"]


@pytest.mark.parametrize(("values", "found"), [([], []), ([2], [2]), ([3, 1, 9, 1], [1, 3])])
def test_rows_are_found_by_any_of_many_values(engine: Engine, values: list[int], found: list[int]) -> None:
    with engine.begin() as connection:
        insert_rows(connection, news, [item(1), item(2), item(3)])
        chosen = select(news.c.id).where(in_values(connection, news.c.id, values)).order_by(news.c.id)
        assert connection.scalars(chosen).all() == found


def test_two_conditions_can_be_combined(engine: Engine) -> None:
    with engine.begin() as connection:
        insert_rows(connection, news, [item(1), item(2), item(3)])
        both = in_values(connection, news.c.id, [1, 2]), in_values(connection, news.c.title, ["item 2", "item 3"])
        assert connection.scalars(select(news.c.id).where(*both)).all() == [2]
