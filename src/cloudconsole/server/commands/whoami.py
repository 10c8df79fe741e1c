"""Who runs a command, for the audit trail."""

import getpass
import os


def user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return f"user {os.getuid()}"
