"""On paper: what a million tenants and a hundred thousand calls a second need, by the cost model."""

import math
from typing import Final

from bench.figures import Table
from bench.scale.model import CHANGE, COLD, CONSOLE, LOGIN, LOGOUT, USE, WARM, Costs, Needs, needs
from cloudconsole.store.activity import TOUCH_SECONDS

TENANTS: Final = 1_000_000
CALLS: Final = 100_000
COLD_SHARES: Final = (0.05, 0.2, 1.0)
BUSY: Final = 0.6
WORKERS_EACH: Final = 16
CONNECTIONS_EACH: Final = 9
"""Of a worker to PostgreSQL, at the most."""

LOGINS: Final = TENANTS / (8 * 3600)
"""A second: each tenant once in a working day, and out again."""

CHANGES: Final = 10
"""A second, each of one tenant."""


def load(calls: float, cold_share: float) -> dict[str, float]:
    """What a second brings; people and operators come with the calls."""
    part = calls / CALLS
    return {
        WARM: calls * (1 - cold_share),
        COLD: calls * cold_share,
        USE: min(calls, TENANTS / TOUCH_SECONDS * part),
        LOGIN: LOGINS * part,
        LOGOUT: LOGINS * part,
        CHANGE: CHANGES * part,
    }


def planned(costs: Costs) -> list[Table]:
    head = ["of the calls cold", "cores of consoles", "workers", f"replicas of {WORKERS_EACH} workers"]
    head += ["connections", "cores of PostgreSQL", "statements a second"]
    return [Table(head, [_row(share, needs(costs, load(CALLS, share), busy=BUSY)) for share in COLD_SHARES])]


def cores(costs: Costs, calls: float, cold_share: float) -> dict[str, float]:
    found = needs(costs, load(calls, cold_share), busy=BUSY)
    return {CONSOLE: float(found.workers), "database": found.database_cores}


def shared_notes() -> list[str]:
    return [
        "Each kind of work is measured by itself, at several rates, by a steady load on one worker; the model is the "
        "cost of one of each that leaves the least error. It is checked against mixes of all of them on two workers, "
        "which it was not fitted on. Idle workers look for changes four times a second. Warm and cold calls are the "
        "six actions and `GET /api/` in turn. A change is an operator's, of one resource: what the operator's own "
        "program takes is not counted. One of what all tenants share (a price, a news item) makes every answer stale: "
        "the next call of each tenant is then almost a cold one.",
        f"On paper stand {TENANTS:,} tenants, each logging in and out once in a working day of eight hours "
        f"({LOGINS:.0f} of each a second), {CALLS:,} calls and {CHANGES} changes a second. All tenants call all the "
        f"time, so that each has its session noted as used every {TOUCH_SECONDS} s. How many calls are cold is the "
        "operator's to know: a call is warm where the same worker answered the same tenant shortly before. With calls "
        "spread evenly over a million tenants and all workers, hardly one is: that is the last row. The fewer tenants "
        "call at a time, and the more a proxy sends each to the same replica, the warmer they are. A "
        "worker under full load takes less for a call than under the steady loads of these points (see the actions "
        "above), so what stands here is on the safe side.",
    ]


def _row(share: float, found: Needs) -> list[str]:
    return [
        f"{share:.0%}",
        f"{found.console_cores:.0f}",
        f"{found.workers:,}",
        f"{math.ceil(found.workers / WORKERS_EACH):,}",
        f"{found.workers * CONNECTIONS_EACH:,}",
        f"{found.database_cores:.1f}",
        f"{found.queries:,.0f}",
    ]
