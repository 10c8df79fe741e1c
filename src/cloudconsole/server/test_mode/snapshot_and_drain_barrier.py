"""Store snapshot and the drain barrier for reset."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Endpoint, Response, Route
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import DATABASE_NAMES
from cloudconsole.store.sqlite.backup import consistent_snapshot
from cloudconsole.store.sqlite.engine import connect, database_file


class StoreSnapshot:
    def __init__(self, data: Path) -> None:
        self._data = data
        # Used by several threads, but never concurrently.
        self._copies = {part: sqlite3.connect(":memory:", check_same_thread=False) for part in DATABASE_NAMES}
        with consistent_snapshot(data, DATABASE_NAMES) as connections:
            for part, connection in connections.items():
                connection.backup(self._copies[part])

    def restore(self) -> None:
        """Restore each database in one transaction, visible to all open connections."""
        try:
            for part, copy in self._copies.items():
                with closing(connect(database_file(self._data, part))) as store:
                    copy.backup(store)
                    # The restore writes the whole content to the WAL, which would grow with every test.
                    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as problem:
            raise Unavailable from problem

    def close(self) -> None:
        for copy in self._copies.values():
            copy.close()


class DrainBarrier:
    def __init__(self) -> None:
        self._open, self._drained = asyncio.Event(), asyncio.Event()
        self._open.set()
        self._drained.set()
        self._running = 0

    def around(self, route: Route) -> Route:
        """Return the route with a barrier at which requests wait while it is closed."""
        endpoint: Endpoint = route.endpoint

        async def endpoint_behind_barrier(request: Request) -> Response:
            # In a loop: it may close again before this task runs.
            while not self._open.is_set():
                await self._open.wait()
            self._running += 1
            self._drained.clear()
            try:
                return await endpoint(request)
            finally:
                self._running -= 1
                if not self._running:
                    self._drained.set()

        return Route(route.call, endpoint_behind_barrier)

    @asynccontextmanager
    async def closed(self) -> AsyncIterator[None]:
        """Hold back new requests and wait for running ones; one user at a time."""
        self._open.clear()
        try:
            await self._drained.wait()
            yield
        finally:
            self._open.set()
