"""Whether the store can be read by this program as it is."""

from typing import Final

from cloudconsole.store.migrations import known_revisions
from cloudconsole.store.reader import Reader

_ANYTHING: Final = "SELECT (SELECT id FROM accounts LIMIT 1), (SELECT id_hash FROM sessions LIMIT 1)"


async def tables_are_current(reader: Reader) -> bool:
    """Whether it has the tables that this program knows; raises `Unavailable` where they cannot be read."""
    await reader.one(_ANYTHING)
    revisions = await reader.one(reader.revisions)
    return revisions is not None and set(revisions) == {known_revisions()[0]}
