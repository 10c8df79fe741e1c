"""Open the store for a command, run the command and report errors."""

import argparse
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from cloudconsole.cli import stdout
from cloudconsole.cli.i18n import FLAG, LANGUAGES, translate
from cloudconsole.cli.messages import LANG_FLAG
from cloudconsole.core.clock import SystemClock
from cloudconsole.operator.errors import CloudFileError, OperatorError, OverridableError
from cloudconsole.operator.transaction import (
    OperatorTransaction,
    operator_transaction,
    os_user_name,
    read_only_transaction,
)
from cloudconsole.server.commands.admin import messages
from cloudconsole.server.commands.i18n import localized
from cloudconsole.server.commands.passwords import warn_password_in_arguments
from cloudconsole.server.config.docs import add_config_flag
from cloudconsole.server.config.loader import load_settings
from cloudconsole.server.config.settings import STORE_SETTINGS, SettingError, Settings
from cloudconsole.server.logging import EXIT_FAILED, exit_with_error
from cloudconsole.spec.text_escaping import escape
from cloudconsole.store.base import DatabaseName, StoreError
from cloudconsole.store.sql import allow_idle_transaction, is_lock_error
from cloudconsole.store.sqlite.store import SqliteStore

PAGING_MINUTES: Final = 60
"""Time a slow reader of a paged list, such as a pager, may pause before PostgreSQL ends the transaction."""


def add_store_arguments(parser: argparse.ArgumentParser) -> None:
    add_directory_arguments(parser)
    parser.add_argument("--database", metavar="ADDRESS", help=translate(messages.DATABASE_FLAG))
    parser.add_argument("--database-password-file", metavar="FILE", help=translate(messages.DATABASE_PASSWORD_FLAG))


def add_directory_arguments(parser: argparse.ArgumentParser) -> None:
    add_config_flag(parser)
    parser.add_argument("--data", metavar="DIR", help=translate(messages.DATA_FLAG))
    add_language_argument(parser)


def add_language_argument(parser: argparse.ArgumentParser) -> None:
    # A subcommand's default would override what was given before it.
    parser.add_argument(FLAG, choices=LANGUAGES, default=argparse.SUPPRESS, help=translate(LANG_FLAG))


def add_zone_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--time-zone",
        metavar="ZONE",
        help=translate(messages.TIME_ZONE_FLAG),
    )


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help=translate(messages.JSON_FLAG))


def settings_for(arguments: argparse.Namespace) -> Settings:
    warn_password_in_arguments(getattr(arguments, "database", None))
    flags = {name: getattr(arguments, name, None) for name in ("config", *STORE_SETTINGS, "time_zone")}
    settings = load_settings(flags=flags)
    # With --data, a command must not silently act on the configured database.
    if settings.database and flags["data"] and "database" in arguments and not flags["database"]:
        raise SettingError(translate(messages.DATA_AND_DATABASE))
    return settings


def require_store(settings: Settings) -> None:
    if isinstance(settings.store, SqliteStore) and not settings.store.exists():
        raise StoreError(translate(messages.NO_STORE, directory=settings.data))


@contextmanager
def store(settings: Settings, part: DatabaseName = "cloud") -> Iterator[Engine]:
    """Open one database of an existing store for a change, after migrating its tables."""
    require_store(settings)
    settings.store.prepare(os_user_name())
    try:
        with settings.store.opened(part) as engine:
            yield engine
    finally:
        # Also after an error: an import has committed all lines before the invalid one.
        wait_for_replicas(settings)


@contextmanager
def store_to_read(settings: Settings, part: DatabaseName = "cloud") -> Iterator[Engine]:
    """Open one database of an existing store for reading; reject tables that need a migration."""
    require_store(settings)
    settings.store.require_current(part)
    with settings.store.opened(part) as engine:
        yield engine


def wait_for_replicas(settings: Settings) -> None:
    """Wait until every replica has seen the commit; only then may a command report success."""
    time.sleep(settings.store.replication_wait_seconds)


def writing_transaction(
    engine: Engine, settings: Settings, *, force: bool = False
) -> AbstractContextManager[OperatorTransaction]:
    """Open a transaction with the process's user as actor."""
    return operator_transaction(engine, actor=os_user_name(), now=now(), zone=settings.zone, force=force)


@contextmanager
def reading_transaction(engine: Engine, settings: Settings) -> Iterator[OperatorTransaction]:
    """Open a read-only transaction that tolerates a slow reader."""
    with read_only_transaction(engine, now=now(), zone=settings.zone) as tx:
        allow_idle_transaction(tx.connection, PAGING_MINUTES)
        yield tx


def now() -> int:
    return int(SystemClock().now())


DONE: Final = 0


def run_with_settings(arguments: argparse.Namespace, command: Callable[[argparse.Namespace, Settings], None]) -> int:
    try:
        settings = settings_for(arguments)
    except SettingError as problem:
        return exit_with_error(str(problem))
    try:
        command(arguments, settings)
    except CloudFileError as error:
        sys.stderr.writelines(f"{escape(line)}\n" for line in error.lines(localized))
        return EXIT_FAILED
    except OverridableError as error:
        return exit_with_error(translate(messages.OVERRIDABLE, problem=localized(error.message)))
    except (OperatorError, StoreError) as error:
        return exit_with_error(localized(error.message if isinstance(error, OperatorError) else error))
    except (DBAPIError, sqlite3.Error) as problem:
        if is_lock_error(problem):
            return exit_with_error(translate(messages.STORE_LOCKED, store=localized(settings.store)))
        reason = problem.orig if isinstance(problem, DBAPIError) else problem
        return exit_with_error(translate(messages.STORE_UNUSABLE, store=localized(settings.store), reason=reason))
    except UnicodeEncodeError:
        return exit_with_error(translate(messages.ARGUMENT_NOT_UTF8))
    except OSError as problem:
        if problem.filename is None:
            raise stdout.OutputError(problem) from problem
        return exit_with_error(f"{problem.filename}: {problem.strerror}")
    return DONE
