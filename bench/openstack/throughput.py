"""Cached GetUsageLimits of an OpenStack user against the same action of a local account, in the same console."""

from typing import Final

from bench.measurements import PartResult, Table, ratio
from bench.openstack.lab_console import open_lab, run_lab_console
from bench.raw_http import action_request, expected_body
from bench.rounds import RunLength, Variant, measure
from bench.tables import ratio_table
from bench.wrk import Workload

MIN_RATIO: Final = 0.8
LONG_CACHE: Final = {"cloud_cache": 3600}
"""Longer than the run."""


def run(length: RunLength) -> PartResult:
    with run_lab_console(open_lab(), LONG_CACHE) as console:
        variants = []
        for name, cookies in (
            ("OpenStack, cached", console.cookies),
            ("embedded store", console.dataset.demo_cookies()),
        ):
            request = action_request(cookies, "GetUsageLimits")
            workload = Workload(request, expected_body(console.server.port, request))
            variants.append(Variant(f"GetUsageLimits, {name}", console.server, workload))
        cached, embedded = measure(variants, length).values()
        memory = console.server.memory_limit("after cached requests")
    ratios = [ratio("GetUsageLimits: OpenStack, cached / embedded store", cached, embedded, MIN_RATIO)]
    return PartResult("throughput", ratios, [cached, embedded], [memory])


def tables(part: PartResult) -> list[Table]:
    return [ratio_table(part)]
