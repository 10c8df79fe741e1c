"""Logins a second, and what a flood of logins leaves for action calls."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bench import servers
from bench.background import demo_login
from bench.client import action_request, check, right_body
from bench.data import Plan, copy_of, store
from bench.figures import Measured, PartResult, ratio
from bench.load import Load, Running
from bench.rounds import Pace, Variant, measure
from bench.servers import Server

FLOOD_CONNECTIONS: Final = 32


def run(pace: Pace) -> PartResult:
    with copy_of(store(Plan())) as plan, servers.console(plan.folder) as console:
        request = action_request(plan.demo(), "GetUsageLimits")
        load = Load(request, right_body(console.port, request))
        flood = Load(demo_login(plan), b"", connections=FLOOD_CONNECTIONS)
        flooded: list[float] = []

        def empty_queue() -> None:
            """Passwords are checked in turn: once a login is answered, what a flood left behind it is done."""
            check(console.port, flood.request, flood.body, times=1)

        alone = Variant("GetUsageLimits, nobody logging in", console, load, before=empty_queue)
        logins = Variant("logins alone", console, flood, before=empty_queue)
        beside = Variant(
            "GetUsageLimits, in a flood of logins",
            console,
            load,
            before=empty_queue,
            meanwhile=lambda: _flood(flood, console, pace.seconds, flooded),
        )
        measured = measure([alone, logins, beside], pace)
        ceiling = console.memory_ceiling("after the logins")
    return PartResult(
        "logins",
        [ratio("calls in a flood of logins / without", measured[beside.name], measured[alone.name])],
        [
            Measured("logins alone", "logins/s", measured[logins.name].rounds),
            Measured("logins beside calls", "logins/s", flooded[-pace.rounds :]),
            measured[alone.name],
            measured[beside.name],
        ],
        [ceiling],
        [
            f"A flood is {FLOOD_CONNECTIONS} connections, each with always the next login under way; "
            "it begins with the calls and lasts a second longer. No measurement begins before the logins of the one "
            "before it are done.",
        ],
    )


@contextmanager
def _flood(load: Load, server: Server, seconds: int, rates: list[float]) -> Iterator[None]:
    """Logins without a pause, a second longer than what is measured in it."""
    flood = Running(load, server.port, seconds=seconds + 1)
    try:
        yield
        rates.append(flood.counts().rate)
    finally:
        flood.end()
