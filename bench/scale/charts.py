"""The charts of the page."""

from typing import Final

from bench.charts import Bar, Line, bars, lines
from bench.measurements import PartResult
from bench.report import Chart, Results
from bench.scale.actions import BARE, COMPARED, MIN_RATIO_TO_BARE, NGINX, POSTGRES, SQLITE
from bench.scale.cost_model import (
    KINDS,
    METRICS,
    MISS_SHARES,
    QUERIES,
    CostModel,
    planned_rates,
    required_capacity,
)
from bench.scale.workloads import HIT, MISS, REQUESTS
from bench.tables import ByName

REQUEST_RATES: Final = (1_000, 3_000, 10_000, 30_000, 100_000)


def charts(results: Results) -> list[Chart]:
    """Return the charts of the measured parts."""
    draw = {"actions": _actions, "overload": _overload, "growth": _growth, "cost": _cost}
    return [chart for part in results.parts for chart in draw[part.name](part)]


def _actions(part: PartResult) -> list[Chart]:
    found = ByName(part)
    ratios = [
        Bar(name, f"{store}, {cache}", found.ratios[f"{name}, {store}, {cache} / {BARE}"].spread)
        for name in REQUESTS
        for store in (POSTGRES, SQLITE)
        for cache in (HIT, MISS)
    ]
    series = {
        "Cloud Console": [f"{COMPARED}, {store}, {cache}" for store in (POSTGRES, SQLITE) for cache in (HIT, MISS)],
        "constant response": [f"{NGINX}: {COMPARED}", f"{BARE}: {COMPARED}"],
        "other products": [
            name for name in found.measurements if name.startswith(("Django", "Skyline", "moto", "Horizon"))
        ],
    }
    rates = [Bar(name, label, found.measurements[name].spread) for label, names in series.items() for name in names]
    rates.sort(key=lambda bar: -bar.spread.median)
    rates_title, ratios_title = "Requests per second on one core", "Throughput relative to the bare server"
    unit = f"ratio; target {MIN_RATIO_TO_BARE}"
    return [
        _chart(part, "requests-per-second", rates_title, bars(rates_title, "requests/s", rates, logarithmic=True)),
        _chart(part, "ratio-to-bare-server", ratios_title, bars(ratios_title, unit, ratios, mark=MIN_RATIO_TO_BARE)),
    ]


def _overload(part: PartResult) -> list[Chart]:
    shown = []
    for each in part.measurements:
        metric, variant = each.name.split(", ", 1)
        if each.unit == "ms":
            shown.append(Bar(variant, metric, each.spread))
    title = "p99 latency of served requests"
    return [_chart(part, "overload-p99", title, bars(title, "ms", shown, logarithmic=True))]


def _growth(part: PartResult) -> list[Chart]:
    shown = []
    for each in part.measurements:
        if each.unit == "requests/s":
            name, size, cache = each.name.rsplit(", ", 2)
            shown.append(Bar(f"{name}, {cache}", size, each.spread))
    title = "Requests per second by database size"
    return [_chart(part, "growth", title, bars(title, "requests/s", shown))]


def _cost(part: PartResult) -> list[Chart]:
    model = recorded_model(part)
    shown = []
    for share in (min(MISS_SHARES), max(MISS_SHARES)):
        needed = [(rate, required_capacity(model, planned_rates(rate, share))) for rate in REQUEST_RATES]
        shown += [
            Line(f"console, {share:.0%} misses", [(rate, float(each.workers)) for rate, each in needed]),
            Line(f"PostgreSQL, {share:.0%} misses", [(rate, each.database_cores) for rate, each in needed]),
        ]
    title = "Cores required according to the cost model"
    return [_chart(part, "required-cores", title, lines(title, "requests per second", "cores", shown))]


def recorded_model(part: PartResult) -> CostModel:
    """Rebuild the cost model from the recorded medians."""
    found = ByName(part)

    def cost(kind: str, metric: str) -> float:
        value = found.measurements[f"{kind}: {metric}"].spread.median
        return value if metric == QUERIES else value / 1e6

    return CostModel({metric: {kind: cost(kind, metric) for kind in KINDS} for metric in METRICS})


def _chart(part: PartResult, name: str, title: str, svg: str) -> Chart:
    return Chart(part.name, f"scale-{name}.svg", title, svg)
