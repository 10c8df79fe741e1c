"""`python -m lab`, as far as it goes without OpenStack."""

import tomllib
from pathlib import Path

import pytest
from lab.plan import Plan
from lab.processes import Process, Records

from lab import __main__ as commands
from lab import installing


def test_a_console_is_pointed_at_it_by_settings_that_can_be_read(plan: Plan) -> None:
    said = commands.pointing(plan, seeded=True)
    settings = tomllib.loads(said[said.index("[[identity]]") : said.index("Tenants")])
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
def test_where_nothing_runs_it_says_so(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main([command, "--folder", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "nothing runs\n"


def test_the_folder_is_taken_from_the_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB", str(tmp_path))
    Records(tmp_path).add("keystone", Process(1, 1))
    commands.main(["status"])
    assert "keystone" in capsys.readouterr().out


def test_what_fails_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["start", "--folder", str(tmp_path / ("long" * 20))]) == 1
    assert capsys.readouterr().err.startswith("lab: ")


def test_one_package_is_read_from_locked_requirements() -> None:
    requirements = (
        "ua==1 \\\n    --hash=a\n    # via x\nuv==2 ; python \\\n    --hash=b \\\n    --hash=c\n    # via y\nuw==3\n"
    )
    assert installing.locked("uv", requirements) == "uv==2 ; python \\\n    --hash=b \\\n    --hash=c\n"
    with pytest.raises(LookupError, match="ux"):
        installing.locked("ux", requirements)
