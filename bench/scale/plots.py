"""The pictures of the results."""

from typing import Final

from bench.charts import Bar, Line, bars, lines
from bench.figures import Measured, PartResult
from bench.report import Plot, Results
from bench.scale.actions import COMPARED, GOAL_OF_BARE, POSTGRES, SQLITE
from bench.scale.calls import CALLS
from bench.scale.model import CONSOLE, DATABASE, KINDS, QUERIES, SPENT, Costs
from bench.scale.planning import COLD_SHARES, cores

CALLS_A_SECOND: Final = (1_000, 3_000, 10_000, 30_000, 100_000)


def plots(results: Results) -> list[Plot]:
    """Of those parts that were measured."""
    drawn: list[Plot] = []
    for part in results.parts:
        drawn += {"actions": _actions, "overload": _overload, "growth": _growth, "cost": _cost}[part.name](part)
    return drawn


def _actions(part: PartResult) -> list[Plot]:
    ratios = {each.name: each.spread for each in part.ratios}
    shown = [
        Bar(call, f"{where}, {how}", ratios[f"{call}, {where}, {how} / bare"])
        for call in CALLS
        for where in (POSTGRES, SQLITE)
        for how in ("warm", "cold")
    ]
    measured = _by_name(part)
    ours = [f"{COMPARED}, {where}, {how}" for where in (POSTGRES, SQLITE) for how in ("warm", "cold")]
    floors = [f"nginx, as {COMPARED}", f"bare, as {COMPARED}"]
    theirs = [name for name in measured if name.startswith(("Django", "Skyline", "moto", "Horizon"))]
    series = {"this console": ours, "a constant answer": floors, "other programs": theirs}
    named = [Bar(name, what, measured[name].spread) for what, names in series.items() for name in names]
    ordered = sorted(named, key=lambda bar: -bar.spread.middle)
    return [
        _plot(
            "actions",
            "Calls a second of one core",
            bars("Calls a second of one core", "calls/s", ordered, logarithmic=True),
        ),
        _plot(
            "actions",
            "Each call against the bare server",
            bars("Each call against the bare server", f"ratio; the goal is {GOAL_OF_BARE}", shown, mark=GOAL_OF_BARE),
        ),
    ]


def _overload(part: PartResult) -> list[Plot]:
    shown = []
    for each in part.measured:
        what, kind = each.name.split(", ", 1)
        if each.unit == "ms":
            shown.append(Bar(kind, what, each.spread))
    title = "The slowest of a hundred served calls"
    return [_plot("overload", title, bars(title, "ms", shown, logarithmic=True))]


def _growth(part: PartResult) -> list[Plot]:
    calls = [each for each in part.measured if each.unit == "calls/s"]
    shown = []
    for each in calls:
        call, size, how = each.name.rsplit(", ", 2)
        shown.append(Bar(f"{call}, {how}", size, each.spread))
    title = "Calls a second as the database grows"
    return [_plot("growth", title, bars(title, "calls/s", shown))]


def _cost(part: PartResult) -> list[Plot]:
    costs = costs_of(part)
    shown = [
        Line(f"{where}, {share:.0%} cold", [(calls, cores(costs, calls, share)[where]) for calls in CALLS_A_SECOND])
        for where in (CONSOLE, DATABASE)
        for share in (min(COLD_SHARES), max(COLD_SHARES))
    ]
    title = "Cores needed, by the cost model"
    return [_plot("cost", title, lines(title, "calls a second", "cores", shown))]


def costs_of(part: PartResult) -> Costs:
    """The model again, from the middles of what was kept of it."""
    measured = _by_name(part)

    def one(kind: str, spent: str) -> float:
        if spent == QUERIES:
            return measured[kind].spread.middle
        return measured[f"{kind}, processor time of the {spent}"].spread.middle / 1e6

    return Costs({spent: {kind: one(kind, spent) for kind in KINDS} for spent in SPENT})


def _by_name(part: PartResult) -> dict[str, Measured]:
    return {each.name: each for each in part.measured}


def _plot(part: str, title: str, svg: str) -> Plot:
    return Plot(part, f"scale-{title.lower().replace(' ', '-').replace(',', '')}.svg", title, svg)
