"""Migrations by Alembic: one history for both parts; each database says which parts it holds.

Alembic is loaded only where something is migrated: most processes find a store that is up to date, and would spend a
tenth of their memory on it.
"""

from collections.abc import Set
from functools import cache
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine, column, inspect, select, table

from cloudconsole.store.engine import Part, StoreError, reading

_VERSION: Final = table("alembic_version", column("version_num"))
_SCRIPTS: Final = Path(__file__).with_name("versions")


def migrate(engine: Engine, parts: Set[Part], revision: str = "head") -> None:
    """Bring the database behind `engine` up to date, or to a revision; one that is newer than all known is refused."""
    if is_current(engine):
        return
    with engine.begin() as connection:
        upgrade(connection, parts, revision)


def upgrade(connection: Connection, parts: Set[Part], revision: str = "head") -> None:
    """The same as part of a transaction, which is the caller's to end."""
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection, "parts": parts})
    config.set_main_option("script_location", "cloudconsole.store:migrations")
    command.upgrade(config, revision)


def is_current(engine: Engine) -> bool:
    """Whether the database behind `engine` is up to date; a newer one than this program knows is refused."""
    return is_newest(current_revision(engine))


def is_newest(revision: str | None) -> bool:
    """Whether a revision is what this program brings a store to; one that it does not know is refused."""
    known = known_revisions()
    if revision is not None and revision not in known:
        raise StoreError(f"the store was made by a newer Cloud Console (revision {revision}): install that version")
    return revision == known[0]


def current_revision(engine: Engine) -> str | None:
    """The revision of the database behind `engine`; None where it has never been migrated."""
    with reading(engine).connect() as connection:
        return revision_of(connection)


def revision_of(connection: Connection) -> str | None:
    """The same, as a transaction sees it."""
    if not inspect(connection).has_table(_VERSION.name):
        return None
    revision: str | None = connection.scalar(select(_VERSION.c.version_num))
    return revision


@cache
def known_revisions() -> tuple[str, ...]:
    """The revisions that this program knows; the first is what it brings a store to."""
    names = (script.stem.removeprefix("m") for script in _SCRIPTS.glob("m*.py"))
    return tuple(sorted((name.partition("_")[0] for name in names), reverse=True))


def holds(part: Part) -> bool:
    """Whether the database being migrated holds this part; for use in a migration."""
    from alembic import context

    return part in context.config.attributes["parts"]
