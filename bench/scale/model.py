"""A cost model: what each kind of work takes, fitted on measured points, and what a given load then needs."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from bench.figures import Refused

IDLE: Final = "a worker's second"
WARM: Final = "a warm call"
COLD: Final = "a cold call"
USE: Final = "the note that a session is in use"
LOGIN: Final = "a login"
LOGOUT: Final = "a logout"
CHANGE: Final = "a change of one tenant"
KINDS: Final = (IDLE, WARM, COLD, USE, LOGIN, LOGOUT, CHANGE)

CONSOLE: Final = "console"
DATABASE: Final = "database"
QUERIES: Final = "queries"
SPENT: Final = (CONSOLE, DATABASE, QUERIES)
"""Seconds of processor time of the console and of PostgreSQL, and statements that PostgreSQL was sent."""

Amounts = Mapping[str, float]
"""How much there was of each kind of work."""


class Point(Struct, frozen=True):
    """What was done, and what it took."""

    name: str
    amounts: dict[str, float]
    spent: dict[str, float]


class Costs(Struct, frozen=True):
    """What one of each kind takes."""

    of: dict[str, dict[str, float]]

    def predict(self, amounts: Amounts) -> dict[str, float]:
        return {spent: sum(self.of[spent][kind] * amount for kind, amount in amounts.items()) for spent in SPENT}


class Needs(Struct, frozen=True):
    """What a load needs, with each worker busy to no more than a given share."""

    workers: int
    console_cores: float
    database_cores: float
    queries: float
    """A second."""


def fit(points: Sequence[Point]) -> Costs:
    """The costs that leave the least error, relative to each point; nothing costs less than nothing."""
    return Costs({spent: _least_squares(points, spent) for spent in SPENT})


def needs(costs: Costs, amounts: Amounts, *, busy: float) -> Needs:
    """For so much of each kind in a second; each worker also costs something by being there."""
    share = busy - costs.of[CONSOLE][IDLE]
    if share <= 0:
        raise Refused("a worker that does nothing is busier than a worker should be")
    workers = max(1, math.ceil(costs.predict(amounts)[CONSOLE] / share))
    spent = costs.predict({**amounts, IDLE: workers})
    return Needs(workers, spent[CONSOLE], spent[DATABASE], spent[QUERIES])


def _least_squares(points: Sequence[Point], spent: str) -> dict[str, float]:
    kinds = list(KINDS)
    while True:
        found = dict(zip(kinds, _solve(*_normal(points, spent, kinds)), strict=True))
        below = [kind for kind in kinds if found[kind] < 0]
        if not below:
            return dict.fromkeys(KINDS, 0.0) | found
        # What would cost less than nothing costs nothing, and the others make up for it.
        kinds.remove(min(below, key=lambda kind: found[kind]))


def _normal(points: Sequence[Point], spent: str, kinds: list[str]) -> tuple[list[list[float]], list[float]]:
    """The normal equations; each point counts by its relative error, so that the small ones count as well."""
    matrix, right = [[0.0] * len(kinds) for _ in kinds], [0.0] * len(kinds)
    for point in points:
        if point.spent[spent] <= 0:
            raise Refused(f"{point.name}: took nothing of {spent}: too short to be measured")
        row = [point.amounts.get(kind, 0.0) / point.spent[spent] for kind in kinds]
        for one, value in enumerate(row):
            right[one] += value
            for other, another in enumerate(row):
                matrix[one][other] += value * another
    return matrix, right


def _solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """By Gaussian elimination; refuses where the points cannot tell the kinds apart."""
    size = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(rows[row][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        if abs(rows[column][column]) <= 1e-9 * max(1e-300, abs(matrix[column][column])):
            raise Refused("the points of the cost model do not tell all kinds of work apart")
        for row in range(size):
            if row != column:
                factor = rows[row][column] / rows[column][column]
                rows[row] = [mine - factor * pivots for mine, pivots in zip(rows[row], rows[column], strict=True)]
    return [rows[each][size] / rows[each][each] for each in range(size)]
