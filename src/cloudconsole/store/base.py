"""Store protocol, StoreError, read-only engine option."""

import math
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from contextvars import ContextVar
from typing import Final, Literal, Protocol

from sqlalchemy import Engine

from cloudconsole.store.reader import Reader

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
