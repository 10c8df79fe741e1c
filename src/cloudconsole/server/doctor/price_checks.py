"""Prices: every billable resource of the store has one, or its tenant's estimate is an error."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import text

from cloudconsole.core.clock import time_text
from cloudconsole.core.pricing import Price, PriceBook, clock_hour
from cloudconsole.core.resources import PRICED_UNITS, Amounts
from cloudconsole.server.doctor.findings import Case, Finding, ok, problem
from cloudconsole.server.doctor.store_checks import looking_at
from cloudconsole.spec.records import ResourceType

MOST_NAMED: Final = 5
PRICE_IT: Final = "give it a price; 0, as here, is free of charge"

_PRICES: Final = text("SELECT kind, unit, node_id, start, billionths FROM prices WHERE type IS NULL")
_ONE: Final = Amounts(items=1)
# A price stays in force until the next one: what has a price at the earliest moment has one at every later moment.
_BILLED: Final = text("""
    SELECT resources.node_id AS node_id, nodes.name AS node, COUNT(*) AS number,
        MIN(COALESCE(resources.ended_at, :now)) AS earliest
    FROM resources LEFT JOIN nodes ON nodes.id = resources.node_id
    WHERE resources.kind = :kind AND resources.started_at <= :now
        AND (resources.ended_at IS NULL OR resources.ended_at >= :since)
    GROUP BY resources.node_id, nodes.name ORDER BY nodes.name
""")


def check_prices(case: Case) -> Iterator[Finding]:
    findings = list(_unpriced(case))
    yield from findings
    if not findings:
        yield ok("all billable resources have one")


def _unpriced(case: Case) -> Iterator[Finding]:
    now, since = int(case.now), clock_hour(case.now, case.settings.zone).start
    with looking_at(case, "cloud") as connection:
        book = PriceBook(Price(*row) for row in connection.execute(_PRICES))
        for kind in PRICED_UNITS:
            billed = connection.execute(_BILLED, {"kind": kind, "now": now, "since": since}).all()
            rows = [row for row in billed if book.hourly(kind, row.node_id, _ONE, min(now, row.earliest)) is None]
            if rows:
                more = f" and {len(rows) - MOST_NAMED} more" if len(rows) > MOST_NAMED else ""
                places = ", ".join(str(row.node) for row in rows[:MOST_NAMED])
                yield problem(
                    f"{sum(row.number for row in rows)} × {kind} on {places}{more} without a price: "
                    "the estimates of their tenants are errors",
                    PRICE_IT,
                    _price_command(case, kind, min(now, *(row.earliest for row in rows))),
                )


def _price_command(case: Case, kind: ResourceType, at: int) -> str:
    start = time_text(at // 3600 * 3600)
    words = ("--kind", kind, "--unit", PRICED_UNITS[kind][0], "--price", "0", "--from", start)
    return case.command("admin", "price", "add", *words)
