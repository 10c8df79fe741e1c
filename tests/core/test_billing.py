"""Costs of past hours, compared with a simulation of each hour of each resource."""

import random
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest

from cloudconsole.core.billing import (
    CostKey,
    Entry,
    cost_of,
    end_price_difference,
    sum_up,
    unit_hours,
)
from cloudconsole.core.billing_hours import Calendar, spans
from cloudconsole.core.pricing import Price, PriceBook
from cloudconsole.core.resources import Amounts
from tests.core.test_billing_hours import at

START, END = at("2026-02-25"), at("2026-05-03")


class Life(NamedTuple):
    """States of one resource from each time on, and its end."""

    states: list[tuple[int, CostKey, Amounts]]
    end: int | None


def random_life(rng: random.Random) -> Life:
    kind = rng.choice(["volume", "instance"])
    moment = rng.randrange(START, END)
    states = []
    for _ in range(rng.randint(1, 4)):
        amounts = (
            Amounts(1, rng.randint(1, 4), 0, rng.randint(1, 8))
            if kind == "instance"
            else Amounts(1, size_gb=rng.randint(1, 99))
        )
        states.append((moment, CostKey(kind, rng.choice([1, 2])), amounts))  # type: ignore[arg-type]
        moment += rng.choice([1, 59, 600, 3600, 7200, 86_400, 1_000_000])
    end = rng.choice([None, moment, moment])
    alive = [state for state in states if state[0] < END]
    return Life(alive, None if end is None or end >= END else end)


def entries_of(life: Life) -> list[Entry]:
    found = []
    previous = None
    for moment, key, amounts in life.states:
        if previous is not None:
            found.append(Entry(previous[0], Amounts().minus(previous[1]), moment))
        found.append(Entry(key, amounts, moment))
        previous = key, amounts
    if life.end is not None and previous is not None:
        found.append(Entry(previous[0], Amounts().minus(previous[1]), life.end, is_end=True))
    return found


def simulated(life: Life, book: PriceBook, zone: ZoneInfo) -> dict[tuple[str, int], int]:
    """The cost by kind and month start, hour by hour."""
    months = [month.start for month in Calendar(zone).months(START, END)]
    costs: dict[tuple[str, int], int] = {}
    for span in spans(START, END, zone):
        hour = span.start
        while hour < span.end:
            following = min(hour - (hour - span.phase) % 3600 + 3600, span.end)
            last = following - 1 if life.end is None else min(following - 1, life.end)
            current = [state for state in life.states if state[0] <= last]
            if current and (life.end is None or life.end >= hour):
                _, key, amounts = current[-1]
                month = max(start for start in months if start <= hour)
                cost = book.hourly(key.kind, key.node_id, amounts, last)
                assert cost is not None
                costs[key.kind, month] = costs.get((key.kind, month), 0) + cost
            hour = following
    return costs


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize(
    "zone_name", ["UTC", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu", "America/New_York"]
)
def test_sums_equal_the_simulation(seed: int, zone_name: str) -> None:
    rng, zone = random.Random(f"{seed} {zone_name}"), ZoneInfo(zone_name)
    prices = [
        Price(kind, unit, node, start, rng.randrange(1, 10**9))  # type: ignore[arg-type]
        for kind, unit in (("volume", "gb"), ("instance", "each"), ("instance", "vcpu"), ("instance", "ram_gb"))
        for node in (None, 1)
        for start in [
            0,
            *(rng.randrange(START, END) // rng.choice([1, 900, 3600]) * 3600 // 3600 for _ in range(rng.randint(0, 3))),
        ]
    ]
    book = PriceBook(prices)
    lives = [random_life(rng) for _ in range(8)]
    expected: dict[tuple[str, int], int] = {}
    for life in lives:
        for key, cost in simulated(life, book, zone).items():
            expected[key] = expected.get(key, 0) + cost

    months = [month.start for month in Calendar(zone).months(START, END)]
    starts = sorted({price.start for price in prices if START < price.start < END})
    parts = Calendar(zone).divide(START, END, starts)
    entries = [entry for life in lives for entry in entries_of(life)]
    found: dict[tuple[str, int], int] = {}
    for cost_key, uses in sum_up(entries, parts).items():
        for span, used, _ in unit_hours(uses, parts):
            month = max(start for start in months if start <= span.start)
            cost = cost_of(cost_key, used, book, span.end - 1)
            found[cost_key.kind, month] = found.get((cost_key.kind, month), 0) + cost
    for entry in entries:
        if entry.is_end:
            month = max(start for start in months if start <= entry.at)
            late = end_price_difference(entry, parts, book)
            found[entry.key.kind, month] = found.get((entry.key.kind, month), 0) + late
    assert {key: cost for key, cost in found.items() if cost} == {key: cost for key, cost in expected.items() if cost}
