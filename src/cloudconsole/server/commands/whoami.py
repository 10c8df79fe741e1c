"""Who runs a command, for the audit trail."""

import os
import pwd


def user_name() -> str:
    """The user of the process itself: a variable such as LOGNAME could say anything."""
    user = os.getuid()
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
