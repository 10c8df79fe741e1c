"""Two workers against one, both free to use both cores, which they share with the load generator."""

from contextlib import ExitStack

from bench import servers
from bench.client import action_request, right_body
from bench.data import Plan, store
from bench.figures import PartResult, ratio
from bench.load import Load
from bench.rounds import Pace, Variant, measure


def run(pace: Pace) -> PartResult:
    plan = store(Plan())
    request = action_request(plan.demo(), "GetUsageLimits")
    with ExitStack() as stack:
        variants: list[Variant] = []
        for workers, name in ((1, "one worker, unpinned"), (2, "two workers, unpinned")):
            server = stack.enter_context(servers.console(plan.folder, workers=workers, core=None))
            load = Load(request, right_body(server.port, request), connections=32)
            variants.append(Variant(name, server, load, core=None))
        measured = measure(variants, pace)
    one, two = measured.values()
    return PartResult(
        "workers",
        [ratio("two workers / one", two, one)],
        [one, two],
        notes=["The load generator takes its share of the two cores, so two workers cannot reach twice one."],
    )
