"""Custom transports: complete consoles without a network, as in a user's tests."""

import asyncio
from pathlib import Path

import httpx2

from cloudconsole import AsyncConsole, Console
from cloudconsole.server.app import Console as ServedConsole
from cloudconsole.server.config.settings import Settings
from tests.harness import FakeClock


def test_async_over_our_server_in_process(data: Path, clock: FakeClock) -> None:
    served = ServedConsole(Settings(data=data), clock)

    async def session() -> int | None:
        transport = httpx2.ASGITransport(app=served)
        async with AsyncConsole(
            "http://127.0.0.1:8000", username="demo", password="console-demo", transport=transport
        ) as console:
            return (await console.usage_limits()).instances.limit

    assert asyncio.run(session()) == 20
    served.close()


def test_sync_over_a_function() -> None:
    def respond(request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return httpx2.Response(200, headers=[("Set-Cookie", "csrftoken=t"), ("Set-Cookie", "sessionid=s")])
        return httpx2.Response(200, json={"message": "", "code": 200, "data": []})

    transport = httpx2.MockTransport(respond)
    with Console("http://console", region="r", username="u", password="p", transport=transport) as console:
        assert console.urls() == []
