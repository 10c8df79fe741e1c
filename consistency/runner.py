"""Run one round: deploy, run the workload under fault injection, and record the history."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Final, Protocol

from cloudconsole.server.config.settings import Settings
from consistency.admin_commands import AdminCommands
from consistency.admin_ui_client import AdminUiClient
from consistency.fault_injection import INTERVAL_SECONDS, FaultAction, FaultInjector
from consistency.history import HistoryRecorder
from consistency.initial_cloud import Cloud
from consistency.tenant_client import Endpoint, TenantClients, loopback_address
from consistency.workload import Workload

BASE_TIMEOUT_SECONDS: Final = 300
"""A round times out after this plus ten times its planned duration."""


class Target(Protocol):
    """Running replicas over one store with the cloud in it."""

    name: str

    @property
    def replicas(self) -> Sequence[Endpoint]: ...

    @property
    def settings(self) -> Settings:
        """Settings of the operators' commands."""

    def fault_groups(self) -> Sequence[Sequence[FaultAction]]:
        """Of each group one fault is active at a time."""

    def wait_until_ready(self) -> None: ...


@dataclass(frozen=True)
class Round:
    seed: int
    operations: int
    seconds: float
    """Minimum duration, over which the operations are spread."""
    cloud: Cloud = Cloud()
    fault_interval: tuple[float, float] = INTERVAL_SECONDS
    """Minimum and maximum pause between two faults."""


def new_recorder(round_: Round, target: Target) -> HistoryRecorder:
    """Create the recorder of a round, which starts its clock."""
    return HistoryRecorder(
        target=round_.operations,
        seed=round_.seed,
        tenants=round_.cloud.accounts,
        values=list(round_.cloud.values()),
        about=f"{len(target.replicas)} replicas over {target.name}",
    )


async def record_round(round_: Round, target: Target) -> HistoryRecorder:
    """Run a whole round and return its history."""
    recorder = new_recorder(round_, target)
    await run_round(recorder, round_, target)
    return recorder


async def run_round(recorder: HistoryRecorder, round_: Round, target: Target) -> None:
    """Run a round on a newly started target until the history is complete."""
    cloud = round_.cloud
    timeout = BASE_TIMEOUT_SECONDS + 10 * round_.seconds
    # A thread per writer that may wait for the store, and some for fault injection.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(len(cloud.operators) + 4))
    injectors = [
        FaultInjector(Random(f"{round_.seed} {number}"), each, round_.fault_interval)
        for number, each in enumerate(target.fault_groups())
    ]
    accounts = [*cloud.accounts, *cloud.unknown_accounts]
    async with (
        TenantClients(recorder, target.replicas, accounts) as tenants,
        _admin_ui_clients(recorder, round_, target, len(accounts)) as uis,
    ):
        commands = AdminCommands(target.settings, cloud)
        workload = Workload(recorder, tenants, commands, uis, cloud, rate=round_.operations / round_.seconds)
        async with asyncio.timeout(timeout), asyncio.TaskGroup() as tasks:
            for injector in injectors:
                tasks.create_task(injector.run(recorder))
            tasks.create_task(workload.run())
        await asyncio.to_thread(target.wait_until_ready)
        await workload.finish()


@asynccontextmanager
async def _admin_ui_clients(
    recorder: HistoryRecorder, round_: Round, target: Target, first_address: int
) -> AsyncIterator[list[AdminUiClient]]:
    clients = [
        AdminUiClient(recorder, target.replicas, operator, loopback_address(number))
        for number, operator in enumerate(round_.cloud.operators, first_address)
    ]
    try:
        yield clients
    finally:
        for client in clients:
            await client.close()
