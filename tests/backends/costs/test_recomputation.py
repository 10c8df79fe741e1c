"""A year of costs, recomputed from the record hour by hour in SQL alone, without the console's code."""

import random
import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from datetime import date
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select

from cloudconsole.backends.costs.reports import RecordedCosts
from cloudconsole.store.tables import billing_closings, billing_entries, price_entries
from tests.backends.costs.billing_histories import NODE_IDS, Operator
from tests.backends.costs.test_rows import consumptions
from tests.backends.small_cloud import ACME, ISSUER, SmallCloud
from tests.core.test_billing_hours import at
from tests.stores import run

# In UTC, where days and hours follow from the number of seconds. A price is looked up by kind, node, the time, and
# when it had to be known.
PRICE: Final = """
    COALESCE((
        SELECT price.billionths FROM price_entries AS price
        WHERE price.kind = {row}.kind AND (price.node_id = {row}.node_id OR price.node_id IS NULL)
            AND price.start <= {moment} AND ({moment} < price.until OR price.until IS NULL)
            AND price.id = (
                SELECT MAX(version.id) FROM price_entries AS version
                WHERE version.kind = price.kind AND version.node_id IS price.node_id AND version.start = price.start
                    AND version.known_from < {row}.known_until
            )
        ORDER BY price.node_id IS NULL, price.start DESC LIMIT 1
    ), 0)
"""
AT_THE_END: Final = "MIN({row}.hour + 3599, :now)"
"""Hours have the price at their end."""

RECOMPUTATION: Final = (
    """
    CREATE TABLE entries AS
    SELECT *, counts_from - counts_from % 3600 AS hour, CASE kind WHEN 'volume' THEN size_gb ELSE items END AS units
    FROM billing_entries WHERE tenant_id = :tenant AND counts_from <= :now
    """,
    """
    CREATE TABLE hours (hour INTEGER PRIMARY KEY, known_until)
    """,
    """
    WITH RECURSIVE
    every (hour) AS (SELECT MIN(hour) FROM entries UNION ALL SELECT hour + 3600 FROM every WHERE hour + 3600 <= :now)
    INSERT INTO hours
    SELECT hour, COALESCE((SELECT MIN(until) FROM billing_closings WHERE until > hour), 1 << 40) FROM every
    """,
    f"""
    CREATE TABLE hourly_prices AS
    SELECT hour, kind, node_id, {PRICE.format(row="used", moment=AT_THE_END.format(row="used"))} AS price
    FROM (SELECT * FROM hours, (SELECT DISTINCT kind, node_id FROM entries)) AS used
    """,
    """
    CREATE UNIQUE INDEX prices_of_hours ON hourly_prices (hour, kind, node_id)
    """,
    """
    CREATE TABLE changes AS
    SELECT resource_id, kind, node_id, hour + 3600 * skips_hour AS hour, SUM(units) AS units
    FROM entries GROUP BY 1, 2, 3, 4
    """,
    """
    CREATE TABLE running AS
    SELECT resource_id, kind, node_id, hour AS since, SUM(units) OVER resource AS units,
        LEAD(hour, 1, :now + 1) OVER resource AS until
    FROM changes WINDOW resource AS (PARTITION BY resource_id, kind, node_id ORDER BY hour)
    """,
    f"""
    CREATE TABLE costs AS
    SELECT hour AS moment, resource_id, kind, node_id, units * price AS cost
    FROM running JOIN hours ON hour >= since AND hour < until JOIN hourly_prices USING (hour, kind, node_id)
    WHERE units <> 0
    UNION ALL
    SELECT hour, resource_id, kind, node_id, units * ({PRICE.format(row="ends", moment=AT_THE_END.format(row="ends"))}
        - {PRICE.format(row="ends", moment="ends.counts_from")})
    FROM (SELECT entries.*, known_until FROM entries JOIN hours USING (hour) WHERE skips_hour = 1) AS ends
    UNION ALL
    SELECT MAX(counts_from, recorded_at), resource_id, kind, node_id, CAST(correction AS INTEGER) FROM entries
    """,
)


def recomputed(cloud: SmallCloud, now: int) -> sqlite3.Connection:
    """A database that only has the record, and the costs computed from it."""
    database = sqlite3.connect(":memory:")
    with cloud.engine.connect() as connection:
        for table in (billing_entries, price_entries, billing_closings):
            names = [column.name for column in table.columns]
            database.execute(f"CREATE TABLE {table.name} ({', '.join(names)})")
            rows = [tuple(row) for row in connection.execute(select(table))]
            database.executemany(f"INSERT INTO {table.name} VALUES ({', '.join('?' * len(names))})", rows)
    for statement in RECOMPUTATION:
        database.execute(statement, {"tenant": ACME.id, "now": now})
    return database


def sums(rows: Iterable[tuple[Any, ...]]) -> dict[tuple[Any, ...], Decimal]:
    """Return the sums of the last column by the others, without those that are 0."""
    found: defaultdict[tuple[Any, ...], Decimal] = defaultdict(Decimal)
    for *key, amount in rows:
        found[tuple(key)] += Decimal(amount or 0)
    return {key: amount for key, amount in found.items() if amount}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_every_row_and_sum_of_a_year_equals_a_recomputation_in_sql(cloud: SmallCloud, seed: int) -> None:
    zone = ZoneInfo("UTC")
    operator = Operator(cloud, random.Random(f"recomputed {seed}"), zone, at("2026-02-11"))
    while operator.now < at("2026-12-22"):
        operator.step()
    now = cloud.clock.moment = operator.now
    costs = RecordedCosts(cloud.reader, cloud.clock, zone, ISSUER)
    with closing(recomputed(cloud, now)) as database:

        def expected(columns: str) -> dict[tuple[Any, ...], Decimal]:
            found = sums(database.execute(f"SELECT {columns}, cost FROM costs"))
            return {key: amount / 10**9 for key, amount in found.items()}

        rows = consumptions(costs, start_at=date(2026, 1, 1), end_at=date(2026, 12, 31), interval="day")
        by_day = ((row.start_at[:10], row.res_id, row.res_type, NODE_IDS[row.region], row.amount) for row in rows)
        assert sums(by_day) == expected("date(moment, 'unixepoch'), resource_id, kind, node_id")
        months = run(costs.report(ACME)).record
        assert sums((bill.bill_month, bill.total) for bill in months) == expected(
            "strftime('%Y-%m', moment, 'unixepoch')"
        )
        summary = run(costs.summary(ACME, "")).record
        assert sums((item.res_type, item.amount) for item in summary[:-1]) == expected("kind")
        assert Decimal(summary[-1].amount or 0) == sum(expected("kind").values())
        for node, node_id in NODE_IDS.items():
            summary = run(costs.summary(ACME, node)).record
            assert Decimal(summary[-1].amount or 0) == expected("node_id")[node_id,]
