"""Several hosts in the address: the first may be dead without a word, from the beginning or in the middle."""

import asyncio

import pytest
from cluster.faulty_proxy import FaultyProxy
from cluster.postgres import PostgresServer

from cloudconsole.spec.errors import Unavailable
from cloudconsole.store.base import Reader, run_with_reader
from cloudconsole.store.postgres.dsn import Dsn
from cloudconsole.store.postgres.store import PostgresStore
from tests.databases import Databases
from tests.scale.postgres.watching import PATIENCE

pytestmark = pytest.mark.long

ANYTHING = "SELECT count(*) FROM accounts"


async def served(reader: Reader) -> object:
    """What is read as soon as anything is."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await reader.changes.poll()
                return await reader.one(ANYTHING)
            except Unavailable:
                await asyncio.sleep(0.05)


@pytest.mark.parametrize("dies_later", [False, True])
def test_a_first_host_that_says_nothing_is_passed_over(
    dies_later: bool, postgres: PostgresServer, databases: Databases
) -> None:
    name = databases.take(databases.with_tables)
    with FaultyProxy(postgres.port) as wire:
        address = Dsn(postgres.address(name, wire.port, postgres.port))

        async def read() -> None:
            async with run_with_reader(PostgresStore(address)) as reader:
                if dies_later:
                    assert await served(reader) == (0,)
                wire.black_hole()
                await asyncio.sleep(0.6)
                assert await served(reader) == (0,)

        if not dies_later:
            wire.black_hole()
        asyncio.run(read())
    databases.give_back(name)
