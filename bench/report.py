"""Results: kept as JSON, shown on a terminal with the ratios first, and written into the document."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from bench.figures import Ceiling, Measured, PartResult, Ratio, Refused, Table, Times, spread
from bench.machine import Machine
from bench.rounds import Pace

BEGIN: Final = "<!-- results: written by the benchmark, with --document -->"
END: Final = "<!-- end of results -->"


class Results(Struct, frozen=True):
    machine: Machine
    pace: Pace
    parts: list[PartResult]


class Plot(Struct, frozen=True):
    """A picture of a part's figures; `name` is its file's, among the document's images."""

    part: str
    name: str
    title: str
    svg: str


def keep(file: Path, results: Results) -> None:
    """Write the results down, in the place of what was there."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")


def read(file: Path) -> Results:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Results)
    except (OSError, msgspec.MsgspecError) as problem:
        raise Refused(f"{file} has no results to write from ({problem}); run the benchmark first") from problem


def for_terminal(results: Results) -> str:
    lines = []
    for part in results.parts:
        lines += ["", part.name, *(f"  {line}" for line in _ratio_lines(part))]
        lines += [f"    {_plain(measured)}" for measured in part.measured]
        lines += [f"    {_percentiles(times)}" for times in part.times]
        lines += [f"    {'  '.join(row)}" for table in part.tables for row in (table.head, *table.rows)]
    return "\n".join(lines) + "\n"


def _ratio_lines(part: PartResult) -> list[str]:
    ratios = [f"{_factor(ratio):24} {_verdict(ratio):22} {ratio.name}" for ratio in part.ratios]
    return ratios + [f"{_amount(each):24} {_verdict(each):22} {each.name}" for each in part.ceilings]


def _plain(measured: Measured) -> str:
    figures = measured.spread
    numbers = f"{_number(figures.middle)} ({_number(figures.least)}–{_number(figures.greatest)}) {measured.unit}"
    return f"{numbers:36} {_cpu(measured):>12}  {measured.name}"


def _percentiles(times: Times) -> str:
    numbers = f"p50 {_number(times.percentile(50))} ms, p99 {_number(times.percentile(99))} ms"
    return f"{numbers:36} {f'{len(times.calls)} calls':>12}  {times.name}"


def write_document(document: Path, results: Results, plots: Sequence[Plot] = ()) -> None:
    """Put the results between the document's two marks, and the plots among its images; all else in it stays."""
    text = document.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise Refused(f"{document} has lost the lines {BEGIN} and {END}")
    document.write_text(f"{before}{BEGIN}\n{for_document(results, plots)}{END}{after}")
    for plot in plots:
        images_of(document).mkdir(exist_ok=True)
        (images_of(document) / plot.name).write_text(plot.svg)


def images_of(document: Path) -> Path:
    return document.parent / "images"


def for_document(results: Results, plots: Sequence[Plot] = ()) -> str:
    sections = (line for part in results.parts for line in _section(part, plots))
    return "\n".join([*_about(results), *sections]) + "\n"


def _about(results: Results) -> list[str]:
    machine, pace = results.machine, results.pace
    programs = ", ".join(f"{name} {version}" for name, version in machine.programs.items())
    return [
        f"Measured on {machine.date}: {machine.processor}, {machine.cores} cores, {machine.memory_gb} GB, "
        f"{machine.system}; Python {machine.python}, {programs}, wrk {machine.wrk}. "
        f"{pace.rounds} rounds of {pace.seconds} s for each variant.",
        "",
    ]


def _section(part: PartResult, plots: Sequence[Plot]) -> list[str]:
    rows = [f"| {ratio.name} | {_factor(ratio)} | {_verdict(ratio)} |" for ratio in part.ratios]
    rows += [f"| {each.name} | {_amount(each)} | {_verdict(each)} |" for each in part.ceilings]
    figures = [f"| {each.name} | {_range(each)} | {each.unit} | {_cpu(each)} |" for each in part.measured]
    singly = [
        f"| {each.name} | {_number(each.percentile(50))} ms | {_number(each.percentile(99))} ms | {len(each.calls):,} |"
        for each in part.times
    ]
    pictures = [f"![{plot.title}](images/{plot.name})" for plot in plots if plot.part == part.name]
    return [
        *(f"### {part.name.capitalize()}", "", *part.notes, *([""] if part.notes else [])),
        *("| | ratio (least–greatest) | goal |", "|---|---|---|", *rows, ""),
        *(line for picture in pictures for line in (picture, "")),
        *(
            ("| | median (least–greatest) | | processor time a call |", "|---|---|---|---|", *figures, "")
            if figures
            else ()
        ),
        *(("| | p50 | p99 | calls |", "|---|---|---|---|", *singly, "") if singly else ()),
        *(line for table in part.tables for line in _table(table)),
    ]


def _table(table: Table) -> list[str]:
    rows = [table.head, ["---"] * len(table.head), *table.rows]
    return [*(f"| {' | '.join(row)} |" for row in rows), ""]


def _factor(ratio: Ratio) -> str:
    figures = ratio.spread
    return f"{figures.middle:.2f} ({figures.least:.2f}–{figures.greatest:.2f})"


def _range(measured: Measured) -> str:
    figures = measured.spread
    return f"{_number(figures.middle)} ({_number(figures.least)}–{_number(figures.greatest)})"


def _cpu(measured: Measured) -> str:
    return f"{_number(spread(measured.cpu).middle)} µs" if measured.cpu else ""


def _amount(ceiling: Ceiling) -> str:
    return f"{ceiling.value:.0f} {ceiling.unit}"


def _verdict(figure: Ratio | Ceiling) -> str:
    if figure.met is None:
        return ""
    if isinstance(figure, Ceiling):
        goal = f"under {figure.limit:g} {figure.unit}"
    elif figure.goal is not None and figure.limit is not None:
        goal = f"from {figure.goal:g} to {figure.limit:g}"
    else:
        goal = f"at least {figure.goal:g}" if figure.limit is None else f"at most {figure.limit:g}"
    return f"{goal}: {'met' if figure.met else 'missed'}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
