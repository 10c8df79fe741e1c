"""`python -m bench`: measure, print the ratios, keep the results; or write the document from the kept ones."""

import argparse
import importlib
import os
import sys
import time
from pathlib import Path
from typing import Final

from bench import machine, report
from bench.figures import PartResult, Refused
from bench.report import Results
from bench.rounds import Pace
from bench.servers import LOAD_CORE, check_machine

PARTS: Final = ("actions", "cold", "writes", "growth", "django", "workers", "logins", "client")
RESULTS: Final = Path(__file__).with_name("results") / "latest.json"
DOCUMENT: Final = Path(__file__).parents[1] / "docs" / "performance.md"
QUICK: Final = Pace(rounds=2, seconds=1)
USUAL: Final = Pace(rounds=5, seconds=2)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__, allow_abbrev=False)
    parser.add_argument("--only", type=_parts, default=PARTS, metavar="PARTS", help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--rounds", type=_positive, help=f"rounds of each part (default: {USUAL.rounds})")
    parser.add_argument("--seconds", type=_positive, help=f"seconds of each run (default: {USUAL.seconds})")
    parser.add_argument("--quick", action="store_true", help="two rounds of a second: to see that all of it works")
    parser.add_argument("--results", type=Path, help="file for the results (default: that of the last whole run)")
    parser.add_argument("--document", action="store_true", help="write docs/performance.md from the results instead")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    chosen = parse(arguments)
    try:
        if chosen.document:
            report.write_document(DOCUMENT, report.read(chosen.results or RESULTS))
        else:
            _measure(chosen)
    except Refused as refusal:
        sys.stderr.write(f"bench: refused: {refusal}\n")
        return 1
    return 0


def _measure(chosen: argparse.Namespace) -> None:
    usual = QUICK if chosen.quick else USUAL
    pace = Pace(chosen.rounds or usual.rounds, chosen.seconds or usual.seconds)
    check_machine()
    # What we do ourselves, checks and single calls, keeps off the server's core, too.
    os.sched_setaffinity(0, {LOAD_CORE})
    parts: list[PartResult] = []
    for name in chosen.only:
        sys.stderr.write(f"{time.strftime('%H:%M:%S')} {name}\n")
        parts.append(importlib.import_module(f"bench.parts.{name}").run(pace))
    results = Results(machine.describe(), pace, parts)
    # What a quick look or a part gave must not take the place of a whole run's results.
    whole = not chosen.quick and chosen.only == PARTS
    file = chosen.results or (RESULTS if whole else None)
    if file is not None:
        report.keep(file, results)
    sys.stdout.write(report.for_terminal(results))


def _parts(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    return names


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return int(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
