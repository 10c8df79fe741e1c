"""What to do instead where the store is a database, which PostgreSQL's own programs keep safe; ready to be pasted."""

import argparse
import shlex
from typing import TYPE_CHECKING, Final

from cloudconsole.server.settings import Settings

if TYPE_CHECKING:
    from cloudconsole.store.postgres.address import DatabaseAddress

_FLAGS: Final = ("config", "database", "database_password_file")


def how_to_back_up(settings: Settings, file: str) -> str:
    from cloudconsole.store.postgres.programs import backup_command

    return (
        f"{settings.store} is backed up by PostgreSQL's own program; the file will hold secrets: "
        f"umask 077; {backup_command(_address(settings), file)}"
    )


def how_to_restore(settings: Settings, arguments: argparse.Namespace) -> str:
    from cloudconsole.store.postgres.programs import restore_command

    same = _same_store(arguments)
    return (
        f"{settings.store} is restored by PostgreSQL's own program, while nothing serves it; then its tables are "
        "brought up to date, and the sessions ended that live again: "
        f"{restore_command(_address(settings), str(arguments.file))} && "
        f"cloudconsole admin migrate{same} && cloudconsole admin end-sessions{same}"
    )


def _address(settings: Settings) -> "DatabaseAddress":
    from cloudconsole.store.postgres.address import DatabaseAddress

    return DatabaseAddress(settings.database or "", settings.database_password_file)


def _same_store(arguments: argparse.Namespace) -> str:
    """The flags that said which store is meant, once more; but for a password, which is never shown."""
    from cloudconsole.store.postgres.address import parse

    if "password" in parse(arguments.database or "postgresql://"):
        return ""
    given = {name: getattr(arguments, name) for name in _FLAGS}
    words = [(f"--{name.replace('_', '-')}", str(value)) for name, value in given.items() if value is not None]
    return "".join(f" {shlex.join(pair)}" for pair in words)
