"""Locations of the user's files."""

from pathlib import Path

import pytest

from cloudconsole.cli.paths import profiles_file, sessions_file


@pytest.mark.parametrize(
    ("environment", "directory"),
    [({}, "/home/ann/{}"), ({"XDG": "/elsewhere"}, "/elsewhere"), ({"XDG": "relative"}, "/home/ann/{}")],
)
def test_user_directories_follow_the_xdg_specification(
    environment: dict[str, str], directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    variables = {f"XDG_{kind}_HOME": value for kind in ("CONFIG", "STATE") for value in environment.values()}
    assert profiles_file(variables) == Path(directory.format(".config")) / "cloudconsole/config.toml"
    assert sessions_file(variables) == Path(directory.format(".local/state")) / "cloudconsole/sessions.json"


@pytest.mark.parametrize("home", ["relative", "."])
def test_relative_home_is_not_used(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", home)
    assert sessions_file({}) == Path("/nonexistent/.local/state/cloudconsole/sessions.json")
