"""Charts as SVG."""

from xml.etree import ElementTree as ET

import pytest
from bench.charts import LABELS, Bar, Line, bars, lines
from bench.figures import Refused, Spread

SVG = "{http://www.w3.org/2000/svg}"


def bar(label: str, series: str, middle: float) -> Bar:
    return Bar(label, series, Spread(middle, middle * 0.9, middle * 1.1))


def widths(svg: str) -> list[float]:
    """Of the bars, without what is in the legend and the background."""
    found = ET.fromstring(svg).iter(f"{SVG}rect")
    return [float(each.attrib["width"]) for each in found if each.get("x") == f"{LABELS:.1f}"]


def texts(svg: str) -> list[str]:
    return ["".join(each.itertext()) for each in ET.fromstring(svg).iter(f"{SVG}text")]


def test_bars_are_as_long_as_their_figures() -> None:
    one, other = widths(bars("Title", "calls/s", [bar("a", "x", 50), bar("b", "x", 100)]))
    assert other == pytest.approx(2 * one, abs=0.2)


def test_on_a_logarithmic_scale_a_power_of_ten_is_always_as_long() -> None:
    found = widths(bars("Title", "calls/s", [bar(str(size), "x", size) for size in (10, 100, 1000)], logarithmic=True))
    assert found[2] - found[1] == pytest.approx(found[1] - found[0], abs=0.2)
    assert found[0] > 10


def test_what_is_shown_is_named() -> None:
    shown = texts(bars("A title", "calls/s", [bar("GET <api>", "warm", 1234), bar("GET <api>", "cold", 5.678)]))
    assert shown[0] == "A title (calls/s)"
    assert {"GET <api>", "warm", "cold", "1,234", "5.68"} <= set(shown)


def test_a_series_alone_needs_no_legend() -> None:
    assert "warm" not in texts(bars("A title", "calls/s", [bar("a", "warm", 1)]))


def test_a_goal_is_a_line_across() -> None:
    dashes = [
        each.get("stroke-dasharray")
        for each in ET.fromstring(bars("Title", "ratio", [bar("a", "x", 0.5)], mark=0.55)).iter(f"{SVG}line")
    ]
    assert dashes == ["none", "4 3"]


def test_lines_go_up_where_the_figures_do() -> None:
    drawn = ET.fromstring(lines("Title", "calls", "cores", [Line("a", [(10, 1), (100, 10), (1000, 100)])]))
    (polyline,) = drawn.iter(f"{SVG}polyline")
    points = [tuple(map(float, point.split(","))) for point in polyline.attrib["points"].split()]
    assert points[0][0] < points[1][0] < points[2][0]
    assert points[0][1] > points[1][1] > points[2][1]


def test_lines_have_a_scale_of_powers_of_ten() -> None:
    shown = texts(lines("Title", "calls a second", "cores", [Line("a", [(20, 0.5), (900, 8)])]))
    assert {"10", "100", "1,000", "0.1", "1", "calls a second"} <= set(shown)


@pytest.mark.parametrize("points", [[], [(0, 1)], [(1, 0)]])
def test_nothing_and_what_has_no_logarithm_is_refused(points: list[tuple[float, float]]) -> None:
    with pytest.raises(Refused, match="Title: there is nothing to draw"):
        lines("Title", "calls", "cores", [Line("a", points)])


def test_no_bars_are_refused() -> None:
    with pytest.raises(Refused, match="nothing to draw"):
        bars("Title", "calls/s", [])
