"""Who an operator is to the audit."""

import os
import pwd

import pytest

from cloudconsole.server.commands.common import user_name


def test_no_variable_can_say_that_someone_else_did_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "mallory")
    assert user_name() == pwd.getpwuid(os.getuid()).pw_name != "mallory"


def test_a_user_without_a_name_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = 2**31 - 7
    monkeypatch.setattr(os, "getuid", lambda: nobody)
    assert user_name() == f"user {nobody}"
