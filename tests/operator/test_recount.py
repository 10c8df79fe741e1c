"""Totals that something else has put out of order, found and set right."""

from datetime import UTC
from pathlib import Path

from sqlalchemy import Engine, delete, update

from cloudconsole.core.kinds import Amounts
from cloudconsole.operator.keeping.recount import recount
from cloudconsole.store import tables, totals
from tests.operator.clouds import SMALL, counted_totals, load_text, rows, stored_totals


def wrong(engine: Engine) -> list[tuple[int, str, int]]:
    with engine.begin() as connection:
        return totals.wrong(connection)


def test_right_totals_are_left_alone(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, SMALL)
    before = rows(engine, tables.operator_audit)
    assert wrong(engine) == []
    assert recount(engine, actor="ann", now=1, zone=UTC) == 0
    assert rows(engine, tables.operator_audit) == before


def test_a_total_of_nothing_is_not_wrong(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, SMALL)
    with engine.begin() as connection:
        totals.add_all(connection, {(2, "volume", 1): Amounts()})
    assert wrong(engine) == []


def test_wrong_missing_and_needless_totals_are_found_and_mended(engine: Engine, tmp_path: Path) -> None:
    load_text(engine, tmp_path, SMALL)
    kinds = tables.totals.c.kind
    with engine.begin() as connection:
        connection.execute(update(tables.totals).where(kinds == "volume").values(size_gb=7))
        connection.execute(delete(tables.totals).where(kinds == "keypair"))
        totals.add_all(connection, {(2, "snapshot", 1): Amounts(1, 0, 0, 0, 5)})
    assert {kind for _, kind, _ in wrong(engine)} == {"volume", "keypair", "snapshot"}
    assert recount(engine, actor="ann", now=1, zone=UTC) == 3
    assert stored_totals(engine) == counted_totals(engine)
    assert rows(engine, tables.operator_audit)[-1]["change"] == "recount"
