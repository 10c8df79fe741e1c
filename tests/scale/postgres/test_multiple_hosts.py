"""Several hosts in the DSN: the first may be silently dead."""

import asyncio

import pytest
from cluster.faulty_proxy import FaultyProxy
from cluster.postgres import PostgresServer

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import Reader, run_with_reader
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from tests.databases import Databases
from tests.scale.postgres.manual_lease import TIMEOUT

pytestmark = pytest.mark.slow

QUERY = "SELECT count(*) FROM accounts"


async def eventually_read(reader: Reader) -> object:
    """Retry until a read succeeds; return its result."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            try:
                await reader.changes.poll()
                return await reader.one(QUERY)
            except Unavailable:
                await asyncio.sleep(0.05)


def test_silent_first_host_is_skipped(postgres: PostgresServer, databases: Databases) -> None:
    """A first host that dies later is in the failover test."""
    name = databases.acquire(databases.migrated_template)
    with FaultyProxy(postgres.port) as proxy:
        proxy.black_hole()
        address = Dsn(postgres.address(name, proxy.port, postgres.port))

        async def read() -> None:
            async with run_with_reader(PostgresStore(address)) as reader:
                assert await eventually_read(reader) == (0,)

        asyncio.run(read())
    databases.release(name)
