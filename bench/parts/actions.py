"""Cache hits of each action with a session, and `GET /api/` without one, against constant responses."""

from contextlib import ExitStack
from typing import Final

from bench import servers
from bench.datasets import DatasetSpec, sqlite_dataset
from bench.measurements import PartResult, Table, ratio
from bench.raw_http import SessionCookies, action_request, expected_body, get_api_request
from bench.rounds import RunLength, SlicedGroup, Variant, measure
from bench.tables import ByName, limit_table
from bench.wrk import Workload

SERVER: Final = "bare server"
CONNECTION: Final = "bare connection"
MIN_RATIOS: Final = {
    "GetUsageLimits": 1.2,
    **dict.fromkeys(("GetFlavors", "GetConsumptionsEstimated", "GetUrlList", "GetDomainDetail", "GetNews"), 1.1),
    "GET /api/": 0.9,
}
"""To the bare server."""


def requests_for(cookies: SessionCookies) -> dict[str, bytes]:
    return {
        "GetUsageLimits": action_request(cookies, "GetUsageLimits"),
        "GetFlavors": action_request(cookies, "GetFlavors"),
        "GetConsumptionsEstimated": action_request(cookies, "GetConsumptionsEstimated"),
        "GetUrlList": action_request(cookies, "GetUrlList"),
        "GetDomainDetail": action_request(cookies, "GetDomainDetail", domainId="206814"),
        "GetNews": action_request(cookies, "GetNews"),
        "GET /api/": get_api_request(),
    }


def run(length: RunLength) -> PartResult:
    dataset = sqlite_dataset(DatasetSpec())
    with ExitStack() as stack:
        console = stack.enter_context(servers.run_console(dataset.directory))
        groups: list[SlicedGroup] = []
        requests = requests_for(dataset.demo_cookies())
        for name, request in requests.items():
            workload = Workload(request, expected_body(console.port, request))
            others = [
                Variant(f"{server.name}: {name}", server, workload)
                for server in (
                    stack.enter_context(servers.run_bare_server(workload.body)),
                    stack.enter_context(servers.run_bare_connection(workload.body)),
                )
            ]
            groups.append((Variant(name, console, workload), *others))
        measured = measure(groups, length)
        memory = console.memory_limit("after cache hits")
    ratios = [
        ratio(f"{name} / {other}", measured[name], measured[f"{other}: {name}"], minima.get(name))
        for other, minima in ((SERVER, MIN_RATIOS), (CONNECTION, {}))
        for name in requests
    ]
    return PartResult("actions", ratios, list(measured.values()), [memory])


def tables(part: PartResult) -> list[Table]:
    found = ByName(part)
    head = ["request", "requests/s", SERVER, CONNECTION, f"ratio to {SERVER}", f"to {CONNECTION}", "CPU µs/request"]
    rows = [
        [
            name,
            found.median(name),
            *(found.median(f"{other}: {name}") for other in (SERVER, CONNECTION)),
            *(found.ratio(f"{name} / {other}") for other in (SERVER, CONNECTION)),
            found.cpu(name),
        ]
        for name in found.measurements
        if f"{SERVER}: {name}" in found.measurements
    ]
    return [Table(head, rows), limit_table(part)]
