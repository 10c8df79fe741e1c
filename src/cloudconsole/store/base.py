"""Protocols of a store: engines, readers, snapshots and change feeds."""

import math
from collections.abc import AsyncIterator, Hashable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from contextvars import ContextVar
from typing import Any, Final, Literal, Protocol

from sqlalchemy import Engine

RowTuple = tuple[Any, ...]
Parameters = RowTuple | dict[str, Any]


class RowReader(Protocol):
    async def one(self, sql: str, parameters: Parameters = ()) -> RowTuple | None:
        """Return the first row; raise `Unavailable` if the store cannot be read."""

    async def all(self, sql: str, parameters: Parameters = ()) -> list[RowTuple]: ...


class Snapshot(RowReader, Protocol):
    """A reader of one consistent snapshot."""

    async def shared_stamp(self) -> Hashable:
        """Return a stamp of the snapshot that changes with every change of prices or nodes and never repeats."""


class ChangeFeed(Protocol):
    """The known changes of the store, for cache invalidation.

    Changes are numbered as they become known. A cache entry stores the number that was the latest *before* it was
    read; it is valid until a later change of its data is known.
    """

    latest: int

    @property
    def is_stale(self) -> bool:
        """Whether changes are currently unknown, so that no cached data may be used."""

    async def poll(self) -> None:
        """Learn of all changes acknowledged before now; raise `Unavailable` if that fails."""

    def tenant_version(self, tenant_id: int) -> int:
        """Return the number of the last change of the tenant's own or of shared data."""

    def session_version(self, id_hash: bytes) -> int:
        """Return the number of the last change of this session."""


class Reader(RowReader, Protocol):
    @property
    def changes(self) -> ChangeFeed: ...

    @property
    def revisions(self) -> str:
        """SQL for the revisions of the databases, in one row."""

    @property
    def oldest_compatible(self) -> str:
        """SQL for the oldest revision whose programs can serve these tables, in the columns of `revisions`."""

    async def seek(self, sql: str, parameters: Parameters = ()) -> RowTuple | None:
        """Read like `one`, for untrusted keys: a flood of these leaves capacity for other reads."""

    def snapshot(self) -> AbstractAsyncContextManager[Snapshot]: ...

    async def leave(self) -> None:
        """Close what depends on the running event loop; `close` does the rest."""

    def close(self) -> None: ...


DatabaseName = Literal["cloud", "activity"]
DATABASE_NAMES: Final[tuple[DatabaseName, ...]] = ("cloud", "activity")

BUSY_SECONDS: Final = 10
"""How long a write waits for a lock."""

write_deadline: Final = ContextVar("write_deadline", default=math.inf)
"""Monotonic time at which writes give up waiting for the store; infinite for commands."""


class StoreError(Exception):
    """The store cannot be used; the message says why and how to fix it."""

    def __init__(self, message: str, chinese: str | None = None) -> None:
        super().__init__(message)
        self.chinese = message if chinese is None else chinese


def read_only_engine(engine: Engine) -> Engine:
    """Return the engine in read-only mode, which does not wait for writers."""
    return engine.execution_options(reads_only=True)


class Store(Protocol):
    """A store. `str()` gives its name in English messages; an unusable store raises `StoreError`."""

    @property
    def chinese(self) -> str:
        """The name in Chinese messages."""

    @property
    def replication_wait_seconds(self) -> float:
        """Delay between a commit and its acknowledgement, after which no worker uses older data."""

    @property
    def location(self) -> str:
        """The location in logs and command output."""

    def open_engine(self, part: DatabaseName) -> Engine:
        """Open an engine for writes to one database and for slow reads."""

    def opened(self, part: DatabaseName) -> AbstractContextManager[Engine]:
        """Open an engine and dispose of it at the end."""

    def reader(self) -> Reader:
        """Return a reader for the frequent reads of both databases."""

    def exists(self) -> bool:
        """Return whether the store has been created."""

    def migrate(self, actor: str | None = None) -> None:
        """Create the tables or migrate them; safe to run concurrently.

        With an `actor`, a migration is logged and audited.
        """

    def prepare(self, actor: str | None = None) -> None:
        """Make the store ready to be served and changed; only the embedded store migrates here."""

    def require_current(self, part: DatabaseName) -> None:
        """Reject tables that this program cannot serve, without changing them."""


@asynccontextmanager
async def run_with_reader(store: Store) -> AsyncIterator[Reader]:
    """Open a reader and close it before the event loop ends."""
    reader = store.reader()
    try:
        yield reader
    finally:
        await reader.leave()
        reader.close()
