"""SVG charts."""

from xml.etree import ElementTree as ET

import pytest
from bench.charts import LABELS, Bar, Line, bars, lines
from bench.measurements import InvalidRun, Spread

SVG = "{http://www.w3.org/2000/svg}"


def bar(label: str, series: str, median: float) -> Bar:
    return Bar(label, series, Spread(median, median * 0.9, median * 1.1))


def widths(svg: str) -> list[float]:
    """Widths of the bars, without the legend and the background."""
    found = ET.fromstring(svg).iter(f"{SVG}rect")
    return [float(each.attrib["width"]) for each in found if each.get("x") == f"{LABELS:.1f}"]


def texts(svg: str) -> list[str]:
    return ["".join(each.itertext()) for each in ET.fromstring(svg).iter(f"{SVG}text")]


def test_bar_lengths_are_proportional_to_their_values() -> None:
    one, other = widths(bars("Title", "requests/s", [bar("a", "x", 50), bar("b", "x", 100)]))
    assert other == pytest.approx(2 * one, abs=0.2)


def test_powers_of_ten_are_equidistant_on_a_logarithmic_scale() -> None:
    found = widths(
        bars("Title", "requests/s", [bar(str(size), "x", size) for size in (10, 100, 1000)], logarithmic=True)
    )
    assert found[2] - found[1] == pytest.approx(found[1] - found[0], abs=0.2)
    assert found[0] > 10


def test_title_labels_series_and_values_are_shown() -> None:
    shown = texts(bars("A title", "requests/s", [bar("GET <api>", "hit", 1234), bar("GET <api>", "miss", 5.678)]))
    assert shown[0] == "A title (requests/s)"
    assert {"GET <api>", "hit", "miss", "1,234", "5.68"} <= set(shown)


def test_a_single_series_has_no_legend() -> None:
    assert "hit" not in texts(bars("A title", "requests/s", [bar("a", "hit", 1)]))


def test_a_target_is_drawn_as_a_dashed_line() -> None:
    dashes = [
        each.get("stroke-dasharray")
        for each in ET.fromstring(bars("Title", "ratio", [bar("a", "x", 0.5)], mark=0.55)).iter(f"{SVG}line")
    ]
    assert dashes == ["none", "4 3"]


def test_lines_rise_with_their_values() -> None:
    drawn = ET.fromstring(lines("Title", "requests", "cores", [Line("a", [(10, 1), (100, 10), (1000, 100)])]))
    (polyline,) = drawn.iter(f"{SVG}polyline")
    points = [tuple(map(float, point.split(","))) for point in polyline.attrib["points"].split()]
    assert points[0][0] < points[1][0] < points[2][0]
    assert points[0][1] > points[1][1] > points[2][1]


def test_axes_are_labelled_with_powers_of_ten() -> None:
    shown = texts(lines("Title", "requests per second", "cores", [Line("a", [(20, 0.5), (900, 8)])]))
    assert {"10", "100", "1,000", "0.1", "1", "requests per second"} <= set(shown)


@pytest.mark.parametrize("points", [[], [(0, 1)], [(1, 0)]])
def test_missing_and_non_positive_values_are_rejected(points: list[tuple[float, float]]) -> None:
    with pytest.raises(InvalidRun, match="Title: no data to draw"):
        lines("Title", "requests", "cores", [Line("a", points)])


def test_a_chart_without_bars_is_rejected() -> None:
    with pytest.raises(InvalidRun, match="no data to draw"):
        bars("Title", "requests/s", [])
