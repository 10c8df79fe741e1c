"""A password among the arguments is warned of; elsewhere it is where it belongs."""

from pathlib import Path

import pytest

from tests.e2e.processes import command
from tests.server.commands.conftest import Run

NOWHERE = "postgresql://console{password}@127.0.0.1:1/cloud"
WARNING = "cloudconsole: other users of this machine can see a password on the command line"


@pytest.mark.parametrize("words", [("admin", "node", "list"), ("init", "--password-stdin")])
@pytest.mark.parametrize(("password", "is_warned"), [(":secret-1", True), ("", False)])
def test_a_password_in_the_flag_is_warned_of(
    cloudconsole: Run, words: tuple[str, ...], password: str, is_warned: bool
) -> None:
    done = cloudconsole(*words, "--database", NOWHERE.format(password=password), stdin=b"long-enough-1\n")
    assert done.code == 1
    assert (WARNING in done.err) is is_warned
    assert "secret-1" not in done.err


def test_a_console_warns_of_it_too() -> None:
    done = command("serve", "--port", "0", "--database", NOWHERE.format(password=":secret-1"))
    assert done.returncode == 1
    assert WARNING in done.stderr


def test_a_password_in_an_argument_is_warned_of(cloudconsole: Run, tmp_path: Path) -> None:
    done = cloudconsole("admin", "copy-to", NOWHERE.format(password=":secret-1"), "--data", tmp_path)
    assert WARNING in done.err


def test_a_password_in_a_variable_is_not(cloudconsole: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUDCONSOLE_DATABASE", NOWHERE.format(password=":secret-1"))
    done = cloudconsole("admin", "node", "list")
    assert done.code == 1
    assert WARNING not in done.err
