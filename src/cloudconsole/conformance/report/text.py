"""The report in plain lines."""

from typing import Final

from cloudconsole.conformance.report.summary import Run
from cloudconsole.conformance.running import Result

WORDS: Final = {"passed": "ok", "failed": "FAILED", "skipped": "skipped"}


def heading(result: Result) -> str:
    """The profile and section that a check comes from."""
    return f"{result.check.profile}: {result.check.section}"


def line(result: Result) -> str:
    """One check: how it ended, how much depends on it, what it is, and what was seen."""
    told = f": {result.note}" if result.note else ""
    if result.outcome == "failed":
        told = f": {result.check.title.removesuffix('.')} — {result.note}"
    return f"  {WORDS[result.outcome]:<8} {result.check.level:<6} {result.check.id}{told}"


def ending(run: Run, *, strict: bool) -> str:
    """The verdict, after a word that tells it at a glance."""
    return f"{'conforms' if run.conforms(strict=strict) else 'DOES NOT CONFORM'}: {run.verdict}"
