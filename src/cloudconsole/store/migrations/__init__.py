"""Migrations by Alembic: one history for both parts; each database says which parts it holds."""

from collections.abc import Set
from functools import cache

from alembic import command, context
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine

from cloudconsole.store.engine import Part, StoreError, reading


def migrate(engine: Engine, parts: Set[Part]) -> None:
    """Bring the database behind `engine` up to date; a newer one than this program knows is refused."""
    config = _config()
    script = ScriptDirectory.from_config(config)
    with reading(engine).connect() as connection:
        current = MigrationContext.configure(connection).get_current_revision()
    if current == script.get_current_head():
        return
    known = {revision.revision for revision in script.walk_revisions()}
    if current is not None and current not in known:
        raise StoreError(f"the store was made by a newer Cloud Console (revision {current}): install that version")
    with engine.begin() as connection:
        config.attributes.update(connection=connection, parts=parts)
        command.upgrade(config, "head")


@cache
def newest_revision() -> str | None:
    """The revision whose tables this program knows."""
    return ScriptDirectory.from_config(_config()).get_current_head()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", "cloudconsole.store:migrations")
    return config


def holds(part: Part) -> bool:
    """Whether the database being migrated holds this part; for use in a migration."""
    return part in context.config.attributes["parts"]
