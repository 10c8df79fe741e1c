"""Permissions of files that decide whom the server trusts."""

import os

from cloudconsole.spec.file_trust import distrust
from cloudconsole.store.sqlite.permissions import user_named


def reason_for_distrust(status: os.stat_result) -> str | None:
    """Return why a file is not read, or None. A group may write it, as is common for mounted files."""
    found = distrust(status, trusts_group=True)
    if found == "owner":
        return f"belongs to {user_named(status.st_uid)}, who can change it: run chown {user_named(os.geteuid())} on it"
    return None if found is None else "can be written by every user of this machine: run chmod o-w on it"
