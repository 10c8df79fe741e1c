"""Cache hits of each action with a session, and `GET /api/` without one, against the bare server."""

from contextlib import ExitStack
from typing import Final

from bench import servers
from bench.datasets import DatasetSpec, sqlite_dataset
from bench.measurements import PartResult, Table, ratio
from bench.raw_http import SessionCookies, action_request, expected_body, get_api_request
from bench.rounds import RunLength, SlicedGroup, Variant, measure
from bench.tables import ByName, limit_table
from bench.wrk import Workload

MIN_RATIOS: Final = {"GetUsageLimits": 0.6}


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
        pairs: list[SlicedGroup] = []
        requests = requests_for(dataset.demo_cookies())
        for name, request in requests.items():
            workload = Workload(request, expected_body(console.port, request))
            bare = stack.enter_context(servers.run_bare_server(workload.body))
            pairs.append((Variant(name, console, workload), Variant(f"bare server: {name}", bare, workload)))
        measured = measure(pairs, length)
        memory = console.memory_limit("after cache hits")
    ratios = [
        ratio(f"{name} / bare server", measured[name], measured[f"bare server: {name}"], MIN_RATIOS.get(name))
        for name in requests
    ]
    return PartResult("actions", ratios, list(measured.values()), [memory])


def tables(part: PartResult) -> list[Table]:
    found = ByName(part)
    head = ["request", "requests/s", "bare server, requests/s", "ratio (min–max)", "CPU µs/request"]
    rows = []
    for name in found.measurements:
        bare = f"bare server: {name}"
        if bare in found.measurements:
            ratio_text = found.ratio(f"{name} / bare server")
            rows.append([name, found.median(name), found.median(bare), ratio_text, found.cpu(name)])
    return [Table(head, rows), limit_table(part)]
