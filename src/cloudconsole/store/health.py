"""Readiness, and counts of accounts and sessions."""

from typing import Final

from msgspec import Struct

from cloudconsole.store.base import Reader, RowReader
from cloudconsole.store.migrations import known_revisions
from cloudconsole.store.session_lookup import COUNT

_FIRST_ROWS: Final = "SELECT (SELECT id FROM accounts LIMIT 1), (SELECT id_hash FROM sessions LIMIT 1)"


async def unexpected_revisions(reader: Reader) -> list[str]:
    """Return the revisions of its databases that this program cannot serve.

    A newer revision can be served if the migration to it declares that it is compatible. Raise `Unavailable` if they
    cannot be read.
    """
    await reader.one(_FIRST_ROWS)
    own = known_revisions()[0]
    revisions = await reader.one(reader.revisions) or (None,)
    if all(revision == own for revision in revisions):
        return []
    if any(revision is None or revision < own for revision in revisions):
        return [revision or "none" for revision in revisions if revision is None or revision < own]
    oldest = await reader.one(reader.oldest_compatible) or (None,) * len(revisions)
    return [revision for revision, compatible in zip(revisions, oldest, strict=True) if (compatible or revision) > own]


_ANY: Final = "SELECT EXISTS (SELECT 1 FROM accounts), EXISTS (SELECT 1 FROM sessions)"
_ACCOUNTS: Final = "SELECT COUNT(*) FILTER (WHERE NOT disabled), COUNT(*) FILTER (WHERE disabled) FROM accounts"


class Counts(Struct, frozen=True):
    enabled_accounts: int
    disabled_accounts: int
    live_sessions: int


async def probe(reader: RowReader) -> bool:
    """Return True if the store can be read, in constant time; raise `Unavailable` if not."""
    return await reader.one(_ANY) is not None


async def count(reader: RowReader, now: float, idle_seconds: int) -> Counts:
    """Count accounts and live sessions; raise `Unavailable` if the store cannot be read."""
    accounts = await reader.one(_ACCOUNTS) or (0, 0)
    sessions = await reader.one(COUNT, {"now": now, "idle_since": now - idle_seconds}) or (0,)
    return Counts(*accounts, *sessions)
