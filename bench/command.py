"""The command of a benchmark: measure, print the ratios, keep the results; or write the document from the kept ones."""

import argparse
import importlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench import data, machine, report
from bench.figures import PartResult, Refused
from bench.report import Plot, Results
from bench.rounds import Pace
from bench.servers import check_machine

QUICK: Final = Pace(rounds=2, seconds=1)


class Suite(Struct, frozen=True):
    """What one command measures; each part is a module of `package`."""

    program: str
    package: str
    parts: tuple[str, ...]
    results: Path
    document: Path
    usual: Pace
    core: int | None = None
    """Where what we do ourselves, checks and single calls, keeps to; anywhere unless said."""
    plots: Callable[[Results], Sequence[Plot]] = lambda _results: ()


def parse(suite: Suite, arguments: list[str]) -> argparse.Namespace:
    parts, usual = suite.parts, suite.usual
    parser = argparse.ArgumentParser(prog=suite.program, description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--only",
        type=lambda text: _parts(parts, text),
        default=parts,
        metavar="PARTS",
        help=f"some of {', '.join(parts)}",
    )
    parser.add_argument("--rounds", type=_positive, help=f"rounds of each part (default: {usual.rounds})")
    parser.add_argument("--seconds", type=_positive, help=f"seconds of each run (default: {usual.seconds})")
    parser.add_argument("--quick", action="store_true", help="two rounds of a second: to see that all of it works")
    parser.add_argument("--resume", action="store_true", help="take the parts that a refused run had come to from it")
    parser.add_argument("--results", type=Path, help="file for the results (default: that of the last whole run)")
    parser.add_argument(
        "--document", action="store_true", help=f"write docs/internals/{suite.document.name} from the results instead"
    )
    return parser.parse_args(arguments)


def main(suite: Suite, arguments: list[str]) -> int:
    chosen = parse(suite, arguments)
    try:
        if chosen.document:
            results = report.read(chosen.results or suite.results)
            report.write_document(suite.document, results, suite.plots(results))
        else:
            _measure(suite, chosen)
    except Refused as refusal:
        sys.stderr.write(f"bench: refused: {refusal}\n")
        return 1
    return 0


def _measure(suite: Suite, chosen: argparse.Namespace) -> None:
    usual = QUICK if chosen.quick else suite.usual
    pace = Pace(chosen.rounds or usual.rounds, chosen.seconds or usual.seconds)
    check_machine()
    if suite.core is not None:
        os.sched_setaffinity(0, {suite.core})
    results = Results(machine.describe(), pace, [])
    unfinished = data.FOLDER / f"unfinished-{suite.package}.json"
    if chosen.resume:
        results = resumed(unfinished, results, chosen.only)
    for name in chosen.only[len(results.parts) :]:
        sys.stderr.write(f"{time.strftime('%H:%M:%S')} {name}\n")
        results.parts.append(_run(suite, name, pace, has_kept=bool(results.parts)))
        report.keep(unfinished, results)
    # What a quick look or a part gave must not take the place of a whole run's results.
    whole = not chosen.quick and chosen.only == suite.parts
    file = chosen.results or (suite.results if whole else None)
    if file is not None:
        report.keep(file, results)
    unfinished.unlink(missing_ok=True)
    sys.stdout.write(report.for_terminal(results))


def _run(suite: Suite, name: str, pace: Pace, *, has_kept: bool) -> PartResult:
    try:
        part: PartResult = importlib.import_module(f"{suite.package}.{name}").run(pace)
    except Refused as refusal:
        advice = "; what was measured before is kept: --resume goes on with it" if has_kept else ""
        raise Refused(f"{refusal}{advice}") from refusal
    return part


def resumed(unfinished: Path, begun: Results, wanted: Sequence[str]) -> Results:
    """What a refused run had come to, if it was measured as this one is: on the same day, by the same programs."""
    if not unfinished.exists():
        raise Refused("there is no refused run to go on with")
    kept = report.read(unfinished)
    if (kept.machine, kept.pace) != (begun.machine, begun.pace):
        raise Refused("the refused run was another day's, machine's or pace's: begin anew, without --resume")
    names = [part.name for part in kept.parts]
    if names != list(wanted[: len(names)]):
        raise Refused(f"the refused run had measured {', '.join(names)}: begin anew, without --resume")
    sys.stderr.write(f"kept from the refused run: {', '.join(names)}\n")
    return kept


def _parts(known: tuple[str, ...], text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"no part {unknown[0]!r}; there are {', '.join(known)}")
    return names


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return int(text)
