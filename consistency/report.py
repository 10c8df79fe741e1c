"""Reports of a run, for the terminal and for the documentation."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from consistency.checker import Anomaly, CheckResult

MAX_SHOWN: Final = 20
MAX_LENGTH: Final = 2000
WRITE_OUTCOMES: Final = ("ok", "no-op", "rejected", "unknown")

INTRODUCTION: Final = """\
# Consistency testing

`make consistency` runs a randomised workload on three replicas over PostgreSQL while it kills and suspends servers and
delays, resets and blackholes their connections. Users, readers, password guessers and operators, who use commands or
the admin UI, work concurrently. All operations are recorded and the history is checked afterwards, in the manner of
Jepsen. Every register (account, quota, price, resource, news item) has a single writer, so the checker knows
which values were possible at any time. A write without a response, or with a 5xx one, may take effect at any later
time, or never.

It reports these anomalies:

- lost writes: an acknowledged change is missing from a later read or from the store
- stale, fractured or impossible reads of limits, usage, costs or news
- sessions accepted after they ended, or rejected while valid
- logins with the wrong outcome; failed logins counted incorrectly across replicas
- counters or a billing record that differ from the resources; costs whose rows, months, summary and forecast disagree
- unexpected errors, `429` or `503` without `Retry-After`, and any failure after the last fault is healed

`make consistency OPERATIONS=5000 SEED=7` runs fewer operations or repeats a seed. Only runs of at least 50,000
operations with sufficient coverage (`consistency/coverage.py`) are recorded here. Histories with anomalies are saved;
`python -m consistency check FILE` checks one again. `make test-scale` includes a short run, and verifies that the
checker detects a broken lease.

## Last run

"""


class Result(NamedTuple):
    """The result of a round."""

    seed: int
    seconds: float
    about: str
    checked: CheckResult
    saved: Path | None = None
    """Where its history was saved, if at all."""

    @property
    def operations(self) -> int:
        return self.checked.counts.total()

    def summary(self) -> str:
        anomalies = self.checked.anomalies
        lines = [
            f"{self.operations:,} operations on {self.about} in {self.seconds:.0f} s, seed {self.seed}: "
            f"{len(anomalies)} anomalies",
            *(f"{count:>9,}  {what}  {outcome}" for (what, outcome), count in sorted(self.checked.counts.items())),
            *map(shorten, anomalies[:MAX_SHOWN]),
        ]
        if self.saved:
            lines.append(f"To check again: python -m consistency check {self.saved}")
        return "\n".join(lines) + "\n"


def shorten(anomaly: Anomaly) -> str:
    return str(anomaly)[:MAX_LENGTH]


def total_counts(results: Sequence[Result]) -> Counter[tuple[str, str]]:
    return sum((result.checked.counts for result in results), Counter())


def write_report(results: Sequence[Result], file: Path) -> None:
    counts = total_counts(results)
    anomalies = [anomaly for result in results for anomaly in result.checked.anomalies]
    day = datetime.now(UTC).date().isoformat()
    parts = [
        f"{day}: {counts.total():,} operations on {results[0].about} in {len(results)} rounds, "
        f"{sum(result.seconds for result in results):.0f} s, seeds {results[0].seed} to {results[-1].seed}. "
        f"Anomalies: {len(anomalies)}.",
        *(f"```\n{shorten(anomaly)}\n```" for anomaly in anomalies[:MAX_SHOWN]),
        *_tables(counts),
    ]
    file.write_text(INTRODUCTION + "\n\n".join(parts) + "\n", "utf-8")


def _tables(counts: Mapping[tuple[str, str], int]) -> list[str]:
    """Tables of requests by status, writes by outcome and faults by kind."""
    requests: Counter[tuple[str, str]] = Counter()
    writes: Counter[tuple[str, str]] = Counter()
    faults: Counter[tuple[str, str]] = Counter()
    request_names = {what for what, outcome in counts if outcome[:1].isdigit()}
    for (what, outcome), count in counts.items():
        if what.startswith("fault: "):
            faults[what.removeprefix("fault: "), outcome] += count
        elif what in request_names:
            requests[what, outcome.partition(" ")[0]] += count
        elif outcome in WRITE_OUTCOMES:
            writes[what, outcome] += count
    named = {"request": requests, "write": writes, "fault": faults}
    return [_table(name, each) for name, each in named.items() if each]


def _table(name: str, counts: Mapping[tuple[str, str], int]) -> str:
    columns = sorted({column for _, column in counts})
    rows = [[name, *columns], ["---"] * (len(columns) + 1)]
    rows += [
        [what, *(f"{counts.get((what, column), 0):,}" for column in columns)]
        for what in sorted({what for what, _ in counts})
    ]
    return "\n".join(f"|{'|'.join(row)}|" for row in rows)
