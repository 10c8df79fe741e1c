"""Growth: the same calls as the calling tenant's resources, and the store's accounts and sessions, become many."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from msgspec import Struct

from bench import servers
from bench.background import change
from bench.client import Connection, action_request, right_body
from bench.data import Plan, Store, copy_of, store
from bench.figures import FLAT, Measured, PartResult, Ratio, Refused, ratio, spread
from bench.load import Load
from bench.rounds import Pace, Variant, in_turn, measure
from bench.servers import Server
from cloudconsole.store.sqlite.engine import open_engine

ACTIONS: Final = ("GetUsageLimits", "GetConsumptionsEstimated")
RESOURCES: Final = {"1 thousand resources": 1_000, "100 thousand resources": 100_000, "1 million resources": 1_000_000}
ACCOUNTS: Final = {"10 accounts": 7, "1 million accounts": 1_000_000}
"""The sample has three accounts already."""

CALLS_AFTER_A_CHANGE: Final = 40


class Grown(Struct, frozen=True):
    name: str
    store: Store
    server: Server


def run(pace: Pace) -> PartResult:
    with ExitStack() as stack:
        by_resources = [_start(stack, name, Plan(resources_of_demo=count)) for name, count in RESOURCES.items()]
        by_accounts = [_start(stack, name, Plan(tenants=count)) for name, count in ACCOUNTS.items()]
        grown = by_resources + by_accounts
        warm: dict[str, Measured] = {}
        # What is compared is measured within seconds: the machine is not as fast in each minute.
        for alike in (by_resources, by_accounts):
            for action in ACTIONS:
                warm |= measure([_variant(each, action) for each in alike], pace)
        fresh = _measure_after_changes(grown, pace.rounds)
        largest = (by_resources[-1], by_accounts[-1])
        ceilings = [each.server.memory_ceiling(f"with {each.name}, after all calls") for each in largest]
    ratios = [
        _flatness(warm | fresh, action, kind, smallest.name, larger.name)
        for smallest, *rest in (by_resources, by_accounts)
        for larger in rest
        for action in ACTIONS
        for kind in ("warm", "after a change")
    ]
    note = "After a change: the time of a single call, over a kept connection, whose payload had to be made anew."
    return PartResult("growth", ratios, [*warm.values(), *fresh.values()], ceilings, [note])


def _start(stack: ExitStack, name: str, plan: Plan) -> Grown:
    copy = stack.enter_context(copy_of(store(plan)))
    return Grown(name, copy, stack.enter_context(servers.console(copy.folder)))


def _variant(grown: Grown, action: str) -> Variant:
    request = action_request(grown.store.demo(), action)
    name = f"{action}, {grown.name}, warm"
    return Variant(name, grown.server, Load(request, right_body(grown.server.port, request)))


def _measure_after_changes(grown: list[Grown], rounds: int) -> dict[str, Measured]:
    changes = {each.name: change(open_engine(each.store.folder, "cloud")) for each in grown}
    times: dict[str, list[float]] = {}
    for number in range(rounds):
        for each in in_turn(grown, number):
            for action in ACTIONS:
                name = f"{action}, {each.name}, after a change"
                request = action_request(each.store.demo(), action)
                times.setdefault(name, []).append(_time_after_changes(each.server, request, changes[each.name]))
    return {name: Measured(name, "ms", figures) for name, figures in times.items()}


def _time_after_changes(server: Server, request: bytes, make_change: Callable[[], None]) -> float:
    """The middle of some calls' milliseconds, each the first after a change."""
    with Connection(server.port) as connection:
        body = connection.send(request).body
        took = []
        for _ in range(CALLS_AFTER_A_CHANGE):
            make_change()
            took.append(_time_call(connection, request, body))
    return spread(took).middle * 1000


def _time_call(connection: Connection, request: bytes, body: bytes) -> float:
    start = time.perf_counter()
    reply = connection.send(request)
    took = time.perf_counter() - start
    if reply.status != 200 or reply.body != body:
        raise Refused(f"a wrong answer after a change: {reply.status} {reply.body[:200]!r}")
    return took


def _flatness(measured: dict[str, Measured], action: str, kind: str, small: str, large: str) -> Ratio:
    """How much of its speed a call keeps: calls a second of the larger over the smaller, or times the other way."""
    smaller, larger = (measured[f"{action}, {size}, {kind}"] for size in (small, large))
    name = f"{action}, {kind}: {large} / {small}"
    return ratio(name, larger, smaller, FLAT) if larger.unit == "calls/s" else ratio(name, smaller, larger, FLAT)
