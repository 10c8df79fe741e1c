"""Reports of a run: text with live progress, JSON and JUnit."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, get_args
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from cloudconsole.conformance.checks import Check, Level, Profile
from cloudconsole.conformance.chinese_titles import title
from cloudconsole.conformance.runner import Outcome, Result
from cloudconsole.spec.i18n import Language, Text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

LEVELS: Final[tuple[Level, ...]] = get_args(Level)
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)


@dataclass(frozen=True)
class Run:
    version: str
    """Version of the suite."""
    base: str
    region: str
    profile: str
    only: tuple[str, ...]
    """The selected checks and sections; empty for the whole profile."""
    strict: bool
    """Whether a skipped MUST check counts as a failed one."""
    started: datetime
    seconds: float
    requests: int
    wrong_logins: int
    results: tuple[Result, ...]

    def count(self, level: Level, outcome: Outcome) -> int:
        return sum(result.check.level == level and result.outcome == outcome for result in self.results)

    @property
    def conforms(self) -> bool:
        """Whether no MUST check failed and, if strict, none was skipped."""
        return not self.count("must", "failed") and not (self.strict and self.count("must", "skipped"))

    def verdict(self, language: Language) -> str:
        """Summary of the run in one line."""
        must, should = (
            {outcome: self.count(level, outcome) for outcome in OUTCOMES} for level in (LEVELS[0], LEVELS[1])
        )
        parts = [
            MUST_COUNTS.format_in(language, **must),
            SHOULD_COUNTS.format_in(language, **should),
            DURATION.format_in(language, requests=self.requests, seconds=f"{self.seconds:.1f}"),
        ]
        return SEMICOLON.format_in(language).join(parts)


WORDS: Final = {
    "passed": Text("ok", "通过"),
    "failed": Text("FAILED", "失败"),
    "skipped": Text("skipped", "跳过"),
}
HEADINGS: Final = {
    "profile": Text("profile", "类别"),
    "section": Text("section", "节"),
    "checks": Text("checks", "检查"),
    "ok": Text("ok", "通过"),
    "failed": Text("failed", "失败"),
    "skipped": Text("skipped", "跳过"),
}
SEMICOLON: Final = Text("; ", "；")
COLON: Final = Text(": ", "：")
MUST_COUNTS: Final = Text(
    "MUST: {passed} passed, {failed} failed, {skipped} skipped", "MUST：通过 {passed}，失败 {failed}，跳过 {skipped}"
)
SHOULD_COUNTS: Final = Text("SHOULD: {passed} passed, {failed} failed", "SHOULD：通过 {passed}，失败 {failed}")
DURATION: Final = Text("{requests} requests in {seconds} s", "{requests} 个请求，用时 {seconds} 秒")
CONFORMS: Final = Text("conforms", "符合")
DOES_NOT_CONFORM: Final = Text("DOES NOT CONFORM", "不符合")
SELECTED_PASSED: Final = Text("the selected checks passed", "所选检查均通过")
SELECTED_FAILED: Final = Text("SELECTED CHECKS FAILED", "所选检查有失败")
STRICT: Final = Text("with --strict, a skipped MUST counts as failed", "使用 --strict 时，跳过的 MUST 视为失败")
VERIFIED: Final = Text(
    "{result}: {counts}; {base}, profile {profile}{strict}, suite {version}, {time}",
    "{result}：{counts}；{base}，{profile}{strict}，检查工具版本 {version}，{time}",
)
STRICT_PROFILE: Final = Text(", strict", "，--strict")


def heading(result: Result) -> str:
    """Return the profile and section of a check."""
    return f"{result.check.profile}: {result.check.section}"


def line(result: Result, language: Language = "en") -> str:
    """Format one result: outcome, level, ID and note."""
    note = result.note
    if result.outcome == "failed":
        note = f"{title(result.check, language).rstrip('.。')} — {result.note}"
    word = WORDS[result.outcome].format_in(language)
    # A Chinese character is two columns wide.
    outcome = word.ljust(8 if word.isascii() else 8 - len(word))
    explanation = f"{COLON.format_in(language)}{note}" if note else ""
    return f"  {outcome} {result.check.level:<6} {result.check.id}{explanation}"


def ending(run: Run, language: Language = "en") -> str:
    """Format the verdict with its summary."""
    reason = ""
    if not run.conforms and not run.count("must", "failed"):
        reason = SEMICOLON.format_in(language) + STRICT.format_in(language)
    result = _conclusion(is_good=run.conforms, is_partial=bool(run.only), language=language)
    return f"{result}{COLON.format_in(language)}{run.verdict(language)}{reason}"


def _conclusion(*, is_good: bool, is_partial: bool, language: Language) -> str:
    good, bad = (SELECTED_PASSED, SELECTED_FAILED) if is_partial else (CONFORMS, DOES_NOT_CONFORM)
    return (good if is_good else bad).format_in(language)


def listing(checks: Sequence[Check], language: Language = "en") -> str:
    """List checks by section, without those of a section that come later again."""
    lines = []
    for profile, section in dict.fromkeys((check.profile, check.section) for check in checks):
        lines.append(f"{profile}: {section}")
        found = (check for check in checks if (check.profile, check.section) == (profile, section))
        colon = COLON.format_in(language)
        lines += [f"  {check.level:<6} {check.id}{colon}{title(check, language)}" for check in found]
    return "".join(f"{text}\n" for text in lines)


STYLES: Final[dict[Outcome, str]] = {"passed": "green", "failed": "bold red", "skipped": "yellow"}


def show_live(
    results: Iterable[Result], checks: Sequence[Check], console: "Console", language: Language
) -> Iterator[Result]:
    """Pass results on while updating a live table."""
    from rich.live import Live

    tallies = {(check.profile, check.section): _Tally() for check in checks}
    for check in checks:
        tallies[check.profile, check.section].planned += 1
    with Live(_table(tallies, language), console=console, refresh_per_second=8) as live:
        for result in results:
            tallies[result.check.profile, result.check.section].add(result)
            live.update(_table(tallies, language))
            yield result


def show_ending(results: Iterable[Result], verdict: str, language: Language, *, good: bool, console: "Console") -> None:
    """Print all results that did not pass, by section, and the verdict."""
    from rich.text import Text as RichText

    section = ""
    for result in results:
        if result.outcome == "passed":
            continue
        if heading(result) != section:
            section = heading(result)
            console.print(RichText(section, style="bold"))
        console.print(RichText(line(result, language), style=STYLES[result.outcome]))
    console.print(RichText(verdict, style="bold green" if good else "bold red"))


class _Tally:
    """Progress of one section."""

    def __init__(self) -> None:
        self.planned = 0
        self.outcomes: dict[Outcome, int] = {"passed": 0, "failed": 0, "skipped": 0}

    def add(self, result: Result) -> None:
        self.outcomes[result.outcome] += 1


def _table(tallies: dict[tuple[Profile, str], _Tally], language: Language) -> "Table":
    from rich.table import Table
    from rich.text import Text as RichText

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, heading in HEADINGS.items():
        is_text = name in ("profile", "section")
        table.add_column(heading.format_in(language), no_wrap=is_text, justify="left" if is_text else "right")
    for (profile, section), tally in tallies.items():
        cells = [
            RichText(str(count) if count else "", style=STYLES[outcome]) for outcome, count in tally.outcomes.items()
        ]
        table.add_row(RichText(profile), RichText(section), RichText(str(tally.planned)), *cells)
    return table


SCHEMA: Final = 1
"""Version of the JSON report; changes when a field is removed or changes its meaning, not when one is added."""


def json_report(run: Run, *, ok: bool) -> str:
    """Format the JSON report; `ok` is whether the command exits with 0."""
    report = _report(run, ok=ok)
    return json.dumps({**report, "digest": _digest(report)}, ensure_ascii=False, indent=2) + "\n"


def verified_summary(text: str, language: Language = "en") -> str | None:
    """Return a summary of a JSON report, or None if its digest shows a change; raise ValueError if it is no report."""
    report = json.loads(text)
    required = {"digest", "version", "base_url", "profile", "strict", "started", "ok", "counts"}
    if not isinstance(report, dict) or not report.keys() >= required:
        raise ValueError("it is not a report of the conformance suite")
    if report.pop("digest") != _digest(report):
        return None
    return VERIFIED.format_in(
        language,
        result=_conclusion(is_good=report["ok"], is_partial=bool(report.get("only")), language=language),
        counts=MUST_COUNTS.format_in(language, **report["counts"]["must"]),
        base=report["base_url"],
        profile=report["profile"],
        strict=STRICT_PROFILE.format_in(language) if report["strict"] else "",
        version=report["version"],
        time=report["started"],
    )


def _digest(report: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a report without its digest."""
    canonical = json.dumps(report, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"


def _report(run: Run, *, ok: bool) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "version": run.version,
        "base_url": run.base,
        "region": run.region,
        "profile": run.profile,
        "only": list(run.only),
        "strict": run.strict,
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
    report = _report(run, ok=run.conforms)
    facts = {name: str(report[name]) for name in ("version", "base_url", "profile", "started")}
    facts["digest"] = _digest(report)
    suites = Element("testsuites", {"name": "cloudconsole conformance", **_counts(run.results)})
    for section in dict.fromkeys((result.check.profile, result.check.section) for result in run.results):
        results = [result for result in run.results if (result.check.profile, result.check.section) == section]
        attributes = {"name": ": ".join(section), "timestamp": run.started.strftime("%Y-%m-%dT%H:%M:%S")}
        suite = SubElement(suites, "testsuite", {**attributes, **_counts(results)})
        properties = SubElement(suite, "properties")
        for name, value in facts.items():
            SubElement(properties, "property", {"name": name, "value": value})
        for result in results:
            _add_case(suite, result)
    indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suites, encoding="unicode")}\n'


def _add_case(suite: Element, result: Result) -> None:
    check = result.check
    case = SubElement(
        suite, "testcase", {"classname": f"{check.profile}.{check.level}", "name": check.id, "time": _time([result])}
    )
    if result.is_failed_must:
        SubElement(case, "failure", {"message": result.note, "type": check.level}).text = check.title
    elif result.outcome == "failed":
        # JUnit has no "should": a failure would fail a build that the command itself does not.
        SubElement(case, "skipped", {"message": f"{check.level.upper()} failed: {result.note}"})
    elif result.outcome == "skipped":
        SubElement(case, "skipped", {"message": result.note})
    elif result.note:
        SubElement(case, "system-out").text = result.note


def _counts(results: Sequence[Result]) -> dict[str, str]:
    failed_musts = sum(result.is_failed_must for result in results)
    passed = sum(result.outcome == "passed" for result in results)
    return {
        "tests": str(len(results)),
        "failures": str(failed_musts),
        "errors": "0",
        "skipped": str(len(results) - failed_musts - passed),
        "time": _time(results),
    }


def _time(results: Sequence[Result]) -> str:
    return f"{sum(result.seconds for result in results):.3f}"
