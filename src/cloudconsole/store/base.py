"""Protocols of a store: engines, readers, snapshots and change feeds."""

import math
from collections.abc import AsyncIterator, Hashable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from contextvars import ContextVar
from typing import Any, Final, Literal, Protocol

from sqlalchemy import Engine

Row = tuple[Any, ...]
Parameters = Row | dict[str, Any]


class RowReader(Protocol):
    async def one(self, sql: str, parameters: Parameters = ()) -> Row | None:
        """The first row; raises `Unavailable` where the store cannot be read."""

    async def all(self, sql: str, parameters: Parameters = ()) -> list[Row]: ...


class Snapshot(RowReader, Protocol):
    """What is read with it is of one moment."""

    async def shared_stamp(self) -> Hashable:
        """Another whenever prices or nodes were changed, and never one that was before; of this very moment, too."""


class ChangeFeed(Protocol):
    """What is known to have changed, so that what is kept of the store is used only while it still holds.

    Changes are numbered as they become known. Whoever keeps something notes the number that was the latest *before*
    it was read; it holds until what it depends on is known to have changed later.
    """

    latest: int

    @property
    def is_stale(self) -> bool:
        """Whether changes cannot be learnt at present: then nothing is answered that hangs on the store."""

    async def poll(self) -> None:
        """Learn of all that was acknowledged before now; raises `Unavailable` where that cannot be learnt."""

    def tenant_version(self, tenant_id: int) -> int:
        """The number of the last change of what this tenant reads, be it its own or shared by all."""

    def session_version(self, id_hash: bytes) -> int:
        """The number of the last change of this session itself."""


class Reader(RowReader, Protocol):
    @property
    def changes(self) -> ChangeFeed: ...

    @property
    def revisions(self) -> str:
        """The SQL that tells of which revision the tables are, in one row."""

    @property
    def oldest_compatible(self) -> str:
        """The SQL for the oldest revision whose programs can serve these tables, in the columns of `revisions`."""

    async def seek(self, sql: str, parameters: Parameters = ()) -> Row | None:
        """As `one`, for what may be made up: however many do that, it leaves room for all other reads."""

    def snapshot(self) -> AbstractAsyncContextManager[Snapshot]: ...

    async def leave(self) -> None:
        """Close what hangs on the running event loop; what is left, `close` does."""

    def close(self) -> None: ...


DatabaseName = Literal["cloud", "activity"]
DATABASE_NAMES: Final[tuple[DatabaseName, ...]] = ("cloud", "activity")

BUSY_SECONDS: Final = 10
"""How long a change waits for another."""

write_deadline: Final = ContextVar("write_deadline", default=math.inf)
"""The monotonic time after which whoever works with the store now does not wait for it any more; commands always do."""


class StoreError(Exception):
    """The store cannot be used as it is; the text says why and what mends it."""


def read_only(engine: Engine) -> Engine:
    """The same engine for reading only: it waits for no one who writes."""
    return engine.execution_options(reads_only=True)


class Store(Protocol):
    """Its text is how messages call it. What cannot be used raises `StoreError`."""

    @property
    def replication_wait_seconds(self) -> float:
        """How long after a commit whoever made it waits before saying so: by then, no worker answers as before."""

    @property
    def location(self) -> str:
        """Where it is, as logs and commands tell it."""

    def open_engine(self, part: DatabaseName) -> Engine:
        """For the writes of one part, and for reads that take their time."""

    def opened(self, part: DatabaseName) -> AbstractContextManager[Engine]:
        """The same, for as long as it is needed."""

    def reader(self) -> Reader:
        """For the hot reads of both parts."""

    def exists(self) -> bool:
        """Whether there is a store at all."""

    def migrate(self, actor: str | None = None) -> None:
        """Make its tables, or bring them up to date; safe when several do it at once.

        With an `actor`, a migration is logged and audited.
        """

    def prepare(self, actor: str | None = None) -> None:
        """See that it can be served and changed; whether it is migrated on the way is the store's own way."""

    def require_current(self, part: DatabaseName) -> None:
        """Refuse to read tables that this program cannot serve; changes nothing."""


@asynccontextmanager
async def run_with_reader(store: Store) -> AsyncIterator[Reader]:
    """A reader for as long as it is needed, and no longer than the running event loop."""
    reader = store.reader()
    try:
        yield reader
    finally:
        await reader.leave()
        reader.close()
