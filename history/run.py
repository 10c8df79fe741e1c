"""`python -m history`: make histories of a console under faults and check them, or check one again that was kept."""

import argparse
import asyncio
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from history.checker import Checked, check
from history.deployment import DEPLOYMENTS
from history.recording import RecordingError, load
from history.report import Result, shown, write_report
from history.running import Round, record

WHOLE: Final = 50_000
"""A run of fewer operations is not put on record in the place of one of so many."""
A_ROUND: Final = 5_000
OPERATIONS_A_SECOND: Final = 50


def run(round_: Round, store: str, keep: Path, *, always: bool = False) -> Result:
    """One round; its recording is kept, with the replicas' logs beside it, where something was found, or always."""
    with (
        TemporaryDirectory(prefix="cloudconsole-history-") as folder,
        DEPLOYMENTS[store](Path(folder), round_.cloud) as deployment,
    ):
        began = time.monotonic()
        recording = asyncio.run(record(round_, deployment))
        seconds = time.monotonic() - began
        checked = check(recording)
        is_kept = always or bool(checked.findings)
        if is_kept:
            recording.save(keep)
            for replica in deployment.replicas:
                shutil.copy(replica.log, keep.with_suffix(f".{replica.name}.log"))
    return Result(round_.seed, seconds, recording.beginning.about, checked, keep if is_kept else None)


def rounds(operations: int, seed: int) -> Iterator[Round]:
    """Several, with seeds that follow each other: each begins with a small cloud, and can be made again by itself."""
    while operations > 0:
        count = min(operations, A_ROUND)
        yield Round(seed, count, count / OPERATIONS_A_SECOND)
        operations -= count
        seed += 1


def _run(given: argparse.Namespace) -> int:
    results = []
    seed = Random().randrange(10**9) if given.seed is None else given.seed
    for round_ in rounds(given.operations, seed):
        result = run(round_, given.store, given.keep or Path(f"history-{round_.seed}.jsonl"), always=bool(given.keep))
        sys.stdout.write(result.summary())
        sys.stdout.flush()
        results.append(result)
    if given.record and given.operations >= WHOLE:
        write_report(results, given.record)
    elif given.record:
        sys.stdout.write(f"{given.record} stays as it is: only a run of {WHOLE:,} operations or more is recorded\n")
    return 1 if any(result.checked.findings for result in results) else 0


def _check(given: argparse.Namespace) -> int:
    try:
        checked: Checked = check(load(given.file))
    except (OSError, RecordingError) as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    for finding in checked.findings:
        sys.stdout.write(f"{shown(finding)}\n")
    sys.stdout.write(f"{checked.counts.total():,} operations, {len(checked.findings)} findings\n")
    return 1 if checked.findings else 0


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of operations; give a whole number from 1 on")
    return int(text)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m history", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    running = commands.add_parser("run", help="make histories and check them")
    running.add_argument("--operations", type=_count, default=WHOLE)
    running.add_argument("--seed", type=int, help="to draw the same plans again; others each time otherwise")
    running.add_argument("--store", choices=list(DEPLOYMENTS), default="postgresql")
    running.add_argument("--keep", type=Path, metavar="FILE", help="keep the last recording here, whatever is found")
    running.add_argument("--record", type=Path, metavar="FILE", help=f"document for a run of {WHOLE:,} or more")
    running.set_defaults(command=_run)
    checking = commands.add_parser("check", help="check a recording that was kept")
    checking.add_argument("file", type=Path, metavar="FILE")
    checking.set_defaults(command=_check)
    given = parser.parse_args(arguments)
    code: int = given.command(given)
    return code
