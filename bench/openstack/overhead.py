"""The time that the console adds to the slowest OpenStack request of an uncached GetUsageLimits."""

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import Final
from urllib.parse import urlsplit

from bench.measurements import InvalidRun, Latencies, PartResult, Table, ratio
from bench.openstack.lab_console import NO_CACHE, USER, VerifiedRequest, open_lab, run_lab_console
from bench.openstack.latency import TimedCall, measure_alternately
from bench.openstack.upstream_timings import slowest_upstream_requests
from bench.raw_http import action_request, service_request
from bench.rounds import RunLength
from bench.tables import ByName, ratio_table
from lab.cloud import Lab

MAX_RATIO: Final = 1.3
CONSOLE: Final = "GetUsageLimits, uncached"
SLOWEST: Final = "its slowest OpenStack request"
PARALLEL: Final = "the same three requests in parallel"


def run(length: RunLength) -> PartResult:
    lab = open_lab()
    request_ids: list[str] = []
    with ExitStack() as stack:
        console = stack.enter_context(
            run_lab_console(lab, NO_CACHE, core=None, module="bench.openstack.upstream_timings")
        )
        usage_limits = stack.enter_context(
            closing(VerifiedRequest(console.server.port, action_request(console.cookies, "GetUsageLimits")))
        )
        direct = {
            f"{service} request alone": stack.enter_context(closing(VerifiedRequest(port, request)))
            for service, (port, request) in _service_requests(lab).items()
        }
        threads = stack.enter_context(ThreadPoolExecutor(len(direct)))
        latencies = measure_alternately(
            [
                TimedCall(CONSOLE, lambda: request_ids.append(_request_id(usage_limits.send().head))),
                *(TimedCall(name, request.send) for name, request in direct.items()),
                TimedCall(PARALLEL, lambda: list(threads.map(lambda request: request.send(), direct.values()))),
            ],
            length,
        )
        log = b"" if console.server.log is None else console.server.log.read_bytes()
    # The first call is a warm-up.
    slowest = slowest_of_each(latencies[CONSOLE], request_ids[1:], slowest_upstream_requests(log))
    alone = max((latencies[name].medians for name in direct), key=lambda each: each.spread.median)
    total = latencies[CONSOLE].medians
    return PartResult(
        "overhead",
        [
            ratio(f"{CONSOLE} / {SLOWEST}", total, slowest.medians, at_most=MAX_RATIO),
            ratio(f"{CONSOLE} / {PARALLEL}", total, latencies[PARALLEL].medians),
            ratio(f"{CONSOLE} / {alone.name}", total, alone),
        ],
        [],
        latencies=[latencies[CONSOLE], slowest, *(latencies[name] for name in [*direct, PARALLEL])],
    )


def tables(part: PartResult) -> list[Table]:
    found = ByName(part)
    rows = [[name, *found.percentiles(name)] for name in found.latencies]
    return [ratio_table(part), Table(["latency", "p50, ms", "p99, ms"], rows)]


def _service_requests(lab: Lab) -> dict[str, tuple[int, bytes]]:
    """Return the port and the request that the console sends, by service."""
    with lab.connect(USER) as connection:
        token, project = str(connection.auth_token), str(connection.current_project_id)
        # Relative to the catalog URLs; only Neutron's has no version.
        paths = {"compute": "/limits", "block-storage": "/limits", "network": f"/v2.0/quotas/{project}/details.json"}
        found = {}
        for service, path in paths.items():
            endpoint = str(connection.session.get_endpoint(service_type=service, interface="public"))
            url = urlsplit(endpoint + path)
            if url.port is None:
                raise InvalidRun(f"the {service} endpoint has no port")
            found[service] = (url.port, service_request(url.path, token))
        return found


def _request_id(head: str) -> str:
    found = re.search(r"^x-request-id: (\S+)$", head, re.MULTILINE)
    if found is None:
        raise InvalidRun("response without a request id")
    return found[1]


def slowest_of_each(total: Latencies, request_ids: list[str], slowest: dict[str, float]) -> Latencies:
    """Return the slowest OpenStack request of each console request."""
    missing = [request_id for request_id in request_ids if request_id not in slowest]
    if missing or len(request_ids) != len(total.values):
        raise InvalidRun(f"the log has no OpenStack requests for {len(missing)} console requests")
    remaining = iter(request_ids)
    rounds = [[round(slowest[next(remaining)], 3) for _ in each] for each in total.rounds]
    return Latencies(SLOWEST, rounds)
