"""Results: saved as JSON, printed to the terminal, and written into the performance pages."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from bench.machine import Machine
from bench.measurements import InvalidRun, PartResult, Table, spread
from bench.rounds import RunLength
from bench.tables import amount, fixed, markdown, number, spread_text, target

ENVIRONMENT: Final = "environment"
"""The section about the machine and the programs; the others are named after the parts."""


class Results(Struct, frozen=True):
    machine: Machine
    length: RunLength
    parts: list[PartResult]


class Chart(Struct, frozen=True):
    """An SVG image in the section of a part."""

    part: str
    file_name: str
    title: str
    svg: str


def save(file: Path, results: Results) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")


def load(file: Path) -> Results:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Results)
    except (OSError, msgspec.MsgspecError) as error:
        raise InvalidRun(f"cannot read results from {file} ({error}); run the benchmark first") from error


def format_for_terminal(results: Results) -> str:
    lines = []
    for part in results.parts:
        lines += ["", part.name]
        lines += [f"  {spread_text(each.spread, fixed):24} {target(each):22} {each.name}" for each in part.ratios]
        lines += [f"  {amount(each):24} {target(each):22} {each.name}" for each in part.limits]
        for each in part.measurements:
            cpu = f"{number(spread(each.cpu_us).median)} µs" if each.cpu_us else ""
            lines.append(f"    {f'{spread_text(each.spread)} {each.unit}':36} {cpu:>12}  {each.name}")
        for timed in part.latencies:
            percentiles = f"p50 {number(timed.percentile(50))} ms, p99 {number(timed.percentile(99))} ms"
            lines.append(f"    {percentiles:36} {f'{len(timed.values)} requests':>12}  {timed.name}")
        lines += [f"    {'  '.join(row)}" for table in part.tables for row in (table.head, *table.rows)]
    return "\n".join(lines) + "\n"


def page_sections(
    results: Results, tables: Callable[[PartResult], Sequence[Table]], charts: Sequence[Chart] = ()
) -> dict[str, str]:
    """Return the generated sections of a page, by name."""
    sections = {ENVIRONMENT: _environment(results)}
    for part in results.parts:
        images = [f"![{chart.title}](images/{chart.file_name})" for chart in charts if chart.part == part.name]
        lines = [line for block in (*part.notes, *images) for line in (block, "")]
        lines += [line for table in tables(part) for line in markdown(table)]
        sections[part.name] = "\n".join(lines)
    return sections


def _environment(results: Results) -> str:
    machine, length = results.machine, results.length
    return (
        f"Measured on {machine.date}: {machine.processor}, {machine.cores} cores, {machine.memory_gb} GB, "
        f"Python {machine.python}, {length.rounds} rounds of {length.seconds} s per variant. "
        "The results file has all versions.\n"
    )


def write_page(page: Path, sections: Mapping[str, str], charts: Sequence[Chart] = ()) -> None:
    """Replace the generated sections between their markers, and write the charts to the image directory."""
    text = page.read_text()
    for name, content in sections.items():
        begin, end = _markers(name)
        if text.count(begin) != 1 or text.count(end) != 1:
            raise InvalidRun(f"{page} must have the lines {begin} and {end}")
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{content}{end}{rest.partition(end)[2]}"
    page.write_text(text)
    for chart in charts:
        images_directory(page).mkdir(exist_ok=True)
        (images_directory(page) / chart.file_name).write_text(chart.svg)


def read_sections(page: Path) -> dict[str, str]:
    """Return the generated sections that a page has."""
    return dict(re.findall(r"<!--begin:(\w+)-->\n(.*?)<!--end:\1-->", page.read_text(), re.DOTALL))


def _markers(name: str) -> tuple[str, str]:
    return f"<!--begin:{name}-->", f"<!--end:{name}-->"


def images_directory(page: Path) -> Path:
    return page.parent / "images"
