"""Detection and repair of incorrect counters."""

from datetime import UTC
from pathlib import Path

import pytest
from sqlalchemy import Engine, delete, text, update

from cloudconsole.core.resources import Amounts
from cloudconsole.operator.entities.resources import recount
from cloudconsole.store import counters, tables
from tests.operator.clouds import SMALL, assert_counters_correct, load_text, rows


def incorrect(engine: Engine) -> list[str]:
    with engine.begin() as connection:
        return counters.incorrect_counters(connection)


def test_correct_counters_are_left_alone(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, SMALL)
    before = rows(engine, tables.operator_audit)
    assert incorrect(engine) == []
    assert recount(engine, actor="ann", now=1, zone=UTC) == 0
    assert rows(engine, tables.operator_audit) == before


def test_zero_totals_are_correct(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, SMALL)
    with engine.begin() as connection:
        counters.add_cost_totals(connection, {(2, "volume", 1): Amounts()})
        counters.add_quota_usage(connection, {}, {2: 1_900_000_000})
    assert incorrect(engine) == []


def test_incorrect_missing_and_extra_totals_are_repaired(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, SMALL)
    kinds = tables.totals.c.kind
    with engine.begin() as connection:
        connection.execute(update(tables.totals).where(kinds == "volume").values(size_gb=7))
        connection.execute(delete(tables.totals).where(kinds == "keypair"))
        counters.add_cost_totals(connection, {(2, "snapshot", 1): Amounts(1, 0, 0, 0, 5)})
    assert incorrect(engine) == ["keypair of tenant demo", "volume of tenant demo", "snapshot of tenant other"]
    assert recount(engine, actor="ann", now=1, zone=UTC) == 3
    assert_counters_correct(engine)
    assert rows(engine, tables.operator_audit)[-1]["change"] == "recount"


@pytest.mark.parametrize(
    "corruption",
    [
        "UPDATE usage SET keypairs = keypairs + 1 WHERE tenant_id = 1",
        "UPDATE usage SET settled_at = settled_at - 1 WHERE tenant_id = 1",
        "DELETE FROM usage WHERE tenant_id = 1",
    ],
)
def test_incorrect_usage_is_repaired(engine: Engine, tmp_path: Path, corruption: str) -> None:
    load_text(engine, tmp_path, SMALL)
    with engine.begin() as connection:
        connection.execute(text(corruption))
    assert incorrect(engine) == ["quotas of tenant demo"]
    assert recount(engine, actor="ann", now=1, zone=UTC) == 1
    assert_counters_correct(engine)


def test_usage_of_a_tenant_without_resources_is_repaired(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, SMALL)
    with engine.begin() as connection:
        counters.add_quota_usage(connection, {(2, "keypair", None): Amounts(1)}, {})
    assert incorrect(engine) == ["quotas of tenant other"]
    assert recount(engine, actor="ann", now=1, zone=UTC) == 1
    assert_counters_correct(engine)
