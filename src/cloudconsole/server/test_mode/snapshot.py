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
from cloudconsole.store.sqlite.backup import connect, consistent_snapshot
from cloudconsole.store.sqlite.engine import database_file


class StoreSnapshot:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Made by one thread and put back by another, never at once.
        self._kept = {part: sqlite3.connect(":memory:", check_same_thread=False) for part in DATABASE_NAMES}
        with consistent_snapshot(folder, DATABASE_NAMES) as connections:
            for part, connection in connections.items():
                connection.backup(self._kept[part])

    def restore(self) -> None:
        """Each part in one transaction: whoever has the store open sees it from then on."""
        try:
            for part, kept in self._kept.items():
                with closing(connect(database_file(self._folder, part))) as store:
                    kept.backup(store)
                    # The whole content went through the log, which would grow with every test.
                    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as problem:
            raise Unavailable from problem

    def close(self) -> None:
        for kept in self._kept.values():
            kept.close()


class DrainBarrier:
    def __init__(self) -> None:
        self._open, self._nobody_within = asyncio.Event(), asyncio.Event()
        self._open.set()
        self._nobody_within.set()
        self._within = 0

    def around(self, route: Route) -> Route:
        """The route with the gate before it: a call waits there while it is closed."""
        endpoint: Endpoint = route.endpoint

        async def let_in(request: Request) -> Response:
            # Asked again, since it may have been closed anew before this call's turn came.
            while not self._open.is_set():
                await self._open.wait()
            self._within += 1
            self._nobody_within.clear()
            try:
                return await endpoint(request)
            finally:
                self._within -= 1
                if not self._within:
                    self._nobody_within.set()

        return Route(route.call, let_in)

    @asynccontextmanager
    async def closed(self) -> AsyncIterator[None]:
        """While no call is under way; to be held by one at a time."""
        self._open.clear()
        try:
            await self._nobody_within.wait()
            yield
        finally:
            self._open.set()
