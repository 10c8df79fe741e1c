"""Permissions of files that decide whom the server trusts."""

import os

from cloudconsole.spec.file_trust import distrust
from cloudconsole.spec.i18n import Text
from cloudconsole.store.sqlite.permissions import user_named


def reason_for_distrust(status: os.stat_result) -> Text | None:
    """Return why a file is not read, or None. A group may write it, as is common for mounted files."""
    found = distrust(status, trusts_group=True)
    if found == "owner":
        owner, user = user_named(status.st_uid), user_named(os.geteuid())
        return Text(
            f"belongs to {owner}, who can change it: run chown {user} on it",
            f"属于 {owner}，可被其修改：请对其执行 chown {user}",
        )
    if found == "mode":
        return Text(
            "can be written by every user of this machine: run chmod o-w on it",
            "本机所有用户均可写入：请对其执行 chmod o-w",
        )
    return None
