"""SVG bar and line charts, without dependencies."""

import math
from collections.abc import Sequence
from typing import Final
from xml.sax.saxutils import escape

from msgspec import Struct

from bench.measurements import InvalidRun, Spread

WIDTH: Final = 760
LABELS: Final = 250
VALUES: Final = 90
BAR: Final = 16
GAP: Final = 10
HEADER: Final = 64
AXIS: Final = 40
PLOT: Final = 260
COLOURS: Final = ("#2563a8", "#d9822b", "#4a9a57", "#8b5fa8", "#b0413e", "#6b7280")


class Bar(Struct, frozen=True):
    """One bar: its length is the median, its line the range."""

    label: str
    series: str
    spread: Spread


class Line(Struct, frozen=True):
    name: str
    points: list[tuple[float, float]]


def bars(title: str, unit: str, shown: Sequence[Bar], *, logarithmic: bool = False, mark: float | None = None) -> str:
    """Draw horizontal bars grouped by label and coloured by series; `mark` is a vertical line, such as a target."""
    if not shown:
        raise InvalidRun(f"{title}: no data to draw")
    series = list(dict.fromkeys(bar.series for bar in shown))
    labels = list(dict.fromkeys(bar.label for bar in shown))
    width = WIDTH - LABELS - VALUES
    largest = max([bar.spread.maximum for bar in shown] + ([] if mark is None else [mark]))
    # Start a power of ten below the smallest value, so that its bar is visible.
    smallest = 10 ** math.floor(math.log10(min(bar.spread.minimum for bar in shown)) - 0.3) if logarithmic else 0.0

    def along(value: float) -> float:
        if logarithmic:
            return LABELS + width * math.log(max(value, smallest) / smallest) / math.log(largest / smallest)
        return LABELS + width * value / largest

    drawn, top = [], HEADER
    for label in labels:
        own = [bar for bar in shown if bar.label == label]
        drawn.append(_text(LABELS - 8, top + len(own) * BAR / 2 + 4, label, anchor="end"))
        for bar in own:
            middle, colour = top + BAR / 2, COLOURS[series.index(bar.series) % len(COLOURS)]
            drawn.append(_rectangle(LABELS, top + 1, along(bar.spread.median) - LABELS, BAR - 2, colour))
            drawn.append(_stroke(along(bar.spread.minimum), middle, along(bar.spread.maximum), middle, "#111827"))
            value = _number(bar.spread.median)
            drawn.append(_text(along(bar.spread.maximum) + 6, middle + 4, value))
            top += BAR
        top += GAP
    if mark is not None:
        drawn.append(_stroke(along(mark), HEADER - 6, along(mark), top, "#b0413e", dashes="4 3"))
    scale = f"{unit}, logarithmic" if logarithmic else unit
    return _svg(title, scale, series, top, drawn)


def lines(title: str, across: str, unit: str, shown: Sequence[Line]) -> str:
    """Draw lines on logarithmic axes."""
    values = [point for line in shown for point in line.points]
    if not values or any(x <= 0 or y <= 0 for x, y in values):
        raise InvalidRun(f"{title}: no data to draw, or values that are not positive")
    left, right, top, bottom = 70, WIDTH - 30, HEADER, HEADER + PLOT
    bounds = [_decades([point[axis] for point in values]) for axis in (0, 1)]

    def place(x: float, y: float) -> tuple[float, float]:
        return left + _share(x, *bounds[0]) * (right - left), bottom - _share(y, *bounds[1]) * (bottom - top)

    (low_x, high_x), (low_y, high_y) = bounds
    drawn = []
    for x in _powers(low_x, high_x):
        drawn += [_stroke(place(x, low_y)[0], top, place(x, low_y)[0], bottom, "#e5e7eb")]
        drawn += [_text(place(x, low_y)[0], bottom + 18, _number(x), anchor="middle")]
    for y in _powers(low_y, high_y):
        drawn += [_stroke(left, place(low_x, y)[1], right, place(low_x, y)[1], "#e5e7eb")]
        drawn += [_text(left - 8, place(low_x, y)[1] + 4, _number(y), anchor="end")]
    for line, colour in zip(shown, COLOURS, strict=False):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in line.points))
        drawn.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
    drawn.append(_text((left + right) / 2, bottom + 38, across, anchor="middle"))
    return _svg(title, unit, [line.name for line in shown], bottom + AXIS, drawn)


def _decades(values: list[float]) -> tuple[float, float]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return 10.0**low, 10.0 ** max(high, low + 1)


def _share(value: float, low: float, high: float) -> float:
    return math.log10(value / low) / math.log10(high / low)


def _powers(low: float, high: float) -> list[float]:
    return [10.0**power for power in range(round(math.log10(low)), round(math.log10(high)) + 1)]


def _svg(title: str, unit: str, series: list[str], height: float, drawn: list[str]) -> str:
    legend, across = [], 16.0
    for name, colour in zip(series, COLOURS, strict=False):
        if len(series) > 1:
            legend += [_rectangle(across, 40, 12, 12, colour), _text(across + 17, 50, name)]
            across += 34 + 6.6 * len(name)
    size = f'width="{WIDTH}" height="{height + 8:.0f}" viewBox="0 0 {WIDTH} {height + 8:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" fill="#111827">',
            f"<title>{escape(title)}</title>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            f'<text x="16" y="24" font-size="15" font-weight="bold">{escape(title)}'
            f'<tspan font-size="12" font-weight="normal" fill="#6b7280"> ({escape(unit)})</tspan></text>',
            *legend,
            *drawn,
            "</svg>\n",
        ]
    )


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _rectangle(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}" fill="{colour}"/>'


def _stroke(x1: float, y1: float, x2: float, y2: float, colour: str, dashes: str = "none") -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-dasharray="{dashes}"/>'


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
