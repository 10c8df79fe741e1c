"""What the hot paths read with: plain SQL, and word of what has changed since; each kind of store has its own.

SQL is written once for all of them: with `?` or `:name` for parameters, and no literal that has such a sign in it.
"""

from collections.abc import Hashable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

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
