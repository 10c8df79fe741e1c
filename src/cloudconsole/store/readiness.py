"""Whether the store can be read by this program as it is."""

from typing import Final

from cloudconsole.store.migrations import known_revisions
from cloudconsole.store.reader import Reader

_ANYTHING: Final = "SELECT (SELECT id FROM accounts LIMIT 1), (SELECT id_hash FROM sessions LIMIT 1)"


async def odd_revisions(reader: Reader) -> list[str]:
    """Of its tables, those that this program does not bring a store to; `Unavailable` where they cannot be read."""
    await reader.one(_ANYTHING)
    revisions = await reader.one(reader.revisions) or (None,)
    return [revision or "none" for revision in revisions if revision != known_revisions()[0]]
