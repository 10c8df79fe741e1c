"""Clients that guess passwords from many loopback addresses without any pause.

Runs as a process of its own (`python -m bench.login_attackers`), so that measured logins share no event loop with it.
"""

import argparse
import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Final

from bench.client import HOST, Caller, login_request
from bench.figures import Refused

CONNECT_SECONDS: Final = 10
MOST_SECONDS: Final = 300
"""A forgotten attack ends by itself."""


@contextmanager
def attack(
    port: int, token: str, addresses: int, *, connections: int = 1, username: str | None = None
) -> Iterator[Counter[str]]:
    """Guess until the end of the context; the counter then holds the number of responses by status.

    Connections are of each address. Each guess is for another user name unless one is given.
    """
    command = [sys.executable, "-m", "bench.login_attackers", str(port), token, str(addresses), str(connections)]
    process = subprocess.Popen(
        [*command, *([] if username is None else [username])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    statuses: Counter[str] = Counter()
    try:
        if process.stdout is None or process.stdout.readline() != "begun\n":
            raise Refused("the attack did not begin")
        yield statuses
        said, _ = process.communicate("", timeout=60)
        statuses.update({status: int(number) for status, number in (pair.split("=") for pair in said.split())})
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def address_of(number: int, network: int = 1) -> str:
    """One of many loopback addresses."""
    return f"127.{network}.{number // 250}.{number % 250 + 1}"


class Attackers:
    def __init__(self, port: int, token: str, username: str | None) -> None:
        self._port = port
        self._visitor = Caller("a" + "0" * 48, token)
        self._username = username
        self._number = count()
        self.statuses: Counter[str] = Counter()

    async def guess_from(self, address: str, begun: asyncio.Event) -> None:
        while True:
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    reader, writer = await asyncio.open_connection(HOST, self._port, local_addr=(address, 0))
                begun.set()
                while await self._guess(reader, writer):
                    pass
                writer.close()
            except (OSError, asyncio.IncompleteReadError, TimeoutError):
                self.statuses["broken"] += 1
                await asyncio.sleep(0.1)

    async def _guess(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection stays open."""
        username = self._username or f"user-{next(self._number)}"
        writer.write(login_request(self._visitor, username, "a wrong password"))
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length or 0))
        self.statuses[head.split(b" ", 2)[1].decode()] += 1
        return b"connection: close" not in head


async def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("token")
    parser.add_argument("addresses", type=int)
    parser.add_argument("connections", type=int, help="of each address")
    parser.add_argument("username", nargs="?")
    chosen = parser.parse_args(arguments)
    attackers = Attackers(chosen.port, chosen.token, chosen.username)
    begun = [asyncio.Event() for _ in range(chosen.addresses * chosen.connections)]
    tasks = [
        asyncio.create_task(attackers.guess_from(address_of(number % chosen.addresses), each))
        for number, each in enumerate(begun)
    ]
    for each in begun:
        await each.wait()
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    try:
        async with asyncio.timeout(MOST_SECONDS):
            await asyncio.to_thread(sys.stdin.read)
    finally:
        for task in tasks:
            task.cancel()
        sys.stdout.write(" ".join(f"{status}={number}" for status, number in attackers.statuses.items()))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
