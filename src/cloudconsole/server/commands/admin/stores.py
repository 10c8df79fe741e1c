"""The store that a command is about, and the desk at which its operator works."""

import argparse
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from sqlalchemy import Engine

from cloudconsole.core.clock import SystemClock
from cloudconsole.operator.desk import Desk, at_desk, reading_desk
from cloudconsole.server.commands.whoami import user_name
from cloudconsole.server.settings import Settings
from cloudconsole.server.settings_reading import load_settings
from cloudconsole.server.settings_text import add_config_flag
from cloudconsole.store.engine import Part, StoreError, database_file, opened
from cloudconsole.store.preparing import prepare, require_current


def add_store_arguments(parser: argparse.ArgumentParser) -> None:
    add_config_flag(parser)
    parser.add_argument("--data", metavar="DIR", help="folder of the store (default: as the settings say, else data)")


def add_zone_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--time-zone",
        metavar="ZONE",
        help="time zone of times without an offset (default: as the settings say, else UTC)",
    )


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def settings_for(arguments: argparse.Namespace) -> Settings:
    return load_settings(flags={name: getattr(arguments, name, None) for name in ("config", "data", "time_zone")})


def require_store(settings: Settings) -> None:
    if not database_file(settings.data, "cloud").exists():
        raise StoreError(f"there is no store in {settings.data}: give its folder with --data")


@contextmanager
def store(settings: Settings, part: Part = "cloud") -> Iterator[Engine]:
    """One part of a store that is there, for a change: its tables are brought up to date first."""
    require_store(settings)
    prepare(settings.data)
    with opened(settings.data, part) as engine:
        yield engine


@contextmanager
def store_to_read(settings: Settings, part: Part = "cloud") -> Iterator[Engine]:
    """One part of a store that is there; one whose tables are not up to date is refused and left as it is."""
    require_store(settings)
    require_current(settings.data, part)
    with opened(settings.data, part) as engine:
        yield engine


def writing(engine: Engine, settings: Settings, *, force: bool = False) -> AbstractContextManager[Desk]:
    """The desk at which whoever called the command makes a change."""
    return at_desk(engine, actor=user_name(), now=now(), zone=settings.zone, force=force)


def looking(engine: Engine, settings: Settings) -> AbstractContextManager[Desk]:
    return reading_desk(engine, now=now(), zone=settings.zone)


def now() -> int:
    return int(SystemClock().now())
