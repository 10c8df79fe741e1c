"""The report as JUnit XML, which build servers read: a suite for each section, a case for each check."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from cloudconsole.conformance.report.text import Run
from cloudconsole.conformance.runner import Result


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
