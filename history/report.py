"""What came of a run: for the terminal, and for the record."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from history.checker import Checked, Finding

MOST_SHOWN: Final = 20
LONGEST_SHOWN: Final = 2000

PAGE: Final = """\
# Histories

`make history` lets many clients work on three replicas over one PostgreSQL while things break, writes down everything
that was asked and answered, and checks afterwards that it all could have been so. Users log in and out. Operators
disable and enable accounts, change passwords, quotas, prices and news, and record, resize, end and remove resources.
Half of these changes are made by commands, the others at the operators' pages of any replica, with a sign-in and forms.
Readers call actions in every session, on any replica, in ended ones, too. Each replica has two workers. Meanwhile
replicas are killed and halted, PostgreSQL is restarted, killed and halted, and the wires to it are slow, reset or
swallow everything.

The checker (`history/checker.py`) knows nothing but the recording. Each thing that is written has one writer, so which
values were possible at a moment is known: what was acknowledged, what is under way, and whatever has an unknown outcome
(no answer, or one of 5xx), which may have been done at any moment since, or not at all. A form that was sent and not
answered could be read by its replica long afterwards: so its operator's session is ended before anything else is tried,
and from then on that form changes nothing. The checker finds out

- an acknowledged change that is lost: in any answer to a call that began later, and in the store at the end,
- a session, an operator's or another, that was accepted after its logout, its account's disabling or its new password
  was acknowledged, or that came back after it was refused; one that was refused although nothing had ended it,
- figures that never existed: limits, use, costs or news that were at no moment so while the call was under way, each
  answer as a whole: a mix of two states is found out, too,
- a login that ended otherwise than account and password were; failures that were not counted right over all replicas,
- counters that are not what the resources are, at the end,
- refusals without a reason: other than 401, or 429 and 503 with `Retry-After`; and any, once nothing is broken.

`make history OPERATIONS=5000 SEED=7` makes fewer, or draws the same plans again; only 50,000 or more are recorded here.
One in which too little was served, changed or broken proves nothing, and is not recorded either (`history/floor.py`). A
round with findings, or one that did not come to its end, is kept as a file of JSON lines, with the logs of all parts
beside it, and `python -m history check FILE` checks it again. `make test-scale` does a short run with a fixed seed; it
also breaks the lease on purpose, once so that changes are acknowledged too early and once so that replicas that are cut
off go on, and sees both found out.

## The last run

"""


class Result(NamedTuple):
    """One round."""

    seed: int
    seconds: float
    about: str
    checked: Checked
    kept: Path | None = None
    """Where its recording is, if it was kept."""

    @property
    def operations(self) -> int:
        return self.checked.counts.total()

    def summary(self) -> str:
        findings = self.checked.findings
        lines = [
            f"{self.operations:,} operations on {self.about} in {self.seconds:.0f} s, seed {self.seed}: "
            f"{len(findings)} findings",
            *(f"{count:>9,}  {what}  {outcome}" for (what, outcome), count in sorted(self.checked.counts.items())),
            *map(shown, findings[:MOST_SHOWN]),
        ]
        if self.kept:
            lines.append(f"Again: python -m history check {self.kept}")
        return "\n".join(lines) + "\n"


def shown(finding: Finding) -> str:
    return str(finding)[:LONGEST_SHOWN]


def all_counts(results: Sequence[Result]) -> Counter[tuple[str, str]]:
    return sum((result.checked.counts for result in results), Counter())


def write_report(results: Sequence[Result], file: Path) -> None:
    counts = all_counts(results)
    findings = [finding for result in results for finding in result.checked.findings]
    told = "\n".join(f"```\n{shown(finding)}\n```" for finding in findings[:MOST_SHOWN]) or "None."
    rows = [f"| {what} | {outcome} | {count:,} |" for (what, outcome), count in sorted(counts.items())]
    day = datetime.now(UTC).date().isoformat()
    seeds = f"from {results[0].seed} to {results[-1].seed}"
    text = (
        f"{PAGE}{day}: {counts.total():,} operations on {results[0].about} in {len(results)} rounds of together "
        f"{sum(result.seconds for result in results):.0f} s, seeds {seeds}.\n\nFindings: {len(findings)}\n\n{told}\n\n"
        "| operation | outcome | times |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    )
    file.write_text(text, "utf-8")
