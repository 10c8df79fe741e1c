"""One round: replicas serve a cloud, clients work, things break; what comes of it is a recording."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Final, Protocol

from cloudconsole.server.config.settings import Settings
from history.callers import Callers, address
from history.clients import Clients
from history.cloud import Cloud
from history.faults import CALM_SECONDS, Breakage, Faults
from history.operators import Operators
from history.pages import Pages
from history.recorder import Recorder
from history.wires import Place

PATIENCE_SECONDS: Final = 300
"""Beyond some times what it should take, a round hangs."""


class Deployed(Protocol):
    """Replicas over one store, with the cloud in it."""

    name: str

    @property
    def replicas(self) -> Sequence[Place]: ...

    @property
    def settings(self) -> Settings:
        """By which operators find the store."""

    def breakages(self) -> Sequence[Sequence[Breakage]]:
        """What may be broken: of each list one at a time."""

    def wait_until_ready(self) -> None: ...


@dataclass(frozen=True)
class Round:
    seed: int
    operations: int
    seconds: float
    """How long it takes at least: so many operations are spread over it."""
    cloud: Cloud = Cloud()
    calm_seconds: tuple[float, float] = CALM_SECONDS
    """Between two faults."""


def begin(round_: Round, deployment: Deployed) -> Recorder:
    """A recording in which nothing has been done yet; its clock runs."""
    return Recorder(
        wanted=round_.operations,
        seed=round_.seed,
        tenants=round_.cloud.accounts,
        values=list(round_.cloud.values()),
        about=f"{len(deployment.replicas)} replicas over {deployment.name}",
    )


async def record(round_: Round, deployment: Deployed) -> Recorder:
    """A whole round."""
    recorder = begin(round_, deployment)
    await fill(recorder, round_, deployment)
    return recorder


async def fill(recorder: Recorder, round_: Round, deployment: Deployed) -> None:
    """Work on a deployment that was started for this round, until there are enough operations."""
    cloud = round_.cloud
    longest = PATIENCE_SECONDS + 10 * round_.seconds
    # As many as may wait for the store at once, and some for those who break things.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(len(cloud.operators) + 4))
    faults = [
        Faults(Random(f"{round_.seed} {number}"), each, round_.calm_seconds)
        for number, each in enumerate(deployment.breakages())
    ]
    names = [*cloud.accounts, *cloud.nobodies]
    async with (
        Callers(recorder, deployment.replicas, names) as callers,
        _pages(recorder, round_, deployment, len(names)) as pages,
    ):
        operators = Operators(deployment.settings, cloud)
        clients = Clients(recorder, callers, operators, pages, cloud, rate=round_.operations / round_.seconds)
        async with asyncio.timeout(longest), asyncio.TaskGroup() as tasks:
            for each in faults:
                tasks.create_task(each.work(recorder))
            tasks.create_task(clients.work())
        await asyncio.to_thread(deployment.wait_until_ready)
        await clients.finish()


@asynccontextmanager
async def _pages(
    recorder: Recorder, round_: Round, deployment: Deployed, first_address: int
) -> AsyncIterator[list[Pages]]:
    made = [
        Pages(recorder, deployment.replicas, operator, address(number))
        for number, operator in enumerate(round_.cloud.operators, first_address)
    ]
    try:
        yield made
    finally:
        for each in made:
            await each.close()
