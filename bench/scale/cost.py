"""What each kind of work costs, measured one by one; checked against a mix of all of them with twice the workers."""

import random
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import cycle, islice
from typing import Final

from bench import servers
from bench.background import Paced, change, demo_login
from bench.figures import Measured, PartResult, Ratio, Refused, Unit
from bench.parts.actions import requests_of
from bench.rounds import Pace, in_turn
from bench.scale.calls import Freshness, cold_requests, filled, logout_request
from bench.scale.database import SMALL, Database, copy_of, database, empty_folder, postgres
from bench.scale.model import (
    CHANGE,
    COLD,
    CONSOLE,
    DATABASE,
    IDLE,
    KINDS,
    LOGIN,
    LOGOUT,
    QUERIES,
    SPENT,
    USE,
    WARM,
    Costs,
    Point,
    fit,
)
from bench.scale.pacing import Request, send
from bench.scale.planning import BUSY, planned, shared_notes
from bench.scale.spending import Meter
from bench.servers import Server
from cloudconsole.server.http.sessions import GATHERING_SECONDS

SECONDS_EACH: Final = 3
"""How much longer than a variant of other parts a point is measured."""

LIMIT: Final = 1.25
"""How far from what was measured the model may be, either way."""

ALONE: Final[dict[str, dict[str, float]]] = {
    "nothing": {},
    **{f"warm calls, {rate} a second": {WARM: rate} for rate in (50, 200, 1000)},
    **{f"cold calls, {rate} a second": {COLD: rate} for rate in (15, 60, 300)},
    **{f"cold calls, noted, {rate} a second": {COLD: rate, USE: rate} for rate in (15, 60, 300)},
    **{f"logins, {rate} a second": {LOGIN: rate} for rate in (1, 2, 8)},
    **{f"logouts, {rate} a second": {LOGOUT: rate} for rate in (5, 20, 80)},
    **{f"changes, {rate} a second": {CHANGE: rate} for rate in (1, 2, 6)},
}
"""What the model is fitted on: how many of each kind a second, from seldom, when each takes more, to often."""

MIXES: Final[dict[str, dict[str, float]]] = {
    "a quiet mix on two workers": {WARM: 300, COLD: 30, USE: 30, LOGIN: 1, LOGOUT: 1, CHANGE: 1},
    "a busy mix on two workers": {WARM: 700, COLD: 120, USE: 120, LOGIN: 4, LOGOUT: 4, CHANGE: 3},
}
"""What it is checked against."""

_UNITS: Final[dict[str, Unit]] = {CONSOLE: "µs", DATABASE: "µs", QUERIES: "queries"}


def run(pace: Pace) -> PartResult:
    rounds: list[list[Point]] = []
    with ExitStack() as stack:
        tables = stack.enter_context(copy_of(database(stack.enter_context(postgres()), SMALL)))
        folder = stack.enter_context(empty_folder())
        # Both cores: with one, two workers would be one.
        one, two = (
            stack.enter_context(servers.console(folder, "--database", tables.address, workers=workers, core=None))
            for workers in (1, 2)
        )
        bench = Bench(tables, one, two, pace.seconds * SECONDS_EACH)
        stack.callback(bench.close)
        bench.begin()
        points = [(name, rates, one) for name, rates in ALONE.items()] + [(*mix, two) for mix in MIXES.items()]
        for number in range(pace.rounds):
            rounds.append([bench.measure(*point) for point in in_turn(points, number)])
            sys.stderr.write(f"  round {number + 1} of {pace.rounds}\n")
    return result(rounds)


def result(rounds: list[list[Point]]) -> PartResult:
    """The model of each round is fitted and checked within it; what is planned with is fitted on all of them."""
    models = [fit([point for point in points if point.name in ALONE]) for points in rounds]
    whole = fit([point for points in rounds for point in points if point.name in ALONE])
    return PartResult(
        "cost",
        [_checked(rounds, models, mix, spent) for mix in MIXES for spent in SPENT],
        [_cost(models, kind, spent) for kind in KINDS for spent in SPENT],
        notes=[*shared_notes(), f"On paper: {BUSY:.0%} of a core is what a worker may be busy."],
        tables=planned(whole),
    )


def _cost(models: list[Costs], kind: str, spent: str) -> Measured:
    factor = 1 if spent == QUERIES else 1e6
    of = "" if spent == QUERIES else f", processor time of the {spent}"
    return Measured(f"{kind}{of}", _UNITS[spent], [model.of[spent][kind] * factor for model in models])


def _checked(rounds: list[list[Point]], models: list[Costs], mix: str, spent: str) -> Ratio:
    points = [next(point for point in points if point.name == mix) for points in rounds]
    found = [
        model.predict(point.amounts)[spent] / point.spent[spent] for model, point in zip(models, points, strict=True)
    ]
    what = QUERIES if spent == QUERIES else f"processor time of the {spent}"
    return Ratio(f"{mix}: {what}, the model's / measured", found, 1 / LIMIT, LIMIT)


class Bench:
    """Does the work of a point, and reads what it took."""

    def __init__(self, tables: Database, one: Server, two: Server, seconds: int) -> None:
        self._database = tables
        self._consoles = [one, two]
        self._seconds = seconds
        self._fresh = Freshness(tables)
        self._warm = cycle(requests_of(tables.demo()).values())
        callers = list(tables.callers())
        # Each is asked for once in a long while, or logged out once: from both ends, so that they do not meet.
        self._cold = cycle(callers[: len(callers) // 2])
        self._leaving = iter(callers[len(callers) // 2 :])
        self._templates = cycle(cold_requests().values())
        self._login = demo_login(tables)
        self._engine = tables.store.open_engine("cloud")
        self._change = change(self._engine)

    def begin(self) -> None:
        """Work of every kind for every worker: what their connections do for the first time takes them longer."""
        for console in self._consoles:
            self.measure("to begin with", MIXES["a busy mix on two workers"], console)

    def close(self) -> None:
        self._engine.dispose()

    def measure(self, name: str, rates: dict[str, float], console: Server) -> Point:
        if USE in rates:
            self._fresh.lose()
        else:
            self._fresh.keep()
        requests = self._requests(rates)
        rate = len(requests) / self._seconds
        meter, began = Meter(self._consoles, self._database), time.monotonic()
        changes = Paced(self._change, rates[CHANGE]) if CHANGE in rates else None
        try:
            counts = send(console.port, requests, rate)[0] if requests else {}
            time.sleep(max(0.0, began + self._seconds - time.monotonic()))
        finally:
            if changes is not None:
                changes.end()
        # What is written behind the calls is a part of this point, and not of the next one.
        time.sleep(2 * GATHERING_SECONDS)
        took, spent = time.monotonic() - began, meter.spent()
        amounts = {kind: float(count) for kind, count in counts.items()}
        if USE in rates:
            # Of each caller's first call in a while; those whose calls are warm call all the time.
            amounts[USE] = amounts[COLD]
        if changes is not None:
            if changes.problem is not None:
                raise Refused(f"{name}: a change failed: {changes.problem}")
            amounts[CHANGE] = float(changes.done)
        workers = sum(len(each.processes) - (1 if len(each.processes) > 1 else 0) for each in self._consoles)
        return Point(name, {IDLE: took * workers, **amounts}, spent)

    def _requests(self, rates: dict[str, float]) -> list[Request]:
        found = [
            Request(kind, content)
            for kind, rate in rates.items()
            if kind not in (CHANGE, USE)
            for content in islice(self._contents(kind), round(rate * self._seconds))
        ]
        random.shuffle(found)
        return found

    def _contents(self, kind: str) -> Iterator[bytes]:
        if kind == WARM:
            return self._warm
        if kind == COLD:
            return (filled(next(self._templates), *caller) for caller in self._cold)
        if kind == LOGIN:
            return cycle([self._login])
        return (logout_request(caller) for caller, _ in self._leaving)
