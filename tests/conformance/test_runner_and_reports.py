"""The runner: every check yields a result, whatever it raises; results decide the verdict and fill the reports."""

import json
import re
from datetime import UTC, datetime
from typing import cast
from xml.etree import ElementTree as ET

import pytest

from cloudconsole.conformance.assertions import CheckFailed, CheckSkipped
from cloudconsole.conformance.checks import Check, Level
from cloudconsole.conformance.chinese_titles import CHINESE, title
from cloudconsole.conformance.client import Sender
from cloudconsole.conformance.connection import NoResponse, Unreachable
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.limits import LimitExceeded
from cloudconsole.conformance.reports import Run, ending, json_report, junit_report, line, verified_summary
from cloudconsole.conformance.responses import NotJson
from cloudconsole.conformance.runner import PROFILES, Outcome, Result, run_checks, select
from tests.conformance.conftest import target_at


def check(name: str, error: Exception | None, *needs: str, causes: tuple[str, ...] = ()) -> Check:
    def run(_: CheckContext) -> str:
        if error is not None:
            raise error
        return "seen"

    return Check(name, "interface", "a section", "must", "A title.", run, needs, causes)


def outcomes(*checks: Check) -> dict[str, tuple[str, str]]:
    with Sender("http://127.0.0.1:1", {"demo": "console-demo"}) as sender:
        context = CheckContext(target_at("http://127.0.0.1:1"), sender)
        return {result.check.id: (result.outcome, result.note) for result in run_checks(checks, context)}


@pytest.mark.parametrize("check", PROFILES["all"], ids=lambda check: check.id)
def test_every_check_has_a_title_in_both_languages(check: Check) -> None:
    english, chinese = title(check, "en"), title(check, "zh")
    assert english.isascii()
    assert english.endswith(".")
    assert re.search("[\u4e00-\u9fff]", chinese)
    assert chinese.endswith("。")


def test_no_chinese_title_is_left_over() -> None:
    assert CHINESE.keys() <= {check.id for check in PROFILES["all"]}


class TestRunner:
    @pytest.mark.parametrize(
        ("error", "outcome", "note"),
        [
            (None, "passed", "seen"),
            (CheckFailed("not so"), "failed", "not so"),
            (CheckSkipped("nothing there"), "skipped", "nothing there"),
            (NoResponse("cut off"), "skipped", "because connection.answered failed: cut off"),
            (Unreachable("refused"), "skipped", "because connection.alive failed: refused"),
            (NotJson("there is no body"), "failed", "the body is not JSON: there is no body"),
            (LimitExceeded("not asked"), "skipped", "not asked"),
            (KeyError("data"), "failed", "unexpected response: KeyError: 'data'"),
            (RecursionError("too deep"), "failed", "unexpected response: RecursionError: too deep"),
            (CheckFailed("it said console-demo\n"), "failed", r"it said [secret]\n"),
        ],
        ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
    )
    def test_every_check_yields_a_result(self, error: Exception | None, outcome: str, note: str) -> None:
        assert outcomes(check("one", error), check("two", None)) == {"one": (outcome, note), "two": ("passed", "seen")}

    def test_dependents_of_an_unpassed_check_are_skipped_with_a_reason(self) -> None:
        assert outcomes(check("one", CheckFailed("x")), check("two", None, "one"), check("three", None, "two")) == {
            "one": ("failed", "x"),
            "two": ("skipped", "because one failed"),
            "three": ("skipped", "because two was skipped"),
        }

    def test_run_can_be_interrupted(self) -> None:
        interruption = cast("Exception", KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            outcomes(check("one", interruption))


def result(level: Level, outcome: Outcome, section: str = "4 Calls", note: str = "") -> Result:
    check = Check(f"{level}.{outcome}", "interface", section, level, "It holds.", lambda _: None, ())
    return Result(check, outcome, note, 0.25)


def run_with(*results: Result, only: tuple[str, ...] = (), strict: bool = False) -> Run:
    return Run(
        "1.0",
        "http://x",
        "http://x/v3",
        "interface",
        only,
        strict,
        datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        1.5,
        7,
        0,
        results,
    )


RUN = run_with(
    result("must", "passed", note="seen"),
    result("must", "failed", note="not so"),
    result("should", "failed", "5 Login", "not so either"),
    result("must", "skipped", "5 Login", "not asked"),
)


FAILURE = CheckFailed("x")


class TestCauses:
    def test_a_failure_with_a_failed_cause_is_skipped(self) -> None:
        results = outcomes(
            check("first", FAILURE),
            check("of the check", FAILURE, causes=("passed", "first")),
            check("of the failure", CheckFailed("y", "first")),
            check("of an exception", KeyError("data"), causes=("first",)),
            check("of another one", FAILURE, causes=("of the check",)),
        )
        assert results.pop("first") == ("failed", "x")
        reasons = ("x", "y", "unexpected response: KeyError: 'data'", "x")
        assert list(results.values()) == [("skipped", f"because first failed: {reason}") for reason in reasons]

    def test_a_cause_may_be_skipped_because_of_a_failure(self) -> None:
        first, second = check("first", FAILURE), check("second", None, "first")
        results = outcomes(first, second, check("third", FAILURE, causes=("second",)))
        assert results["third"] == ("skipped", "because first failed: x")

    @pytest.mark.parametrize("cause", [None, CheckSkipped("not given")])
    def test_a_cause_that_did_not_fail_explains_nothing(self, cause: Exception | None) -> None:
        assert outcomes(check("one", cause), check("two", FAILURE, causes=("one", "other")))["two"] == ("failed", "x")

    def test_checks_come_after_what_they_need_and_what_explains_them(self) -> None:
        earlier: set[str] = set()
        for each in PROFILES["all"]:
            assert {*each.needs, *each.causes} <= earlier, each.id
            earlier.add(each.id)


class TestSelection:
    @pytest.mark.parametrize(
        ("names", "selected"),
        [
            (["errors.code"], {"errors.code", "errors.envelope", "errors.json", "errors.no-domain-id"}),
            (["2.4"], {"urls.fields", "urls.ids", "urls.types", "answers.GetUrlList"}),
            (["interface: 2.4 URL item"], {"urls.fields", "urls.ids", "urls.types", "answers.GetUrlList"}),
            (["2.2 Usage limits record"], {"usage.fields", "answers.GetUsageLimits"}),
            (["session.opens", "login.accepted"], set()),
        ],
    )
    def test_checks_and_sections_are_selected_with_what_they_need(self, names: list[str], selected: set[str]) -> None:
        basic = {"session.opens", "login.accepted", "connection.alive", "connection.answered"}
        assert {each.id for each in select(PROFILES["all"], names)} == basic | selected

    @pytest.mark.parametrize("name", ["", "2", "errors", "api:", "console.host"])
    def test_unknown_name_is_rejected(self, name: str) -> None:
        with pytest.raises(ValueError, match=f"^{name}$"):
            select(PROFILES["interface"], ["session.opens", name])


class TestReports:
    @pytest.mark.parametrize(
        ("level", "outcome", "conforms", "conforms_strictly"),
        [
            ("must", "passed", True, True),
            ("must", "failed", False, False),
            ("must", "skipped", True, False),
            ("should", "failed", True, True),
            ("should", "skipped", True, True),
        ],
    )
    def test_only_failed_musts_and_strictly_skipped_ones_fail_the_run(
        self, level: Level, outcome: Outcome, conforms: bool, conforms_strictly: bool
    ) -> None:
        for strict, expected in ((False, conforms), (True, conforms_strictly)):
            assert run_with(result(level, outcome), strict=strict).conforms == expected

    def test_ending_says_that_only_strict_made_it_fail(self) -> None:
        reason = "; with --strict, a skipped MUST counts as failed"
        skipped = result("must", "skipped")
        assert ending(run_with(skipped, strict=True)).endswith(reason)
        assert reason not in ending(run_with(skipped)) + ending(run_with(*RUN.results, strict=True))

    def test_text_shows_each_result_and_a_verdict(self) -> None:
        assert [line(each) for each in RUN.results] == [
            "  ok       must   must.passed: seen",
            "  FAILED   must   must.failed: It holds — not so",
            "  FAILED   should should.failed: It holds — not so either",
            "  skipped  must   must.skipped: not asked",
        ]
        summary = "MUST: 1 passed, 1 failed, 1 skipped; SHOULD: 0 passed, 1 failed; 7 requests in 1.5 s"
        assert ending(RUN) == f"DOES NOT CONFORM: {summary}"
        selected = ending(run_with(result("must", "passed"), only=("must.passed",)))
        assert selected.startswith("the selected checks passed: MUST: 1 passed, ")

    def test_text_is_also_in_chinese(self) -> None:
        failed = next(result for result in RUN.results if result.is_failed_must)
        assert line(failed, "zh").startswith(f"  失败     must   {failed.check.id}：")
        assert ending(RUN, "zh").startswith("不符合：MUST：通过 ")

    def test_json_has_the_counts_and_each_check(self) -> None:
        report = json.loads(json_report(RUN, ok=False))
        assert (report["schema"], report["ok"], report["started"]) == (1, False, "2026-01-02T03:04:05+00:00")
        assert report["strict"] is False
        assert (report["version"], report["base_url"], report["region"]) == ("1.0", "http://x", "http://x/v3")
        assert report["counts"]["must"] == {"passed": 1, "failed": 1, "skipped": 1}
        assert report["counts"]["should"] == {"passed": 0, "failed": 1, "skipped": 0}
        assert report["checks"][1] == {
            "id": "must.failed",
            "profile": "interface",
            "section": "4 Calls",
            "level": "must",
            "title": "It holds.",
            "outcome": "failed",
            "note": "not so",
            "seconds": 0.25,
        }

    def test_digest_shows_a_change(self) -> None:
        text = json_report(RUN, ok=False)
        assert verified_summary(text) == (
            "DOES NOT CONFORM: MUST: 1 passed, 1 failed, 1 skipped; "
            "http://x, profile interface, suite 1.0, 2026-01-02T03:04:05+00:00"
        )
        for old, new in (("1,", "0,"), ('"ok": false', '"ok": true'), ('"strict": false', '"strict": true')):
            assert old in text
            assert verified_summary(text.replace(old, new)) is None
        strict = verified_summary(json_report(run_with(result("must", "passed"), strict=True), ok=True))
        assert strict is not None
        assert strict.startswith("conforms: ")
        assert ", profile interface, strict, suite " in strict
        digest = json.loads(text)["digest"]
        assert digest in junit_report(RUN)
        assert digest != json.loads(json_report(run_with(result("must", "passed")), ok=True))["digest"]

    @pytest.mark.parametrize("text", ["", "[]", "{}", "5"])
    def test_other_files_are_no_reports(self, text: str) -> None:
        with pytest.raises(ValueError, match=r"report|Expecting"):
            verified_summary(text)

    def test_junit_has_failures_only_for_failed_musts(self) -> None:
        root = ET.fromstring(junit_report(RUN))
        assert [(suite.attrib["name"], suite.attrib["tests"], suite.attrib["skipped"]) for suite in root] == [
            ("interface: 4 Calls", "2", "0"),
            ("interface: 5 Login", "2", "2"),
        ]
        counts = {"tests": "4", "failures": "1", "errors": "0", "skipped": "2", "time": "1.000"}
        assert root.attrib == {"name": "cloudconsole conformance", **counts}
        facts = {each.attrib["name"]: each.attrib["value"] for each in root[0].findall("properties/property")}
        assert facts.pop("digest").startswith("sha256:")
        assert facts == {
            "version": "1.0",
            "base_url": "http://x",
            "profile": "interface",
            "started": "2026-01-02T03:04:05+00:00",
        }
        assert [(child.tag, child.attrib, child.text) for case in root.iter("testcase") for child in case] == [
            ("system-out", {}, "seen"),
            ("failure", {"message": "not so", "type": "must"}, "It holds."),
            ("skipped", {"message": "SHOULD failed: not so either"}, None),
            ("skipped", {"message": "not asked"}, None),
        ]
