"""`python -m history`: make histories of a console under faults and check them, or check one again that was kept."""

import argparse
import asyncio
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from history.checker import Checked, check
from history.deployment import DEPLOYMENTS, Deployment
from history.floor import missing
from history.recording import Recording, RecordingError, load
from history.report import Result, all_counts, shown, write_report
from history.running import Round, begin, fill

WHOLE: Final = 50_000
"""A run of fewer operations is not put on record in the place of one of so many."""
A_ROUND: Final = 5_000
OPERATIONS_A_SECOND: Final = 50


def run(round_: Round, store: str, keep: Path, *, always: bool = False) -> Result:
    """One round; its recording is kept where something was found, where it failed before that, or always."""
    with (
        TemporaryDirectory(prefix="cloudconsole-history-") as folder,
        DEPLOYMENTS[store](Path(folder), round_.cloud) as deployment,
    ):
        recorder, is_kept = begin(round_, deployment), True
        try:
            asyncio.run(fill(recorder, round_, deployment))
            seconds = recorder.now()
            checked = check(recorder)
            is_kept = always or bool(checked.findings)
        finally:
            if is_kept:
                _keep(recorder, deployment, keep)
    return Result(round_.seed, seconds, recorder.beginning.about, checked, keep if is_kept else None)


def _keep(recording: Recording, deployment: Deployment, file: Path) -> None:
    """With the logs of all parts beside it."""
    recording.save(file)
    for log in deployment.logs:
        shutil.copy(log, file.with_suffix(f".{log.name}"))
    sys.stderr.write(f"kept: {file}\n")


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
    too_little = missing(all_counts(results)) if given.record else []
    if given.record and given.operations < WHOLE:
        sys.stdout.write(f"{given.record} stays as it is: only a run of {WHOLE:,} operations or more is recorded\n")
    elif too_little:
        sys.stdout.write(f"not recorded, since this run proves too little: {'; '.join(too_little)}\n")
    elif given.record:
        write_report(results, given.record)
    return 1 if too_little or any(result.checked.findings for result in results) else 0


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
