"""Migrations by Alembic: one history for both parts; each database says which parts it holds."""

from collections.abc import Set
from functools import cache

from alembic import command, context
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine

from cloudconsole.store.engine import Part, StoreError, reading


def migrate(engine: Engine, parts: Set[Part], revision: str = "head") -> None:
    """Bring the database behind `engine` up to date, or to a revision; one that is newer than all known is refused."""
    if is_current(engine):
        return
    with engine.begin() as connection:
        upgrade(connection, parts, revision)


def upgrade(connection: Connection, parts: Set[Part], revision: str = "head") -> None:
    """The same as part of a transaction, which is the caller's to end."""
    config = _config()
    config.attributes.update(connection=connection, parts=parts)
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
    return MigrationContext.configure(connection).get_current_revision()


@cache
def known_revisions() -> tuple[str, ...]:
    """The revisions that this program knows; the first is what it brings a store to."""
    return tuple(script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions())


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", "cloudconsole.store:migrations")
    return config


def holds(part: Part) -> bool:
    """Whether the database being migrated holds this part; for use in a migration."""
    return part in context.config.attributes["parts"]
