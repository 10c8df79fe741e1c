"""Every action cold and cached, beside the `openstack` command and beside the same reads made with openstacksdk."""

from contextlib import ExitStack, closing
from typing import Final

from bench.figures import PartResult, Ratio, Times, ratio
from bench.openstack.guests import NOTHING_KEPT, USER, Asker, Console, console, open_lab, requests_of
from bench.openstack.others import commands, reads
from bench.openstack.timing import Timed, in_blocks
from bench.rounds import Pace

SAME_AS: Final = {"openstack limits show --absolute": "GetUsageLimits", "openstack flavor list": "GetFlavors"}


def run(pace: Pace) -> PartResult:
    lab = open_lab()
    with ExitStack() as stack:
        cold = stack.enter_context(console(lab, NOTHING_KEPT, core=None))
        cached = stack.enter_context(console(lab, {}, core=None))
        connections = [stack.enter_context(lab.connect(USER, region)) for region in lab.regions]
        times = in_blocks(
            [
                *_askers(cold, "cold", stack),
                *_askers(cached, "cached", stack),
                *(Timed(name, command) for name, command in commands(lab).items()),
                *(Timed(f"openstacksdk, as {name}", read) for name, read in reads(connections).items()),
            ],
            pace,
        )
    return PartResult(
        "answers",
        [
            *(_against(times, name, action) for name, action in SAME_AS.items()),
            *(_against(times, f"openstacksdk, as {action}", action) for action in reads([])),
        ],
        [],
        notes=[
            "Cold: no answer of the cloud is kept (`cloud_cache = 0`, `flavor_cache = 0`), but the connections to its "
            "services are. Cached: default settings; the call before each block is not counted. One call after the "
            "other, over a kept connection. The `openstack` command is a process each time, with a login of its own, "
            "as users run it; openstacksdk keeps its connection and its token, and reads one after the other what the "
            "action reads. URLs, domains and news are the console's own, whatever is kept of the cloud.",
        ],
        times=list(times.values()),
    )


def _askers(ours: Console, how: str, stack: ExitStack) -> list[Timed]:
    timed = []
    for name, request in requests_of(ours.guest).items():
        asker = stack.enter_context(closing(Asker(ours.server.port, request)))
        timed.append(Timed(f"{name}, {how}", asker.ask, before=asker.begin))
    return timed


def _against(times: dict[str, Times], name: str, action: str) -> Ratio:
    return ratio(f"{name} / {action}, cold", times[name].middles, times[f"{action}, cold"].middles)
