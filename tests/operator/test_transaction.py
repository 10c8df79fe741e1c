"""The actor of a command in the audit log."""

import os
import pwd

import pytest

from cloudconsole.operator.transaction import os_user_name


def test_environment_variables_cannot_change_the_actor(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "mallory")
    assert os_user_name() == pwd.getpwuid(os.getuid()).pw_name != "mallory"


def test_user_without_a_name_is_shown_by_uid(monkeypatch: pytest.MonkeyPatch) -> None:
    uid = 2**31 - 7
    monkeypatch.setattr(os, "getuid", lambda: uid)
    assert os_user_name() == f"user {uid}"
