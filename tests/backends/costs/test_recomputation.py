"""The report, recomputed from the record hour by hour in SQL alone, without the console's code."""

import random
import sqlite3
from contextlib import closing
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select

from cloudconsole.backends.costs.reports import RecordedCosts
from cloudconsole.store.tables import billing_closings, billing_entries, price_entries
from tests.backends.costs.billing_histories import Operator
from tests.backends.small_cloud import ACME, ISSUER, SmallCloud
from tests.core.test_billing_hours import at
from tests.stores import run

# In UTC, where months and hours follow from the number of seconds. A price is looked up by kind, node, the time, and
# when it had to be known.
PRICE = """
    SELECT price.billionths FROM price_entries AS price
    WHERE price.kind = {kind} AND (price.node_id = {node_id} OR price.node_id IS NULL)
        AND price.start <= {moment} AND ({moment} < price.until OR price.until IS NULL)
        AND price.id = (
            SELECT MAX(version.id) FROM price_entries AS version
            WHERE version.kind = price.kind AND version.node_id IS price.node_id AND version.start = price.start
                AND version.known_from < {known_until}
        )
    ORDER BY price.node_id IS NULL, price.start DESC LIMIT 1
"""
RECOMPUTATION = f"""
    WITH RECURSIVE
    entries AS (
        SELECT *, counts_from - counts_from % 3600 AS hour, CASE kind WHEN 'volume' THEN size_gb ELSE items END AS units
        FROM billing_entries WHERE tenant_id = :tenant AND counts_from <= :now
    ),
    hours (hour) AS (
        SELECT MIN(hour) FROM entries UNION ALL SELECT hour + 3600 FROM hours WHERE hour + 3600 <= :now
    ),
    known AS (
        SELECT hour, COALESCE((SELECT MIN(until) FROM billing_closings WHERE until > hour), 1 << 40) AS known_until
        FROM hours
    ),
    running AS (
        SELECT known.hour, known_until, kind, node_id, SUM(units) AS units
        FROM known JOIN entries ON entries.hour + 3600 * skips_hour <= known.hour
        GROUP BY known.hour, known_until, kind, node_id
    ),
    costs AS (
        SELECT hour, units * COALESCE(({
    PRICE.format(
        kind="running.kind",
        node_id="running.node_id",
        moment="MIN(running.hour + 3599, :now)",
        known_until="running.known_until",
    )
}), 0) AS cost FROM running
        UNION ALL
        SELECT hour, -units * (COALESCE(({
    PRICE.format(kind="ends.kind", node_id="ends.node_id", moment="ends.counts_from", known_until="ends.known_until")
}), 0) - COALESCE(({
    PRICE.format(
        kind="ends.kind",
        node_id="ends.node_id",
        moment="MIN(ends.hour + 3599, :now)",
        known_until="ends.known_until",
    )
}), 0)) FROM (
            SELECT entries.*, known_until FROM entries JOIN known ON known.hour = entries.hour WHERE skips_hour = 1
        ) AS ends
        UNION ALL
        SELECT hour, CAST(correction AS INTEGER) FROM entries
    )
    SELECT strftime('%Y-%m', hour, 'unixepoch'), SUM(cost) FROM costs GROUP BY 1
"""


def exported_record(cloud: SmallCloud) -> sqlite3.Connection:
    """A database that only has the record."""
    copy = sqlite3.connect(":memory:")
    with cloud.engine.connect() as connection:
        for table in (billing_entries, price_entries, billing_closings):
            names = [column.name for column in table.columns]
            copy.execute(f"CREATE TABLE {table.name} ({', '.join(names)})")
            rows = [tuple(row) for row in connection.execute(select(table))]
            copy.executemany(f"INSERT INTO {table.name} VALUES ({', '.join('?' * len(names))})", rows)
    return copy


@pytest.mark.parametrize("seed", range(3))
def test_the_report_equals_a_recomputation_in_sql(cloud: SmallCloud, seed: int) -> None:
    zone = ZoneInfo("UTC")
    operator = Operator(cloud, random.Random(f"recomputed {seed}"), zone, at("2026-01-20"))
    while operator.now < at("2026-07-10"):
        operator.step()
    cloud.clock.moment = operator.now
    report = run(RecordedCosts(cloud.reader, cloud.clock, zone, ISSUER).report(ACME)).record
    with closing(exported_record(cloud)) as connection:
        found = connection.execute(RECOMPUTATION, {"tenant": ACME.id, "now": operator.now}).fetchall()
    recomputed = {month: Decimal(cost) / 10**9 for month, cost in found}
    assert len(recomputed) >= 7
    for bill in report:
        assert recomputed.get(bill.bill_month, Decimal(0)) == Decimal(bill.total or 0), bill.bill_month
