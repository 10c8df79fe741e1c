"""Clients of a fake cloud, whose timeouts expire only when a test advances the clock of their event loop."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from cloudconsole.backends.openstack.client import CallObserver, OpenStackClient
from cloudconsole.backends.openstack.config import ClientLimits
from cloudconsole.core.ports import ClientInfo
from tests.harness import client_ssl_context

CLIENT = ClientInfo("203.0.113.7", "0123456789abcdef")
SECONDS = 600.0
"""The timeouts: longer than any busy machine needs."""

Result = TypeVar("Result")


def client_limits(**changes: Any) -> ClientLimits:
    return ClientLimits(**{"call_seconds": SECONDS, "action_seconds": SECONDS, **changes})


@asynccontextmanager
async def open_client(
    limits: ClientLimits | None = None, observer: CallObserver | None = None
) -> AsyncIterator[OpenStackClient]:
    client = OpenStackClient(limits or client_limits(), client_ssl_context(), observer)
    try:
        yield client
    finally:
        await client.close()


class _AdvancingLoop(asyncio.SelectorEventLoop):
    seconds_ahead = 0.0

    def time(self) -> float:
        return super().time() + self.seconds_ahead


def run(scenario: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine that may call `advance_clock`."""
    with asyncio.Runner(loop_factory=_AdvancingLoop) as runner:
        return runner.run(scenario)


def advance_clock(seconds: float = SECONDS) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, _AdvancingLoop)
    loop.seconds_ahead += seconds
