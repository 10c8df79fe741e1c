"""The Containerfile matches the project."""

import tomllib

import pytest

from cloudconsole.server.config.loader import load_settings
from cloudconsole.server.config.settings import SETTINGS
from tests.deploy.container_file import BUILD, FINAL, IGNORE, ROOT, environment, only

COPIED = [source for step in BUILD if step.instruction == "COPY" for source in step.text.split()[:-1]]


def test_the_image_sets_only_the_required_settings() -> None:
    ours = {name: value for name, value in environment().items() if name.startswith("CLOUDCONSOLE_")}
    assert set(ours) == {SETTINGS[name].variable for name in ("host", "data")}
    assert load_settings(ours, {}).data.as_posix() == only(FINAL, "VOLUME").text == only(FINAL, "WORKDIR").text


def test_both_stages_use_the_supported_python() -> None:
    builder, final = only(BUILD, "FROM").text, only(FINAL, "FROM").text
    assert builder == f"{final} AS build"
    version = final.partition(":")[2].split("-")[0]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={version}"


def test_every_requirement_is_verified_by_hash() -> None:
    installs = [step.text for step in BUILD if step.instruction == "RUN" and " pip install " in f" {step.text}"]
    assert all("--require-hashes" in step or "--no-deps" in step for step in installs)


@pytest.mark.parametrize("source", COPIED)
def test_copied_files_exist_and_are_not_ignored(source: str) -> None:
    assert (ROOT / source).exists()
    assert f"!{source}" in IGNORE.read_text().splitlines()


def test_everything_else_is_ignored() -> None:
    lines = [line for line in IGNORE.read_text().splitlines() if not line.startswith("#")]
    assert lines[0] == "*"
    assert {line.removeprefix("!") for line in lines if line.startswith("!")} == set(COPIED)
