"""Tables of the performance pages, built from the results of a part."""

from collections.abc import Callable, Sequence

from bench.measurements import Latencies, Measurement, PartResult, Ratio, Spread, Table, UpperLimit


def ratio_table(part: PartResult) -> Table:
    """All ratios and limits of a part."""
    rows = [[each.name, spread_text(each.spread, fixed), target(each)] for each in part.ratios]
    return Table(["ratio", "median (min–max)", "target"], rows + limit_rows(part))


def limit_table(part: PartResult) -> Table:
    return Table(["limit", "value", "target"], limit_rows(part))


def limit_rows(part: PartResult) -> list[list[str]]:
    return [[each.name, amount(each), target(each)] for each in part.limits]


class ByName:
    """A part's results by their names."""

    def __init__(self, part: PartResult) -> None:
        self.ratios: dict[str, Ratio] = {each.name: each for each in part.ratios}
        self.measurements: dict[str, Measurement] = {each.name: each for each in part.measurements}
        self.limits: dict[str, UpperLimit] = {each.name: each for each in part.limits}
        self.latencies: dict[str, Latencies] = {each.name: each for each in part.latencies}

    def ratio(self, name: str) -> str:
        """Format the median and range of a ratio; a missed target is marked."""
        found = self.ratios[name]
        return spread_text(found.spread, fixed) + ("" if found.met in (None, True) else " (missed)")

    def median(self, name: str) -> str:
        return number(self.measurements[name].spread.median)

    def spread(self, name: str) -> str:
        return spread_text(self.measurements[name].spread)

    def cpu(self, name: str) -> str:
        values = self.measurements[name].cpu_us
        return number(sorted(values)[len(values) // 2])

    def percentiles(self, name: str) -> list[str]:
        return [number(self.latencies[name].percentile(percent)) for percent in (50, 99)]


def markdown(table: Table) -> list[str]:
    return [_row(table.head), "|" + "---|" * len(table.head), *(_row(row) for row in table.rows), ""]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def target(result: Ratio | UpperLimit) -> str:
    if result.met is None:
        return ""
    if isinstance(result, UpperLimit):
        bounds = f"<{number(result.below)} {result.unit}"
    elif result.at_least is not None and result.at_most is not None:
        bounds = f"{result.at_least:g}–{result.at_most:g}"
    else:
        bounds = f"≥{result.at_least:g}" if result.at_most is None else f"≤{result.at_most:g}"
    return f"{bounds}: {'met' if result.met else 'missed'}"


def amount(limit: UpperLimit) -> str:
    return f"{limit.value:,.0f} {limit.unit}"


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def fixed(value: float) -> str:
    return f"{value:.2f}"


def spread_text(values: Spread, text: Callable[[float], str] = number) -> str:
    return f"{text(values.median)} ({text(values.minimum)}–{text(values.maximum)})"
