"""`python -m consistency`: test the consistency of replicas under faults, or check a saved history."""

import argparse
import asyncio
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from consistency.checker import CheckResult, check
from consistency.coverage import unmet
from consistency.deployment import DEPLOYMENTS, Deployment
from consistency.history import History, HistoryError, load
from consistency.report import Result, shorten, total_counts, write_report
from consistency.runner import Round, new_recorder, run_round

FULL_RUN: Final = 50_000
"""Only runs of at least this many operations are recorded."""
ROUND_OPERATIONS: Final = 5_000
OPERATIONS_PER_SECOND: Final = 50


def run(round_: Round, store: str, save_to: Path, *, always_save: bool = False) -> Result:
    """Run and check a round; save its history on anomalies, on failure, or always."""
    with (
        TemporaryDirectory(prefix="cloudconsole-consistency-") as folder,
        DEPLOYMENTS[store](Path(folder), round_.cloud) as deployment,
    ):
        recorder, is_saved = new_recorder(round_, deployment), True
        try:
            asyncio.run(run_round(recorder, round_, deployment))
            seconds = recorder.now()
            checked = check(recorder)
            is_saved = always_save or bool(checked.anomalies)
        finally:
            if is_saved:
                _save(recorder, deployment, save_to)
    return Result(round_.seed, seconds, recorder.initial_state.about, checked, save_to if is_saved else None)


def _save(history: History, deployment: Deployment, file: Path) -> None:
    """Save a history, with the logs of all servers next to it."""
    history.save(file)
    for log in deployment.logs:
        shutil.copy(log, file.with_suffix(f".{log.name}"))
    sys.stderr.write(f"saved {file}\n")


def rounds(operations: int, seed: int) -> Iterator[Round]:
    """Split a run into rounds with consecutive seeds; each starts with a new cloud and can be repeated alone."""
    while operations > 0:
        count = min(operations, ROUND_OPERATIONS)
        yield Round(seed, count, count / OPERATIONS_PER_SECOND)
        operations -= count
        seed += 1


def _run(options: argparse.Namespace) -> int:
    results = []
    seed = Random().randrange(10**9) if options.seed is None else options.seed
    for round_ in rounds(options.operations, seed):
        save_to = options.save or Path(f"history-{round_.seed}.jsonl")
        result = run(round_, options.store, save_to, always_save=bool(options.save))
        sys.stdout.write(result.summary())
        sys.stdout.flush()
        results.append(result)
    gaps = unmet(total_counts(results)) if options.record else []
    if options.record and options.operations < FULL_RUN:
        sys.stdout.write(f"{options.record} not updated: the run has fewer than {FULL_RUN:,} operations\n")
    elif gaps:
        sys.stdout.write(f"{options.record} not updated: insufficient coverage: {'; '.join(gaps)}\n")
    elif options.record:
        write_report(results, options.record)
    return 1 if gaps or any(result.checked.anomalies for result in results) else 0


def _check(options: argparse.Namespace) -> int:
    try:
        checked: CheckResult = check(load(options.file))
    except (OSError, HistoryError) as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    for anomaly in checked.anomalies:
        sys.stdout.write(f"{shorten(anomaly)}\n")
    sys.stdout.write(f"{checked.counts.total():,} operations, {len(checked.anomalies)} anomalies\n")
    return 1 if checked.anomalies else 0


def _positive_int(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(text)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m consistency", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run_parser = commands.add_parser("run", help="run the workload under faults and check the history")
    run_parser.add_argument(
        "--operations", type=_positive_int, default=FULL_RUN, help="number of operations (default: %(default)s)"
    )
    run_parser.add_argument("--seed", type=int, help="seed of the first round (default: random)")
    run_parser.add_argument("--store", choices=list(DEPLOYMENTS), default="postgresql", help="default: %(default)s")
    run_parser.add_argument("--save", type=Path, metavar="FILE", help="save the history of the last round to FILE")
    run_parser.add_argument(
        "--record", type=Path, metavar="FILE", help=f"write a report of a run of at least {FULL_RUN:,} operations"
    )
    run_parser.set_defaults(command=_run)
    check_parser = commands.add_parser("check", help="check a saved history")
    check_parser.add_argument("file", type=Path, metavar="FILE")
    check_parser.set_defaults(command=_check)
    options = parser.parse_args(arguments)
    code: int = options.command(options)
    return code
