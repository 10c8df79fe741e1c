"""Whether the store can be read by this program as it is."""

from typing import Final

from cloudconsole.store.migrations import known_revisions
from cloudconsole.store.reader import Reader

_REVISIONS: Final = """
    SELECT (SELECT version_num FROM main.alembic_version), (SELECT version_num FROM activity.alembic_version)
"""
_ANYTHING: Final = "SELECT (SELECT id FROM accounts LIMIT 1), (SELECT id_hash FROM sessions LIMIT 1)"


def tables_are_current(reader: Reader) -> bool:
    """Whether both parts have the tables that this program knows; raises `Unavailable` where they cannot be read."""
    reader.one(_ANYTHING)
    newest = known_revisions()[0]
    return reader.one(_REVISIONS) == (newest, newest)
