"""How a fault affects the exit code and the reports."""

import json
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import pytest

from cloudconsole.cli.main import main
from tests.conformance.conftest import FaultyServer
from tests.conformance.interface_faults import FAULTS


class CommandRun(NamedTuple):
    exit_code: int
    report: dict[str, Any]
    junit: ET.Element
    printed: str

    def case(self, name: str) -> ET.Element:
        (found,) = (case for case in self.junit.iter("testcase") if case.attrib["name"] == name)
        return found


@pytest.fixture
def command_run(
    request: pytest.FixtureRequest,
    faulty_server: FaultyServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> CommandRun:
    """Run the command against a server with the named fault."""
    (fault,) = (each for each in FAULTS if each.name == request.param)
    faulty_server.inject(fault)
    monkeypatch.setenv("CLOUDCONSOLE_PASSWORD", "console-demo")
    files = ("--json", str(tmp_path / "report.json"), "--junit", str(tmp_path / "report.xml"))
    account = ("--region", f"{faulty_server.base}/v3", "--username", "demo", "--domain-id", "206813")
    exit_code = main(["conformance", faulty_server.base, *account, *files])
    report = json.loads((tmp_path / "report.json").read_text())
    return CommandRun(exit_code, report, ET.parse(tmp_path / "report.xml").getroot(), capsys.readouterr().out)


@pytest.mark.parametrize("command_run", ["usage as a float"], indirect=True)
def test_failed_must_fails_the_run(command_run: CommandRun) -> None:
    assert command_run.exit_code == 1
    assert not command_run.report["ok"]
    assert command_run.report["counts"]["must"]["failed"] == int(command_run.junit.attrib["failures"]) == 1
    failure = command_run.case("usage.fields").find("failure")
    assert failure is not None
    assert failure.attrib == {"message": "data.totalRAMUsed is 512.0, not an integer", "type": "must"}
    assert "  FAILED   must   usage.fields: Usage limits have all 22 fields" in command_run.printed


@pytest.mark.parametrize("command_run", ["news unsorted"], indirect=True)
def test_failed_should_is_reported_without_failing_the_run(command_run: CommandRun) -> None:
    assert command_run.exit_code == 0
    assert command_run.report["ok"]
    assert command_run.report["counts"]["should"]["failed"] == 1
    assert command_run.junit.attrib["failures"] == "0"
    skipped = command_run.case("news.newest-first").find("skipped")
    assert skipped is not None
    assert skipped.attrib["message"].startswith("SHOULD failed: 2025-06-18 06:30:00 comes after 2025-03-03 02:00:00")
    assert "  FAILED   should news.newest-first: " in command_run.printed
