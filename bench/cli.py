"""Run a benchmark suite, print the ratios and save the results; or write the page from saved results."""

import argparse
import importlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench import datasets, machine, report
from bench.measurements import InvalidRun, PartResult, Table
from bench.report import Chart, Results
from bench.rounds import RunLength
from bench.servers import check_machine

QUICK: Final = RunLength(rounds=2, seconds=1)


class Suite(Struct, frozen=True):
    """The parts of one command; each is a module of `package` with `run(length)` and `tables(part)`."""

    program: str
    package: str
    parts: tuple[str, ...]
    results: Path
    page: Path
    length: RunLength
    core: int | None = None
    """The core for this process, which verifies responses and times single requests; default: any."""
    charts: Callable[[Results], Sequence[Chart]] = lambda _results: ()

    def tables(self, part: PartResult) -> list[Table]:
        """Return the tables of a part's section of the page."""
        found: list[Table] = importlib.import_module(f"{self.package}.{part.name}").tables(part)
        return found


def parse(suite: Suite, arguments: list[str]) -> argparse.Namespace:
    parts, length = suite.parts, suite.length
    parser = argparse.ArgumentParser(prog=suite.program, description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--only",
        type=lambda text: _parts(parts, text),
        default=parts,
        metavar="PARTS",
        help=f"comma-separated parts to run: {', '.join(parts)}",
    )
    parser.add_argument("--rounds", type=_positive, help=f"rounds per part (default: {length.rounds})")
    parser.add_argument("--seconds", type=_positive, help=f"seconds per variant and round (default: {length.seconds})")
    parser.add_argument("--quick", action="store_true", help="smoke test: two rounds of one second")
    parser.add_argument("--resume", action="store_true", help="skip the parts that an aborted run completed today")
    parser.add_argument("--results", type=Path, help="results file (default: the one of the last complete run)")
    parser.add_argument("--document", action="store_true", help=f"write {suite.page.name} from the results and exit")
    return parser.parse_args(arguments)


def main(suite: Suite, arguments: list[str]) -> int:
    options = parse(suite, arguments)
    try:
        if options.document:
            results = report.load(options.results or suite.results)
            charts = suite.charts(results)
            report.write_page(suite.page, report.page_sections(results, suite.tables, charts), charts)
        else:
            _measure(suite, options)
    except InvalidRun as error:
        sys.stderr.write(f"bench: invalid run: {error}\n")
        return 1
    return 0


def _measure(suite: Suite, options: argparse.Namespace) -> None:
    default = QUICK if options.quick else suite.length
    length = RunLength(options.rounds or default.rounds, options.seconds or default.seconds)
    check_machine()
    if suite.core is not None:
        os.sched_setaffinity(0, {suite.core})
    results = Results(machine.describe(), length, [])
    checkpoint = datasets.DIRECTORY / f"unfinished-{suite.package}.json"
    if options.resume:
        results = resume(checkpoint, results, options.only)
    for name in options.only[len(results.parts) :]:
        sys.stderr.write(f"{time.strftime('%H:%M:%S')} {name}\n")
        results.parts.append(_run(suite, name, length, can_resume=bool(results.parts)))
        report.save(checkpoint, results)
    # A quick or partial run does not overwrite the results of a complete one.
    is_complete = not options.quick and options.only == suite.parts
    file = options.results or (suite.results if is_complete else None)
    if file is not None:
        report.save(file, results)
    checkpoint.unlink(missing_ok=True)
    sys.stdout.write(report.format_for_terminal(results))


def _run(suite: Suite, name: str, length: RunLength, *, can_resume: bool) -> PartResult:
    try:
        part: PartResult = importlib.import_module(f"{suite.package}.{name}").run(length)
    except InvalidRun as error:
        hint = "; completed parts are saved: continue with --resume" if can_resume else ""
        raise InvalidRun(f"{error}{hint}") from error
    return part


def resume(checkpoint: Path, new: Results, wanted: Sequence[str]) -> Results:
    """Load the completed parts of an aborted run of the same day, machine and length."""
    if not checkpoint.exists():
        raise InvalidRun("there is no aborted run to resume")
    saved = report.load(checkpoint)
    if (saved.machine, saved.length) != (new.machine, new.length):
        raise InvalidRun("the aborted run has a different date, machine or length: run without --resume")
    names = [part.name for part in saved.parts]
    if names != list(wanted[: len(names)]):
        raise InvalidRun(f"the aborted run measured {', '.join(names)}: run without --resume")
    sys.stderr.write(f"resumed after: {', '.join(names)}\n")
    return saved


def _parts(known: tuple[str, ...], text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown part {unknown[0]!r}; choose from {', '.join(known)}")
    return names


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(text)
