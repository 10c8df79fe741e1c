"""A linear cost model: the cost of each kind of work, fitted to samples, and the capacity that a load requires."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from bench.measurements import InvalidRun, Table
from cloudconsole.store.activity_writes import TOUCH_SECONDS

IDLE: Final = "idle worker, per second"
CACHE_HIT: Final = "cache hit"
CACHE_MISS: Final = "cache miss"
SESSION_TOUCH: Final = "session touch"
"""Writing the last use of a session."""
LOGIN: Final = "login"
LOGOUT: Final = "logout"
CHANGE: Final = "operator change"
KINDS: Final = (IDLE, CACHE_HIT, CACHE_MISS, SESSION_TOUCH, LOGIN, LOGOUT, CHANGE)

CONSOLE: Final = "console CPU"
DATABASE: Final = "database CPU"
QUERIES: Final = "queries"
METRICS: Final = (CONSOLE, DATABASE, QUERIES)
"""CPU seconds of the console and of PostgreSQL, and statements sent to PostgreSQL."""

Amounts = Mapping[str, float]
"""Amount of work by kind."""

PLANNED_TENANTS: Final = 1_000_000
PLANNED_REQUESTS: Final = 100_000
"""Per second."""
PLANNED_LOGINS: Final = PLANNED_TENANTS / (8 * 3600)
"""Per second: each tenant logs in and out once in an eight-hour day."""
PLANNED_CHANGES: Final = 10
"""Per second, each of one tenant."""
MISS_SHARES: Final = (0.05, 0.2, 1.0)
MAX_UTILISATION: Final = 0.6
WORKERS_PER_REPLICA: Final = 16
CONNECTIONS_PER_WORKER: Final = 9
"""The maximum of a worker to PostgreSQL."""


class Sample(Struct, frozen=True):
    """An amount of work and its measured cost."""

    name: str
    amounts: dict[str, float]
    costs: dict[str, float]
    """By metric."""


class CostModel(Struct, frozen=True):
    """The cost of one unit of each kind of work."""

    costs: dict[str, dict[str, float]]
    """By metric, then by kind."""

    def predict(self, amounts: Amounts) -> dict[str, float]:
        return {
            metric: sum(self.costs[metric][kind] * amount for kind, amount in amounts.items()) for metric in METRICS
        }


class Capacity(Struct, frozen=True):
    workers: int
    console_cores: float
    database_cores: float
    queries: float
    """Per second."""


def fit(samples: Sequence[Sample]) -> CostModel:
    """Fit non-negative costs by least squares of the relative errors."""
    return CostModel({metric: _least_squares(samples, metric) for metric in METRICS})


def required_capacity(model: CostModel, rates: Amounts, utilisation: float = MAX_UTILISATION) -> Capacity:
    """Return the capacity for these rates per second, with workers busy up to `utilisation`."""
    share = utilisation - model.costs[CONSOLE][IDLE]
    if share <= 0:
        raise InvalidRun("an idle worker exceeds the maximum utilisation")
    workers = max(1, math.ceil(model.predict(rates)[CONSOLE] / share))
    total = model.predict({**rates, IDLE: workers})
    return Capacity(workers, total[CONSOLE], total[DATABASE], total[QUERIES])


def planned_rates(requests: float, miss_share: float) -> dict[str, float]:
    """Return the work per second of the planned load, scaled to this number of requests."""
    scale = requests / PLANNED_REQUESTS
    return {
        CACHE_HIT: requests * (1 - miss_share),
        CACHE_MISS: requests * miss_share,
        SESSION_TOUCH: min(requests, PLANNED_TENANTS / TOUCH_SECONDS * scale),
        LOGIN: PLANNED_LOGINS * scale,
        LOGOUT: PLANNED_LOGINS * scale,
        CHANGE: PLANNED_CHANGES * scale,
    }


def capacity_table(model: CostModel) -> Table:
    head = ["cache misses", "console cores", "workers", f"{WORKERS_PER_REPLICA}-worker replicas"]
    head += ["connections", "PostgreSQL cores", "queries/s"]
    return Table(head, [_row(share, model) for share in MISS_SHARES])


def _row(miss_share: float, model: CostModel) -> list[str]:
    capacity = required_capacity(model, planned_rates(PLANNED_REQUESTS, miss_share))
    return [
        f"{miss_share:.0%}",
        f"{capacity.console_cores:.0f}",
        f"{capacity.workers:,}",
        f"{math.ceil(capacity.workers / WORKERS_PER_REPLICA):,}",
        f"{capacity.workers * CONNECTIONS_PER_WORKER:,}",
        f"{capacity.database_cores:.1f}",
        f"{capacity.queries:,.0f}",
    ]


def _least_squares(samples: Sequence[Sample], metric: str) -> dict[str, float]:
    kinds = list(KINDS)
    while True:
        found = dict(zip(kinds, _solve(*_normal_equations(samples, metric, kinds)), strict=True))
        negative = [kind for kind in kinds if found[kind] < 0]
        if not negative:
            return dict.fromkeys(KINDS, 0.0) | found
        # Set the most negative cost to zero and fit the others again.
        kinds.remove(min(negative, key=lambda kind: found[kind]))


def _normal_equations(
    samples: Sequence[Sample], metric: str, kinds: list[str]
) -> tuple[list[list[float]], list[float]]:
    """Weight each sample by its relative error, so that cheap samples count as much as expensive ones."""
    matrix, right = [[0.0] * len(kinds) for _ in kinds], [0.0] * len(kinds)
    for sample in samples:
        if sample.costs[metric] <= 0:
            raise InvalidRun(f"{sample.name}: {metric} is zero: the sample is too short")
        row = [sample.amounts.get(kind, 0.0) / sample.costs[metric] for kind in kinds]
        for one, value in enumerate(row):
            right[one] += value
            for other, another in enumerate(row):
                matrix[one][other] += value * another
    return matrix, right


def _solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solve by Gaussian elimination."""
    size = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(rows[row][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        if abs(rows[column][column]) <= 1e-9 * max(1e-300, abs(matrix[column][column])):
            raise InvalidRun("the samples do not distinguish all kinds of work")
        for row in range(size):
            if row != column:
                factor = rows[row][column] / rows[column][column]
                rows[row] = [mine - factor * pivots for mine, pivots in zip(rows[row], rows[column], strict=True)]
    return [rows[each][size] / rows[each][each] for each in range(size)]
