"""GetUsageLimits with a cache miss on every request: each comes from another of 100,000 tenants."""

import json
import random
from typing import Final

from bench import servers
from bench.datasets import DatasetSpec, SqliteDataset, sqlite_dataset
from bench.measurements import InvalidRun, PartResult, Table, ratio
from bench.raw_http import PLACEHOLDER_COOKIES, Connection, SessionCookies, action_request, expected_body
from bench.rounds import RunLength, Variant, measure
from bench.tables import ratio_table
from bench.wrk import Workload

TENANTS: Final = 100_000
SAMPLED: Final = 200
MIN_RATIO: Final = 0.5


def run(length: RunLength) -> PartResult:
    dataset = sqlite_dataset(DatasetSpec(tenants=TENANTS, resources_per_tenant=10))
    tenants = list(dataset.tenant_cookies())
    first, number = tenants[0]
    with servers.run_console(dataset.directory) as console:
        body = expected_body(console.port, action_request(first, "GetUsageLimits"))
        if json.loads(body)["data"]["maxTotalInstances"] != number:
            raise InvalidRun(f"wrong response for the first tenant: {body[:200]!r}")
        pattern = body.replace(str(number).encode(), b"{number}")
        request = action_request(PLACEHOLDER_COOKIES, "GetUsageLimits")
        misses = Variant(
            "GetUsageLimits, cache miss",
            console,
            Workload(request, pattern, dataset.cookies_file()),
            prepare=lambda: _prepare(dataset, tenants, console.port, pattern),
        )
        with servers.run_bare_server(body) as bare_server:
            workload = Workload(request, body, dataset.cookies_file())
            bare = Variant("bare server: GetUsageLimits, cache miss", bare_server, workload)
            measured = measure([misses, bare], length)
        memory = console.memory_limit("after cache misses")
    both = (measured[misses.name], measured[bare.name])
    ratios = [ratio("GetUsageLimits, cache miss / bare server", *both, MIN_RATIO)]
    return PartResult("cache_misses", ratios, list(both), [memory])


def tables(part: PartResult) -> list[Table]:
    return [ratio_table(part)]


def _prepare(dataset: SqliteDataset, tenants: list[tuple[SessionCookies, int]], port: int, pattern: bytes) -> None:
    """Touch all sessions and verify the responses of a sample of tenants."""
    dataset.touch_sessions()
    with Connection(port) as connection:
        for cookies, number in random.sample(tenants, SAMPLED):
            response = connection.send(action_request(cookies, "GetUsageLimits"))
            if response.status != 200 or response.body != pattern.replace(b"{number}", str(number).encode()):
                raise InvalidRun(f"wrong response for tenant {number}: {response.status} {response.body[:200]!r}")
