"""Cache hits of GetUsageLimits while operator changes and logins write to the store."""

from typing import Final

from bench import servers
from bench.background_load import background_load
from bench.datasets import DatasetSpec, sqlite_dataset, temporary_copy
from bench.measurements import Measurement, PartResult, Table, ratio
from bench.raw_http import action_request, expected_body
from bench.rounds import RunLength, Variant, measure
from bench.tables import ratio_table
from bench.wrk import Workload

REQUESTED_LOGINS: Final = 20
"""Per second; password checks on the worker's core limit the achieved rate."""


def run(length: RunLength) -> PartResult:
    with temporary_copy(sqlite_dataset(DatasetSpec())) as dataset, servers.run_console(dataset.directory) as console:
        rates: list[float] = []
        request = action_request(dataset.demo_cookies(), "GetUsageLimits")
        workload = Workload(request, expected_body(console.port, request))
        alone = Variant("GetUsageLimits, no writes", console, workload)
        changes = Variant(
            "GetUsageLimits, 1 change/s",
            console,
            workload,
            background=lambda: background_load(dataset, console, changes=1, logins=0, login_rates=[]),
        )
        both = Variant(
            "GetUsageLimits, 1 change/s and logins",
            console,
            workload,
            background=lambda: background_load(dataset, console, changes=1, logins=REQUESTED_LOGINS, login_rates=rates),
        )
        measured = measure([alone, changes, both], length)
    base = measured[alone.name]
    logins = Measurement("logins during GetUsageLimits", "logins/s", rates[-length.rounds :])
    return PartResult(
        "concurrent_writes",
        [
            ratio("1 change/s / no writes", measured[changes.name], base),
            ratio(f"1 change/s and {logins.spread.median:.3g} logins/s / no writes", measured[both.name], base),
        ],
        [*measured.values(), logins],
    )


def tables(part: PartResult) -> list[Table]:
    return [ratio_table(part)]
