"""Logins per second, and the throughput of action requests during continuous logins."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bench import servers
from bench.background_load import demo_login_request
from bench.datasets import DatasetSpec, sqlite_dataset, temporary_copy
from bench.measurements import Measurement, PartResult, Table, ratio
from bench.raw_http import action_request, expected_body, verify_responses
from bench.rounds import RunLength, Variant, measure
from bench.servers import Server
from bench.tables import ByName, ratio_table
from bench.wrk import Workload, WrkProcess

LOGIN_CONNECTIONS: Final = 32


def run(length: RunLength) -> PartResult:
    with temporary_copy(sqlite_dataset(DatasetSpec())) as dataset, servers.run_console(dataset.directory) as console:
        request = action_request(dataset.demo_cookies(), "GetUsageLimits")
        workload = Workload(request, expected_body(console.port, request))
        logins = Workload(demo_login_request(dataset), b"", connections=LOGIN_CONNECTIONS)
        rates: list[float] = []

        def drain_logins() -> None:
            """Wait for pending logins: passwords are checked in order, so a completed login follows all of them."""
            verify_responses(console.port, logins.request, logins.body, times=1)

        alone = Variant("GetUsageLimits, no logins", console, workload, prepare=drain_logins)
        only_logins = Variant("logins alone", console, logins, prepare=drain_logins)
        both = Variant(
            "GetUsageLimits, continuous logins",
            console,
            workload,
            prepare=drain_logins,
            background=lambda: _continuous_logins(logins, console, length.seconds, rates),
        )
        measured = measure([alone, only_logins, both], length)
        memory = console.memory_limit("after logins")
    return PartResult(
        "login_throughput",
        [ratio("GetUsageLimits, continuous logins / no logins", measured[both.name], measured[alone.name])],
        [
            Measurement("logins alone", "logins/s", measured[only_logins.name].rounds),
            Measurement("logins during GetUsageLimits", "logins/s", rates[-length.rounds :]),
            measured[alone.name],
            measured[both.name],
        ],
        [memory],
    )


def tables(part: PartResult) -> list[Table]:
    found = ByName(part)
    rows = [[each.name, found.spread(each.name)] for each in part.measurements if each.unit == "logins/s"]
    return [ratio_table(part), Table(["variant", "logins/s"], rows)]


@contextmanager
def _continuous_logins(logins: Workload, server: Server, seconds: int, rates: list[float]) -> Iterator[None]:
    """Send logins without pauses, for one second longer than the measurement."""
    process = WrkProcess(logins, server.port, seconds=seconds + 1)
    try:
        yield
        rates.append(process.wait().rate)
    finally:
        process.stop()
