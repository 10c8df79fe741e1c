"""Folders of other users, for whoever runs the tests."""

import os
import pwd
from pathlib import Path

import pytest

STRANGER = 4711


def give_to_a_stranger(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Let a folder be another user's; gives the owner and us, as they are named. Only root can truly give it away."""
    ourselves = pwd.getpwuid(os.geteuid()).pw_name
    if os.geteuid() == 0:
        os.chown(folder, STRANGER, -1)
        return str(STRANGER), ourselves
    monkeypatch.setattr(os, "geteuid", lambda: STRANGER)
    return ourselves, str(STRANGER)
