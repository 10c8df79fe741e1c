"""What to do instead where the store is a database, which PostgreSQL's own programs keep safe; ready to be pasted."""

import argparse
import shlex
from typing import TYPE_CHECKING

from cloudconsole.server.config.settings import Settings

if TYPE_CHECKING:
    from cloudconsole.store.postgres.dsn import DatabaseAddress


def how_to_back_up(settings: Settings, file: str) -> str:
    from cloudconsole.store.postgres.dsn import backup_command

    return (
        f"{settings.store} is backed up by PostgreSQL's own program; the file will hold secrets: "
        f"umask 077; {backup_command(_address(settings), file)}"
    )


def how_to_restore(settings: Settings, arguments: argparse.Namespace) -> str:
    from cloudconsole.store.postgres.dsn import holds_password, restore_command

    address = _address(settings)
    is_hidden = holds_password(address.given) and address.password_file is None
    hidden = "; all three need its password, which is not shown, by PGPASSWORD or PGPASSFILE" if is_hidden else ""
    same = _same_store(address, arguments.config)
    return (
        f"{settings.store} is restored by PostgreSQL's own program, while nothing serves it; then its tables are "
        f"brought up to date, and the sessions ended that live again{hidden}: "
        f"{restore_command(address, str(arguments.file))} && "
        f"cloudconsole admin migrate{same} && cloudconsole admin end-sessions{same}"
    )


def _address(settings: Settings) -> "DatabaseAddress":
    from cloudconsole.store.postgres.dsn import DatabaseAddress

    return DatabaseAddress(settings.database or "", settings.database_password_file)


def _same_store(address: "DatabaseAddress", config: str | None) -> str:
    """Flags that name this store, wherever it was named: what is pasted must act on no other."""
    from cloudconsole.store.postgres.dsn import without_password

    given = {
        "--config": config,
        "--database": without_password(address.given),
        "--database-password-file": address.password_file,
    }
    return "".join(f" {shlex.join((flag, str(value)))}" for flag, value in given.items() if value is not None)
