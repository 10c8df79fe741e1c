"""Directories of other users, whichever user runs the tests."""

import os
import pwd
from pathlib import Path

import pytest

OTHER_UID = 4711


def chown_to_other_user(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Make a directory another user's, and return the names of its owner and of the current user.

    Unless run by root, the change is faked.
    """
    current_user = pwd.getpwuid(os.geteuid()).pw_name
    if os.geteuid() == 0:
        os.chown(folder, OTHER_UID, -1)
        return str(OTHER_UID), current_user
    monkeypatch.setattr(os, "geteuid", lambda: OTHER_UID)
    return current_user, str(OTHER_UID)
