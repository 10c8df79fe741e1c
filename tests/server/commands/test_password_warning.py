"""A password on the command line causes a warning; in an environment variable it does not."""

import pytest

from tests.e2e.processes import command
from tests.server.commands.conftest import Run

NOWHERE = "postgresql://console{password}@127.0.0.1:1/cloud"
WARNING = "cloudconsole: other users of this machine can see a password on the command line"


@pytest.mark.parametrize(
    "arguments",
    [("admin", "node", "list", "--database"), ("init", "--password-stdin", "--database"), ("admin", "copy-to")],
)
@pytest.mark.parametrize(("password", "is_warned"), [(":secret-1", True), ("", False)])
def test_password_in_a_flag_causes_a_warning(
    cloudconsole: Run, arguments: tuple[str, ...], password: str, is_warned: bool
) -> None:
    done = cloudconsole(*arguments, NOWHERE.format(password=password), stdin=b"long-enough-1\n")
    assert done.code == 1
    assert (WARNING in done.err) is is_warned
    assert "secret-1" not in done.err


def test_serve_warns_about_a_password_in_a_flag() -> None:
    done = command("serve", "--port", "0", "--database", NOWHERE.format(password=":secret-1"))
    assert done.returncode == 1
    assert WARNING in done.stderr


def test_password_in_a_variable_causes_no_warning(cloudconsole: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUDCONSOLE_DATABASE", NOWHERE.format(password=":secret-1"))
    done = cloudconsole("admin", "node", "list")
    assert done.code == 1
    assert WARNING not in done.err
