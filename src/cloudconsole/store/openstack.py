"""Project→tenant lookup; resources observed in a cloud."""

import math
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Engine, delete
from sqlalchemy.exc import SQLAlchemyError

from cloudconsole.core.hosts import normalise_project
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import RowReader
from cloudconsole.store.sql import insert_rows, retry_deadlocks
from cloudconsole.store.tables import observed_resources

_TENANT = "SELECT id, disabled FROM tenants WHERE project = ?"


async def tenant_of_project(reader: RowReader, project: str) -> tuple[int, bool] | None:
    """The id of the tenant that is this project, and whether it is disabled; None where there is none yet."""
    row = await reader.one(_TENANT, (normalise_project(project),))
    return None if row is None else (row[0], bool(row[1]))


_SEEN: Final = """
    SELECT region, kind, resource_id, type, size_gb, seen_at FROM sightings
    WHERE endpoint = ? AND project_id = ? AND seen_at >= ? ORDER BY region, kind, resource_id
"""
# Another replica may have seen it later, and been quicker to write that down.
_UNLESS_SEEN_LATER: Final = """
    ON CONFLICT (endpoint, project_id, region, kind, resource_id) DO UPDATE SET
        type = excluded.type, size_gb = excluded.size_gb, seen_at = excluded.seen_at
    WHERE excluded.seen_at >= sightings.seen_at
"""
_KEPT_SECONDS: Final = 3600
"""How much longer than its hour a row stays: another machine's clock may be a little behind."""


class ObservedResource(NamedTuple):
    region: str
    kind: str
    resource_id: str
    type: str | None
    size_gb: int
    seen_at: int


class ObservedResources:
    """`write` runs a function that writes, wherever it may wait for a lock."""

    def __init__(self, reader: RowReader, engine: Engine, write: Callable[..., Awaitable[Any]]) -> None:
        self._reader = reader
        self._engine = engine
        self._write = write

    async def since(
        self, endpoint: str, project_id: str, moment: float, snapshot: RowReader | None = None
    ) -> list[ObservedResource]:
        """What of a project was seen at that moment or later, each as it was then; in the snapshot, if one is given."""
        rows = await (snapshot or self._reader).all(_SEEN, (endpoint, project_id, math.ceil(moment)))
        return [ObservedResource(*row) for row in rows]

    async def record(
        self,
        endpoint: str,
        project_id: str,
        seen: Iterable[ObservedResource],
        since: int,
        anew_since: float | None = None,
    ) -> None:
        """Write down what was not, since that moment, or was otherwise; raises `Unavailable` where it cannot be.

        `anew_since` is where it must have been written down later than `since`.
        """
        known = {row[:3]: row[3:5] for row in await self.since(endpoint, project_id, anew_since or since)}
        rows = {
            sighting[:3]: {"endpoint": endpoint, "project_id": project_id, **sighting._asdict()}
            for sighting in seen
            if known.get(sighting[:3]) != sighting[3:5]
        }
        if rows:
            # In one order, so that replicas which saw the same do not wait for each other in a circle.
            await self._write(self._put, [rows[key] for key in sorted(rows)], since)

    def _put(self, rows: list[dict[str, Any]], since: int) -> None:
        def work(connection: Connection) -> None:
            connection.execute(delete(observed_resources).where(observed_resources.c.seen_at < since - _KEPT_SECONDS))
            insert_rows(connection, observed_resources, rows, _UNLESS_SEEN_LATER)

        try:
            retry_deadlocks(self._engine, work)
        except SQLAlchemyError as problem:
            raise Unavailable from problem
