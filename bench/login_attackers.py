"""Clients that guess passwords from many loopback addresses without pauses.

Runs as a separate process (`python -m bench.login_attackers`), so that the measured logins use another event loop.
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

from bench.measurements import InvalidRun
from bench.raw_http import HOST, SessionCookies, login_request

CONNECT_SECONDS: Final = 10
MAX_SECONDS: Final = 300
"""Stop an orphaned attack."""


@contextmanager
def attack(
    port: int, token: str, addresses: int, *, connections: int = 1, username: str | None = None
) -> Iterator[Counter[str]]:
    """Guess until the context ends; the counter then has the number of responses by status.

    `connections` is per address. Without `username`, each guess uses a different user name.
    """
    command = [sys.executable, "-m", "bench.login_attackers", str(port), token, str(addresses), str(connections)]
    process = subprocess.Popen(
        [*command, *([] if username is None else [username])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    statuses: Counter[str] = Counter()
    try:
        if process.stdout is None or process.stdout.readline() != "ready\n":
            raise InvalidRun("the attack did not start")
        yield statuses
        output, _ = process.communicate("", timeout=60)
        statuses.update({status: int(number) for status, number in (pair.split("=") for pair in output.split())})
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def loopback_address(number: int, network: int = 1) -> str:
    """Return one of many loopback addresses."""
    return f"127.{network}.{number // 250}.{number % 250 + 1}"


class Attackers:
    def __init__(self, port: int, token: str, username: str | None) -> None:
        self._port = port
        self._cookies = SessionCookies("a" + "0" * 48, token)
        self._username = username
        self._number = count()
        self.statuses: Counter[str] = Counter()

    async def guess_from(self, address: str, connected: asyncio.Event) -> None:
        while True:
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    reader, writer = await asyncio.open_connection(HOST, self._port, local_addr=(address, 0))
                connected.set()
                while await self._guess(reader, writer):
                    pass
                writer.close()
            except (OSError, asyncio.IncompleteReadError, TimeoutError):
                self.statuses["broken"] += 1
                await asyncio.sleep(0.1)

    async def _guess(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Send one guess; return whether the connection stays open."""
        username = self._username or f"user-{next(self._number)}"
        writer.write(login_request(self._cookies, username, "a wrong password"))
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
    parser.add_argument("connections", type=int, help="connections per address")
    parser.add_argument("username", nargs="?")
    options = parser.parse_args(arguments)
    attackers = Attackers(options.port, options.token, options.username)
    connected = [asyncio.Event() for _ in range(options.addresses * options.connections)]
    tasks = [
        asyncio.create_task(attackers.guess_from(loopback_address(number % options.addresses), each))
        for number, each in enumerate(connected)
    ]
    for each in connected:
        await each.wait()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    try:
        async with asyncio.timeout(MAX_SECONDS):
            await asyncio.to_thread(sys.stdin.read)
    finally:
        for task in tasks:
            task.cancel()
        sys.stdout.write(" ".join(f"{status}={number}" for status, number in attackers.statuses.items()))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
