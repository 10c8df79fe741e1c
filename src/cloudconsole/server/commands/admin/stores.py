"""The store that a command is about, and the desk at which its operator works."""

import argparse
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from sqlalchemy import Engine

from cloudconsole.core.clock import SystemClock
from cloudconsole.operator.transaction import Desk, at_desk, reading_desk
from cloudconsole.server.commands.shown_password import warn_of_shown_password
from cloudconsole.server.commands.whoami import user_name
from cloudconsole.server.config.docs import add_config_flag
from cloudconsole.server.config.loader import load_settings
from cloudconsole.server.config.settings import STORE_SETTINGS, SettingError, Settings
from cloudconsole.store.base import Part, StoreError
from cloudconsole.store.sql import allow_long_thought
from cloudconsole.store.sqlite.store import FolderStore

PAGING_MINUTES: Final = 60
"""So long whoever reads a list may take for what the pipe to them holds; then the database takes the moment back."""


def add_store_arguments(parser: argparse.ArgumentParser) -> None:
    add_config_flag(parser)
    parser.add_argument("--data", metavar="DIR", help="folder of the store (default: as the settings say, else data)")
    parser.add_argument("--database", metavar="ADDRESS", help="PostgreSQL database of the store, instead of a folder")
    parser.add_argument("--database-password-file", metavar="FILE", help="file with the password for the database")


def add_zone_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--time-zone",
        metavar="ZONE",
        help="time zone of times without an offset (default: as the settings say, else UTC)",
    )


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def settings_for(arguments: argparse.Namespace) -> Settings:
    warn_of_shown_password(getattr(arguments, "database", None))
    flags = {name: getattr(arguments, name, None) for name in ("config", *STORE_SETTINGS, "time_zone")}
    settings = load_settings(flags=flags)
    # Whoever names a folder must not change the database of the settings instead, unawares.
    if settings.database and flags["data"] and "database" in arguments and not flags["database"]:
        raise SettingError(
            "--data: the settings name a PostgreSQL database as the store; leave --data out, or take settings "
            "without database (another --config, no CLOUDCONSOLE_DATABASE)"
        )
    return settings


def require_store(settings: Settings) -> None:
    if isinstance(settings.store, FolderStore) and not settings.store.is_there():
        raise StoreError(f"there is no store in {settings.data}: give its folder with --data")


@contextmanager
def store(settings: Settings, part: Part = "cloud") -> Iterator[Engine]:
    """One part of a store that is there, for a change: its tables are brought up to date first."""
    require_store(settings)
    settings.store.prepare(user_name())
    try:
        with settings.store.opened(part) as engine:
            yield engine
    finally:
        # Also after a refusal: an import has brought in all lines before the one that was refused.
        settle(settings)


@contextmanager
def store_to_read(settings: Settings, part: Part = "cloud") -> Iterator[Engine]:
    """One part of a store that is there; one whose tables are not up to date is refused and left as it is."""
    require_store(settings)
    settings.store.require_current(part)
    with settings.store.opened(part) as engine:
        yield engine


def settle(settings: Settings) -> None:
    """Wait until every replica has seen what was committed: only then may the command say that it is done."""
    time.sleep(settings.store.settle_seconds)


def writing(engine: Engine, settings: Settings, *, force: bool = False) -> AbstractContextManager[Desk]:
    """The desk at which whoever called the command makes a change."""
    return at_desk(engine, actor=user_name(), now=now(), zone=settings.zone, force=force)


@contextmanager
def looking(engine: Engine, settings: Settings) -> Iterator[Desk]:
    """The desk of whoever only looks, be it page by page."""
    with reading_desk(engine, now=now(), zone=settings.zone) as desk:
        allow_long_thought(desk.connection, PAGING_MINUTES)
        yield desk


def now() -> int:
    return int(SystemClock().now())
