"""Whether this program can serve the store as it is."""

from typing import Final

from cloudconsole.store.migrations import known_revisions
from cloudconsole.store.reader import Reader

_ANYTHING: Final = "SELECT (SELECT id FROM accounts LIMIT 1), (SELECT id_hash FROM sessions LIMIT 1)"


async def odd_revisions(reader: Reader) -> list[str]:
    """Return the revisions of its databases that this program cannot serve; `Unavailable` where they cannot be read.

    A newer revision can be served if the migration to it declares that it is compatible.
    """
    await reader.one(_ANYTHING)
    own = known_revisions()[0]
    revisions = await reader.one(reader.revisions) or (None,)
    if all(revision == own for revision in revisions):
        return []
    if any(revision is None or revision < own for revision in revisions):
        return [revision or "none" for revision in revisions if revision is None or revision < own]
    oldest = await reader.one(reader.oldest_compatible) or (None,) * len(revisions)
    return [revision for revision, compatible in zip(revisions, oldest, strict=True) if (compatible or revision) > own]
