"""Each action, warm and logged in, and `GET /api/` of a stranger, against a bare answer of the same size."""

from contextlib import ExitStack
from typing import Final

from bench import servers
from bench.client import Caller, action_request, opening_request, right_body
from bench.data import Plan, store
from bench.figures import PartResult, ratio
from bench.load import Load
from bench.rounds import Pace, Together, Variant, measure

GOALS: Final = {"GetUsageLimits": 0.6}


def requests_of(caller: Caller) -> dict[str, bytes]:
    return {
        "GetUsageLimits": action_request(caller, "GetUsageLimits"),
        "GetFlavors": action_request(caller, "GetFlavors"),
        "GetConsumptionsEstimated": action_request(caller, "GetConsumptionsEstimated"),
        "GetUrlList": action_request(caller, "GetUrlList"),
        "GetDomainDetail": action_request(caller, "GetDomainDetail", domainId="206814"),
        "GetNews": action_request(caller, "GetNews"),
        "GET /api/": opening_request(),
    }


def run(pace: Pace) -> PartResult:
    plan = store(Plan())
    with ExitStack() as stack:
        console = stack.enter_context(servers.console(plan.folder))
        pairs: list[Together] = []
        requests = requests_of(plan.demo())
        for name, request in requests.items():
            load = Load(request, right_body(console.port, request))
            bare = stack.enter_context(servers.bare(load.body))
            pairs.append((Variant(name, console, load), Variant(f"bare, as {name}", bare, load)))
        measured = measure(pairs, pace)
        ceiling = console.memory_ceiling("after the warm calls")
    ratios = [
        ratio(f"{name} / bare", measured[name], measured[f"bare, as {name}"], GOALS.get(name)) for name in requests
    ]
    return PartResult("actions", ratios, list(measured.values()), [ceiling])
