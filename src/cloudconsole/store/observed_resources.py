"""Resources observed in a cloud; the tenant of an OpenStack project."""

import math
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Engine, delete
from sqlalchemy.exc import SQLAlchemyError

from cloudconsole.core.identity_urls_and_projects import normalise_project
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import RowReader
from cloudconsole.store.sql import insert_rows, retry_deadlocks
from cloudconsole.store.tables import observed_resources

_TENANT = "SELECT id, disabled FROM tenants WHERE project = ?"


async def tenant_of_project(reader: RowReader, project: str) -> tuple[int, bool] | None:
    """Return the id of the project's tenant and whether it is disabled, or None if there is none."""
    row = await reader.one(_TENANT, (normalise_project(project),))
    return None if row is None else (row[0], bool(row[1]))


_SEEN: Final = """
    SELECT region, kind, resource_id, type, size_gb, seen_at FROM sightings
    WHERE endpoint = ? AND project_id = ? AND seen_at >= ? ORDER BY region, kind, resource_id
"""
# Another replica may have written a later observation first.
_UNLESS_SEEN_LATER: Final = """
    ON CONFLICT (endpoint, project_id, region, kind, resource_id) DO UPDATE SET
        type = excluded.type, size_gb = excluded.size_gb, seen_at = excluded.seen_at
    WHERE excluded.seen_at >= sightings.seen_at
"""
_RETENTION_SECONDS: Final = 3600
"""How long a row outlives its hour, to tolerate clocks that are behind."""


class ObservedResource(NamedTuple):
    region: str
    kind: str
    resource_id: str
    type: str | None
    size_gb: int
    seen_at: int


class ObservedResources:
    """Observed resources; `write` runs a writing function where it may wait for a lock."""

    def __init__(self, reader: RowReader, engine: Engine, write: Callable[..., Awaitable[Any]]) -> None:
        self._reader = reader
        self._engine = engine
        self._write = write

    async def since(
        self, endpoint: str, project_id: str, moment: float, snapshot: RowReader | None = None
    ) -> list[ObservedResource]:
        """Return a project's resources observed at that moment or later, optionally as of a snapshot."""
        rows = await (snapshot or self._reader).all(_SEEN, (endpoint, project_id, math.ceil(moment)))
        return [ObservedResource(*row) for row in rows]

    async def record(
        self,
        endpoint: str,
        project_id: str,
        seen: Iterable[ObservedResource],
        since: int,
        rewrite_before: float | None = None,
    ) -> None:
        """Store observations that are new or changed since that moment; raise `Unavailable` if that fails.

        With `rewrite_before`, observations stored before it are stored again.
        """
        known = {row[:3]: row[3:5] for row in await self.since(endpoint, project_id, rewrite_before or since)}
        rows = {
            observed[:3]: {"endpoint": endpoint, "project_id": project_id, **observed._asdict()}
            for observed in seen
            if known.get(observed[:3]) != observed[3:5]
        }
        if rows:
            # Sorted, so that replicas which write the same rows do not deadlock.
            await self._write(self._put, [rows[key] for key in sorted(rows)], since)

    def _put(self, rows: list[dict[str, Any]], since: int) -> None:
        def work(connection: Connection) -> None:
            connection.execute(
                delete(observed_resources).where(observed_resources.c.seen_at < since - _RETENTION_SECONDS)
            )
            insert_rows(connection, observed_resources, rows, _UNLESS_SEEN_LATER)

        try:
            retry_deadlocks(self._engine, work)
        except SQLAlchemyError as problem:
            raise Unavailable from problem
