"""Where a user's files are."""

from pathlib import Path

import pytest

from cloudconsole.cli.paths import profiles_file, sessions_file


@pytest.mark.parametrize(
    ("environment", "folder"),
    [({}, "/home/ann/{}"), ({"XDG": "/elsewhere"}, "/elsewhere"), ({"XDG": "relative"}, "/home/ann/{}")],
)
def test_the_user_s_folders_are_where_the_desktop_puts_them(
    environment: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    variables = {f"XDG_{kind}_HOME": place for kind in ("CONFIG", "STATE") for place in environment.values()}
    assert profiles_file(variables) == Path(folder.format(".config")) / "cloudconsole/config.toml"
    assert sessions_file(variables) == Path(folder.format(".local/state")) / "cloudconsole/sessions.json"


@pytest.mark.parametrize("home", ["relative", "."])
def test_a_home_that_depends_on_where_one_is_is_none(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", home)
    assert sessions_file({}) == Path("/nonexistent/.local/state/cloudconsole/sessions.json")
