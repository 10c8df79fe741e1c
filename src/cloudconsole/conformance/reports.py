"""Reports of a run: text with live progress, JSON and JUnit."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, get_args
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from cloudconsole.conformance.checks import Check, Level, Profile
from cloudconsole.conformance.runner import Outcome, Result

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

LEVELS: Final[tuple[Level, ...]] = get_args(Level)
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)


@dataclass(frozen=True)
class Run:
    version: str
    """Of the kit."""
    base: str
    profile: str
    started: datetime
    seconds: float
    requests: int
    wrong_logins: int
    results: tuple[Result, ...]

    def count(self, level: Level, outcome: Outcome) -> int:
        return sum(result.check.level == level and result.outcome == outcome for result in self.results)

    def conforms(self, *, strict: bool) -> bool:
        """Whether every must holds; strictly, none may have been skipped either."""
        return not self.count("must", "failed") and not (strict and self.count("must", "skipped"))

    @property
    def verdict(self) -> str:
        """The whole run in one line."""
        failed, skipped = self.count("must", "failed"), self.count("must", "skipped")
        parts = [f"musts: {self.count('must', 'passed')} hold, {failed} failed, {skipped} could not be checked"]
        parts.append(f"shoulds: {self.count('should', 'passed')} hold, {self.count('should', 'failed')} failed")
        parts.append(f"{self.requests} requests in {self.seconds:.1f} s")
        return "; ".join(parts)


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


STYLES: Final[dict[Outcome, str]] = {"passed": "green", "failed": "bold red", "skipped": "yellow"}


def show_live(results: Iterable[Result], checks: Sequence[Check], console: "Console") -> Iterator[Result]:
    """Hands results on while a table fills with them; afterwards those that need a look are listed."""
    from rich.live import Live

    tallies = {(check.profile, check.section): _Tally() for check in checks}
    for check in checks:
        tallies[check.profile, check.section].planned += 1
    with Live(_table(tallies), console=console, refresh_per_second=8) as live:
        for result in results:
            tallies[result.check.profile, result.check.section].add(result)
            live.update(_table(tallies))
            yield result


def show_ending(results: Iterable[Result], verdict: str, *, good: bool, console: "Console") -> None:
    """What did not pass, by section, and the verdict."""
    from rich.text import Text

    section = ""
    for result in results:
        if result.outcome == "passed":
            continue
        if heading(result) != section:
            section = heading(result)
            console.print(Text(section, style="bold"))
        console.print(Text(line(result), style=STYLES[result.outcome]))
    console.print(Text(verdict, style="bold green" if good else "bold red"))


class _Tally:
    """How far the checks of one section are."""

    def __init__(self) -> None:
        self.planned = 0
        self.outcomes: dict[Outcome, int] = {"passed": 0, "failed": 0, "skipped": 0}

    def add(self, result: Result) -> None:
        self.outcomes[result.outcome] += 1


def _table(tallies: dict[tuple[Profile, str], _Tally]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("profile", "section"):
        table.add_column(name, no_wrap=True)
    for name in ("checks", "ok", "failed", "skipped"):
        table.add_column(name, justify="right")
    for (profile, section), tally in tallies.items():
        cells = [Text(str(count) if count else "", style=STYLES[outcome]) for outcome, count in tally.outcomes.items()]
        table.add_row(Text(profile), Text(section), Text(str(tally.planned)), *cells)
    return table


SCHEMA: Final = 1
"""Moves when a field goes or changes its meaning, not when one is added."""


def json_report(run: Run, *, ok: bool) -> str:
    """`ok` is whether the command ends with 0."""
    return json.dumps(_report(run, ok=ok), ensure_ascii=False, indent=2) + "\n"


def _report(run: Run, *, ok: bool) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "version": run.version,
        "base_url": run.base,
        "profile": run.profile,
        "started": run.started.isoformat(timespec="seconds"),
        "seconds": round(run.seconds, 3),
        "requests": run.requests,
        "wrong_logins": run.wrong_logins,
        "ok": ok,
        "counts": {level: {outcome: run.count(level, outcome) for outcome in OUTCOMES} for level in LEVELS},
        "checks": [
            {
                "id": result.check.id,
                "profile": result.check.profile,
                "section": result.check.section,
                "level": result.check.level,
                "title": result.check.title,
                "outcome": result.outcome,
                "note": result.note,
                "seconds": round(result.seconds, 3),
            }
            for result in run.results
        ],
    }


def junit_report(run: Run) -> str:
    suites = Element("testsuites", {"name": "cloudconsole conformance", **_counts(run.results)})
    for section in dict.fromkeys((result.check.profile, result.check.section) for result in run.results):
        results = [result for result in run.results if (result.check.profile, result.check.section) == section]
        named = {"name": ": ".join(section), "timestamp": run.started.strftime("%Y-%m-%dT%H:%M:%S")}
        suite = SubElement(suites, "testsuite", {**named, **_counts(results)})
        for result in results:
            _add_case(suite, result)
    indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suites, encoding="unicode")}\n'


def _add_case(suite: Element, result: Result) -> None:
    check = result.check
    case = SubElement(
        suite, "testcase", {"classname": f"{check.profile}.{check.level}", "name": check.id, "time": _time([result])}
    )
    if result.is_broken_must:
        SubElement(case, "failure", {"message": result.note, "type": check.level}).text = check.title
    elif result.outcome == "failed":
        # Readers know no "should": as a failure it would fail a build that the command itself does not.
        SubElement(case, "skipped", {"message": f"a {check.level} failed: {result.note}"})
    elif result.outcome == "skipped":
        SubElement(case, "skipped", {"message": result.note})
    elif result.note:
        SubElement(case, "system-out").text = result.note


def _counts(results: Sequence[Result]) -> dict[str, str]:
    broken = sum(result.is_broken_must for result in results)
    passed = sum(result.outcome == "passed" for result in results)
    return {
        "tests": str(len(results)),
        "failures": str(broken),
        "errors": "0",
        "skipped": str(len(results) - broken - passed),
        "time": _time(results),
    }


def _time(results: Sequence[Result]) -> str:
    return f"{sum(result.seconds for result in results):.3f}"
