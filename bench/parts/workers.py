"""Two workers against one; both share two cores with the load generator."""

from contextlib import ExitStack

from bench import servers
from bench.datasets import DatasetSpec, sqlite_dataset
from bench.measurements import PartResult, Table, ratio
from bench.raw_http import action_request, expected_body
from bench.rounds import RunLength, Variant, measure
from bench.tables import ratio_table
from bench.wrk import Workload


def run(length: RunLength) -> PartResult:
    dataset = sqlite_dataset(DatasetSpec())
    request = action_request(dataset.demo_cookies(), "GetUsageLimits")
    with ExitStack() as stack:
        variants: list[Variant] = []
        for workers, name in ((1, "one worker, unpinned"), (2, "two workers, unpinned")):
            server = stack.enter_context(servers.run_console(dataset.directory, workers=workers, core=None))
            workload = Workload(request, expected_body(server.port, request), connections=32)
            variants.append(Variant(name, server, workload, core=None))
        measured = measure(variants, length)
    one, two = measured.values()
    return PartResult("workers", [ratio("two workers / one worker", two, one)], [one, two])


def tables(part: PartResult) -> list[Table]:
    return [ratio_table(part)]
