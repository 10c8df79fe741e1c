"""What a fault makes of the exit code and the reports."""

import json
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import pytest

from cloudconsole.cli.main import main
from tests.conformance.conftest import Workshop
from tests.conformance.faults_of_the_interface import FAULTS


class Told(NamedTuple):
    exit_code: int
    report: dict[str, Any]
    junit: ET.Element
    printed: str

    def case(self, name: str) -> ET.Element:
        (found,) = (case for case in self.junit.iter("testcase") if case.attrib["name"] == name)
        return found


@pytest.fixture
def told(
    request: pytest.FixtureRequest,
    workshop: Workshop,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Told:
    """The command over a console with a fault, by the fault's name."""
    (fault,) = (each for each in FAULTS if each.name == request.param)
    workshop.have(fault)
    monkeypatch.setenv("CLOUDCONSOLE_PASSWORD", "console-demo")
    files = ("--json", str(tmp_path / "report.json"), "--junit", str(tmp_path / "report.xml"))
    account = ("--region", f"{workshop.base}/v3", "--username", "demo", "--domain-id", "206813")
    exit_code = main(["conformance", workshop.base, *account, *files])
    report = json.loads((tmp_path / "report.json").read_text())
    return Told(exit_code, report, ET.parse(tmp_path / "report.xml").getroot(), capsys.readouterr().out)


@pytest.mark.parametrize("told", ["usage as a float"], indirect=True)
def test_a_must_that_fails_is_a_failure(told: Told) -> None:
    assert told.exit_code == 1
    assert not told.report["ok"]
    assert told.report["counts"]["must"]["failed"] == int(told.junit.attrib["failures"]) == 1
    failure = told.case("usage.fields").find("failure")
    assert failure is not None
    assert failure.attrib == {"message": "data.totalRAMUsed is 512.0, not an integer", "type": "must"}
    assert "  FAILED   must   usage.fields: Usage limits have all 22 fields" in told.printed


@pytest.mark.parametrize("told", ["news unsorted"], indirect=True)
def test_a_should_that_fails_is_told_and_fails_no_build(told: Told) -> None:
    assert told.exit_code == 0
    assert told.report["ok"]
    assert told.report["counts"]["should"]["failed"] == 1
    assert told.junit.attrib["failures"] == "0"
    skipped = told.case("news.newest-first").find("skipped")
    assert skipped is not None
    assert skipped.attrib["message"].startswith("SHOULD failed: 2025-06-18 06:30:00 comes after 2025-03-03 02:00:00")
    assert "  FAILED   should news.newest-first: " in told.printed
