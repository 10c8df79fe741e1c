"""GetUsageLimits where every call is another of 100,000 tenants, against a bare answer fed the same requests."""

import json
import random
from typing import Final

from bench import servers
from bench.client import ANYONE, Caller, Connection, action_request, right_body
from bench.data import Plan, Store, store
from bench.figures import PartResult, Refused, ratio
from bench.load import Load
from bench.rounds import Pace, Variant, measure

TENANTS: Final = 100_000
SAMPLED: Final = 200
GOAL: Final = 0.35


def run(pace: Pace) -> PartResult:
    plan = store(Plan(tenants=TENANTS, resources_each=10))
    callers = list(plan.callers())
    first, number = callers[0]
    with servers.console(plan.folder) as console:
        body = right_body(console.port, action_request(first, "GetUsageLimits"))
        if json.loads(body)["data"]["maxTotalInstances"] != number:
            raise Refused(f"the first tenant's answer is not its own: {body[:200]!r}")
        pattern = body.replace(str(number).encode(), b"{number}")
        request = action_request(ANYONE, "GetUsageLimits")
        cold = Variant(
            "GetUsageLimits, cold",
            console,
            Load(request, pattern, plan.callers_file()),
            before=lambda: _prepare(plan, callers, console.port, pattern),
        )
        with servers.bare(body) as bare:
            plain = Variant("bare, as cold", bare, Load(request, body, plan.callers_file()))
            measured = measure([cold, plain], pace)
        ceiling = console.memory_ceiling("after the cold calls")
    both = (measured[cold.name], measured[plain.name])
    return PartResult(
        "cold",
        [ratio("GetUsageLimits, cold / bare", *both, GOAL)],
        list(both),
        [ceiling],
        [f"Each call is another of {TENANTS:,} tenants, with a session of its own and ten resources."],
    )


def _prepare(plan: Store, callers: list[tuple[Caller, int]], port: int, pattern: bytes) -> None:
    """Sessions as if in use just now, and a sample of tenants whose answers must be their own, byte for byte."""
    plan.refresh_sessions()
    with Connection(port) as connection:
        for caller, number in random.sample(callers, SAMPLED):
            reply = connection.send(action_request(caller, "GetUsageLimits"))
            if reply.status != 200 or reply.body != pattern.replace(b"{number}", str(number).encode()):
                raise Refused(f"a wrong answer for tenant {number}: {reply.status} {reply.body[:200]!r}")
