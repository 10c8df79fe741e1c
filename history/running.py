"""One round: replicas serve a cloud, clients work, things break; what comes of it is a recording."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, Protocol

from cloudconsole.server.settings import Settings
from history.callers import Callers
from history.clients import Clients
from history.cloud import Cloud
from history.faults import Breakage, Faults
from history.operators import Operators
from history.recorder import Recorder
from history.recording import Recording
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


async def record(round_: Round, deployment: Deployed) -> Recording:
    """Work on a deployment that was started for this round, until there are enough operations."""
    cloud = round_.cloud
    longest = PATIENCE_SECONDS + 10 * round_.seconds
    recorder = Recorder(
        wanted=round_.operations,
        seed=round_.seed,
        tenants=cloud.accounts,
        values=list(cloud.values()),
        about=f"{len(deployment.replicas)} replicas over {deployment.name}",
    )
    faults = [Faults(Random(f"{round_.seed} {number}"), each) for number, each in enumerate(deployment.breakages())]
    async with Callers(recorder, deployment.replicas, [*cloud.accounts, *cloud.nobodies]) as callers:
        operators = Operators(deployment.settings, cloud)
        clients = Clients(recorder, callers, operators, cloud, rate=round_.operations / round_.seconds)
        async with asyncio.timeout(longest), asyncio.TaskGroup() as tasks:
            for each in faults:
                tasks.create_task(each.work(recorder))
            tasks.create_task(clients.work())
        await asyncio.to_thread(deployment.wait_until_ready)
        await clients.finish()
    return recorder
