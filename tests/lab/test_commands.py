"""`python -m lab` without OpenStack."""

import tomllib
from pathlib import Path

import pytest
from lab.plan import Plan
from lab.processes import Process, Records

from lab import __main__ as commands
from lab import install


def test_the_printed_console_settings_are_valid_toml(plan: Plan) -> None:
    output = commands.console_config(plan, seeded=True)
    settings = tomllib.loads(output[output.index("[[identity]]") : output.index("Users")])
    assert settings["identity"] == [
        {
            "kind": "keystone",
            "address": plan.identity,
            "regions": ["RegionOne", "RegionTwo"],
            "interface": "public",
            "user_domain": "Default",
        }
    ]


@pytest.mark.parametrize("command", ["stop", "status"])
def test_stop_and_status_report_that_no_service_is_running(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.main([command, "--folder", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "no service is running\n"


def test_the_folder_defaults_to_the_environment_variable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB", str(tmp_path))
    Records(tmp_path).add("keystone", Process(1, 1))
    commands.main(["status"])
    assert "keystone" in capsys.readouterr().out


def test_an_error_is_printed_without_a_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["start", "--folder", str(tmp_path / ("long" * 20))]) == 1
    assert capsys.readouterr().err.startswith("lab: ")


def test_a_locked_requirement_is_extracted() -> None:
    requirements = (
        "ua==1 \\\n    --hash=a\n    # via x\nuv==2 ; python \\\n    --hash=b \\\n    --hash=c\n    # via y\nuw==3\n"
    )
    assert install.locked_requirement("uv", requirements) == "uv==2 ; python \\\n    --hash=b \\\n    --hash=c\n"
    with pytest.raises(LookupError, match="ux"):
        install.locked_requirement("ux", requirements)
