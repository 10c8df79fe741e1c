"""Cached GetUsageLimits of a cloud's user against the same action over the console's own store, in the same console."""

from typing import Final

from bench.client import action_request, right_body
from bench.figures import PartResult, ratio
from bench.load import Load
from bench.openstack.guests import console, open_lab
from bench.rounds import Pace, Variant, measure

GOAL: Final = 0.8
KEPT: Final = {"cloud_cache": 3600}


def run(pace: Pace) -> PartResult:
    with console(open_lab(), KEPT) as ours:
        variants = []
        for name, caller in (("of the cloud, cached", ours.guest), ("of the embedded store", ours.store.demo())):
            request = action_request(caller, "GetUsageLimits")
            variants.append(
                Variant(f"GetUsageLimits {name}", ours.server, Load(request, right_body(ours.server.port, request)))
            )
        cached, embedded = measure(variants, pace).values()
        ceiling = ours.server.memory_ceiling("after the cached calls")
    return PartResult(
        "rate",
        [ratio("GetUsageLimits, cached / embedded", cached, embedded, GOAL)],
        [cached, embedded],
        [ceiling],
        [
            "One console, before the cloud and with accounts of its own; the cloud's answer is kept for longer than "
            "the run (`cloud_cache = 3600`), and Keystone is asked every ten seconds whether the token is still good.",
        ],
    )
