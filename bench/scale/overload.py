"""Ten times the sustainable rate: latency of the served requests, and the time to recover afterwards."""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench import servers
from bench.datasets import DatasetSpec, sqlite_dataset, temporary_copy
from bench.measurements import InvalidRun, Measurement, PartResult, Ratio, Table, UpperLimit
from bench.raw_http import SessionCookies, action_request
from bench.rounds import RunLength
from bench.scale.postgres_dataset import SMALL, postgres_dataset, run_postgres, temporary_directory
from bench.tables import ByName, amount
from cluster.load_generator import LoadGenerator, LoadResult, Response

CONNECTIONS: Final = 1000
PROBE_CONNECTIONS: Final = 32
"""Closed-loop connections that determine the maximum rate."""
SUSTAINABLE_SHARE: Final = 0.5
"""Of the maximum rate, because the speed of a shared machine can halve from one second to the next."""
OVERLOAD_FACTOR: Final = 10
OVERLOAD_SECONDS: Final = 10
RECOVERY_SECONDS: Final = 6
SLICE_SECONDS: Final = 0.25
MAX_SLOWDOWN: Final = 3.0
"""Maximum p99 in an overload, relative to the baseline."""
MAX_RECOVERY_MS: Final = 5000
MAX_MEMORY_MB: Final = 200
MANY_TENANTS: Final = DatasetSpec(tenants=100_000, resources_per_tenant=10)


class Round(Struct, frozen=True):
    """One round: baseline, overload and recovery. Latencies of served requests are in seconds."""

    rate: float
    """The sustainable rate, in requests per second."""
    seconds: float
    baseline: list[float]
    first_second: list[float]
    """Latencies in the first second of the overload."""
    later: list[float]
    """Latencies in the rest of the overload."""
    rejected: int
    recovery: float
    """Seconds after the end of the overload."""

    @property
    def served(self) -> int:
        return len(self.first_second) + len(self.later)

    @property
    def sent(self) -> float:
        """Requests per second with a response; a connection with a pending request sends no other."""
        return (self.served + self.rejected) / self.seconds

    @property
    def slowdown(self) -> float:
        return p99(self.first_second + self.later) / p99(self.baseline)

    @property
    def later_slowdown(self) -> float:
        return p99(self.later) / p99(self.baseline)


def p99(latencies: Sequence[float]) -> float:
    if not latencies:
        raise InvalidRun("no request was served")
    return sorted(latencies)[math.ceil(len(latencies) * 0.99) - 1]


def recovery_seconds(responses: Sequence[Response], baseline_p99: float) -> float:
    """Return the start of the first time slice that serves every request within the latency limit."""
    start = min((response.sent for response in responses), default=0.0)
    slices: dict[int, list[Response]] = {}
    for response in responses:
        slices.setdefault(int((response.sent - start) / SLICE_SECONDS), []).append(response)
    for number, members in sorted(slices.items()):
        served = [response.seconds for response in members if response.status == 200]
        if len(served) == len(members) and p99(served) <= MAX_SLOWDOWN * baseline_p99:
            return number * SLICE_SECONDS
    return math.inf


def check(outcome: LoadResult) -> LoadResult:
    """Raise `InvalidRun` unless every request got 200, or 503 with Retry-After."""
    if outcome.lost or outcome.timed_out or outcome.without_retry_after or not set(outcome.statuses) <= {200, 503}:
        raise InvalidRun(
            f"responses {dict(outcome.statuses)}, {outcome.lost} lost, {outcome.timed_out} missing, "
            f"{outcome.without_retry_after} without Retry-After"
        )
    return outcome


def one_round(connections: LoadGenerator, probe: LoadGenerator, requests: deque[bytes], seconds: int) -> Round:
    rate = SUSTAINABLE_SHARE * len(send(probe, requests, 50_000, seconds).times()) / seconds
    # As long as the overload, so that both see the same amount of other activity on the machine.
    baseline = send(connections, requests, rate, OVERLOAD_SECONDS).times()
    overload = send(connections, requests, OVERLOAD_FACTOR * rate, OVERLOAD_SECONDS)
    afterwards = send(connections, requests, rate, RECOVERY_SECONDS)
    recovery = recovery_seconds(afterwards.responses, p99(baseline))
    first, later = split_first_second(overload.responses)
    return Round(rate, OVERLOAD_SECONDS, baseline, first, later, overload.statuses[503], recovery)


def send(connections: LoadGenerator, requests: deque[bytes], rate: float, seconds: float) -> LoadResult:
    """Send requests at this rate and rotate them, so that the next run does not repeat cached ones."""
    outcome = check(connections.send(tuple(requests), rate, seconds, timeout=30))
    requests.rotate(-len(outcome.responses) - outcome.unsent)
    return outcome


def split_first_second(responses: Sequence[Response]) -> tuple[list[float], list[float]]:
    """Split the latencies of served requests into those sent in the first second and the others."""
    start = min((response.sent for response in responses), default=0.0)
    served = [response for response in responses if response.status == 200]
    first = [response.seconds for response in served if response.sent - start < 1]
    return first, [response.seconds for response in served if response.sent - start >= 1]


def summarize(variants: Mapping[str, Sequence[Round]], memory: Sequence[UpperLimit]) -> PartResult:
    ratios: list[Ratio] = []
    measurements: list[Measurement] = []
    limits: list[UpperLimit] = []
    for name, rounds in variants.items():
        ratios += [
            Ratio(f"p99 / baseline, {name}", [each.slowdown for each in rounds], at_most=MAX_SLOWDOWN),
            Ratio(f"p99 after 1 s / baseline, {name}", [each.later_slowdown for each in rounds], at_most=MAX_SLOWDOWN),
            Ratio(f"sent / sustainable, {name}", [each.sent / each.rate for each in rounds]),
        ]
        slowest = min(1000 * max(each.recovery for each in rounds), 1000 * RECOVERY_SECONDS)
        limits.append(UpperLimit(f"recovery, {name}", "ms", slowest, MAX_RECOVERY_MS))
        measurements += [
            Measurement(f"baseline p99, {name}", "ms", [1000 * p99(each.baseline) for each in rounds]),
            Measurement(f"p99 in the first second, {name}", "ms", [1000 * p99(each.first_second) for each in rounds]),
            Measurement(f"p99 after 1 s, {name}", "ms", [1000 * p99(each.later) for each in rounds]),
            Measurement(f"sustainable, {name}", "requests/s", [each.rate for each in rounds]),
            Measurement(f"served, {name}", "requests/s", [each.served / each.seconds for each in rounds]),
            Measurement(f"rejected, {name}", "requests/s", [each.rejected / each.seconds for each in rounds]),
        ]
    return PartResult("overload", ratios, measurements, [*limits, *memory])


def tables(part: PartResult) -> list[Table]:
    found = ByName(part)
    variants = [name.partition(", ")[2] for name in found.measurements if name.startswith("served, ")]
    latencies = ("baseline p99", "p99 in the first second", "p99 after 1 s")
    ratios = ("p99 / baseline", "p99 after 1 s / baseline")
    rates = ("sustainable", "served", "rejected")
    limits = ("recovery", "worker memory")
    return [
        Table(
            ["store", *(f"{each}, ms" for each in latencies), *ratios],
            [
                [
                    name,
                    *(found.median(f"{each}, {name}") for each in latencies),
                    *(found.ratio(f"{each}, {name}") for each in ratios),
                ]
                for name in variants
            ],
        ),
        Table(
            ["store", *(f"{each}, requests/s" for each in rates), *limits],
            [
                [
                    name,
                    *(found.median(f"{each}, {name}") for each in rates),
                    *(amount(found.limits[f"{each}, {name}"]) for each in limits),
                ]
                for name in variants
            ],
        ),
    ]


def run(length: RunLength) -> PartResult:
    rounds: dict[str, list[Round]] = {}
    memory: list[UpperLimit] = []
    with ExitStack() as stack:
        sample, many = (
            stack.enter_context(temporary_copy(sqlite_dataset(spec))) for spec in (DatasetSpec(), MANY_TENANTS)
        )
        database = postgres_dataset(stack.enter_context(run_postgres()), SMALL)
        on_postgres = str(stack.enter_context(temporary_directory())), "--database", database.dsn
        for name, flags, requests in (
            ("SQLite, cache hit", (str(sample.directory),), [_request(sample.demo_cookies())]),
            ("SQLite, cache miss", (str(many.directory),), [_request(cookies) for cookies, _ in many.tenant_cookies()]),
            ("PostgreSQL, cache hit", on_postgres, [_request(database.demo_cookies())]),
            ("PostgreSQL, cache miss", on_postgres, [_request(cookies) for cookies, _ in database.tenant_cookies()]),
        ):
            rounds[name], limit = _measure(name, flags, requests, length)
            memory.append(limit)
    return summarize(rounds, memory)


def _measure(
    name: str, flags: tuple[str, ...], requests: Sequence[bytes], length: RunLength
) -> tuple[list[Round], UpperLimit]:
    with ExitStack() as stack:
        console = stack.enter_context(servers.run_console(Path(flags[0]), *flags[1:]))
        connections, probe = (
            stack.enter_context(LoadGenerator(console.port, count)) for count in (CONNECTIONS, PROBE_CONNECTIONS)
        )
        for each in (connections, probe):
            check(each.warm_up())
        cycled = deque(requests)
        rounds = [one_round(connections, probe, cycled, length.seconds) for _ in range(length.rounds)]
        return rounds, UpperLimit(f"worker memory, {name}", "MB", console.resident_mb(), MAX_MEMORY_MB)


def _request(cookies: SessionCookies) -> bytes:
    return action_request(cookies, "GetUsageLimits")
