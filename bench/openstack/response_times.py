"""Latency of every action, uncached and cached, against the `openstack` command and openstacksdk."""

from contextlib import ExitStack, closing
from typing import Final

from bench.measurements import Latencies, PartResult, Ratio, Table, ratio
from bench.openstack.alternatives import cli_commands, sdk_reads
from bench.openstack.lab_console import (
    NO_CACHE,
    USER,
    LabConsole,
    VerifiedRequest,
    open_lab,
    requests_for,
    run_lab_console,
)
from bench.openstack.latency import TimedCall, measure_in_blocks
from bench.rounds import RunLength
from bench.tables import ByName

EQUIVALENT: Final = {"openstack limits show --absolute": "GetUsageLimits", "openstack flavor list": "GetFlavors"}


def run(length: RunLength) -> PartResult:
    lab = open_lab()
    with ExitStack() as stack:
        uncached = stack.enter_context(run_lab_console(lab, NO_CACHE, core=None))
        cached = stack.enter_context(run_lab_console(lab, {}, core=None))
        connections = [stack.enter_context(lab.connect(USER, region)) for region in lab.regions]
        latencies = measure_in_blocks(
            [
                *_actions(uncached, "uncached", stack),
                *_actions(cached, "cached", stack),
                *(TimedCall(name, command) for name, command in cli_commands(lab).items()),
                *(TimedCall(f"openstacksdk: {name}", read) for name, read in sdk_reads(connections).items()),
            ],
            length,
        )
    return PartResult(
        "response_times",
        [
            *(_ratio(latencies, name, action) for name, action in EQUIVALENT.items()),
            *(_ratio(latencies, f"openstacksdk: {action}", action) for action in sdk_reads([])),
        ],
        [],
        latencies=list(latencies.values()),
    )


def tables(part: PartResult) -> list[Table]:
    found = ByName(part)
    actions = [name.removesuffix(", uncached") for name in found.latencies if name.endswith(", uncached")]
    rows = [[name, *found.percentiles(f"{name}, uncached"), *found.percentiles(f"{name}, cached")] for name in actions]
    others = [[name.partition(" / ")[0], name] for name in found.ratios]
    return [
        Table(["action", "uncached p50, ms", "uncached p99", "cached p50", "cached p99"], rows),
        Table(
            ["alternative", "p50, ms", "p99, ms", "relative to the uncached action"],
            [[other, *found.percentiles(other), found.ratio(name)] for other, name in others],
        ),
    ]


def _actions(console: LabConsole, label: str, stack: ExitStack) -> list[TimedCall]:
    timed = []
    for name, content in requests_for(console.cookies).items():
        request = stack.enter_context(closing(VerifiedRequest(console.server.port, content)))
        timed.append(TimedCall(f"{name}, {label}", request.send, prepare=request.reconnect))
    return timed


def _ratio(latencies: dict[str, Latencies], name: str, action: str) -> Ratio:
    return ratio(f"{name} / {action}, uncached", latencies[name].medians, latencies[f"{action}, uncached"].medians)
