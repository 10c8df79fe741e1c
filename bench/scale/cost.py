"""The cost of each kind of work, measured separately; the model is checked against mixes on two workers."""

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import cycle, islice
from typing import Final

from bench import servers
from bench.background_load import PacedThread, demo_login_request, resource_changer
from bench.measurements import InvalidRun, Measurement, PartResult, Ratio, Table
from bench.parts.actions import requests_for
from bench.rounds import RunLength, rotated, show_progress
from bench.scale.constant_rate import Request, send
from bench.scale.cost_model import (
    CACHE_HIT,
    CACHE_MISS,
    CHANGE,
    IDLE,
    KINDS,
    LOGIN,
    LOGOUT,
    METRICS,
    QUERIES,
    SESSION_TOUCH,
    CostModel,
    Sample,
    capacity_table,
    fit,
)
from bench.scale.postgres_dataset import (
    SMALL,
    PostgresDataset,
    postgres_dataset,
    run_postgres,
    temporary_copy,
    temporary_directory,
)
from bench.scale.resource_usage import UsageMeter
from bench.scale.workloads import SessionFreshness, cache_miss_requests, fill_template, logout_request
from bench.servers import Server
from bench.tables import ByName
from cloudconsole.server.http.sessions import TOUCH_BATCH_SECONDS

SAMPLE_LENGTH: Final = 3
"""Duration of a sample, as a multiple of the seconds of other parts."""

MAX_ERROR: Final = 1.25
"""Maximum ratio of predicted and measured cost, in either direction."""

SINGLE_KINDS: Final[dict[str, dict[str, float]]] = {
    "idle": {},
    **{f"cache hits, {rate}/s": {CACHE_HIT: rate} for rate in (50, 200, 1000)},
    **{f"cache misses, {rate}/s": {CACHE_MISS: rate} for rate in (15, 60, 300)},
    **{f"cache misses with touch, {rate}/s": {CACHE_MISS: rate, SESSION_TOUCH: rate} for rate in (15, 60, 300)},
    **{f"logins, {rate}/s": {LOGIN: rate} for rate in (1, 2, 8)},
    **{f"logouts, {rate}/s": {LOGOUT: rate} for rate in (5, 20, 80)},
    **{f"changes, {rate}/s": {CHANGE: rate} for rate in (1, 2, 6)},
}
"""The loads to fit the model on, in rates per second; rare work costs more per unit than frequent work."""

LOW_RATE: Final = "low-rate mix"
HIGH_RATE: Final = "high-rate mix"
MIXES: Final[dict[str, dict[str, float]]] = {
    LOW_RATE: {CACHE_HIT: 300, CACHE_MISS: 30, SESSION_TOUCH: 30, LOGIN: 1, LOGOUT: 1, CHANGE: 1},
    HIGH_RATE: {CACHE_HIT: 700, CACHE_MISS: 120, SESSION_TOUCH: 120, LOGIN: 4, LOGOUT: 4, CHANGE: 3},
}
"""The loads to check the model against."""


def run(length: RunLength) -> PartResult:
    rounds: list[list[Sample]] = []
    with ExitStack() as stack:
        dataset = stack.enter_context(temporary_copy(postgres_dataset(stack.enter_context(run_postgres()), SMALL)))
        directory = stack.enter_context(temporary_directory())
        # Both cores: on one, two workers would have the capacity of one.
        one, two = (
            stack.enter_context(servers.run_console(directory, "--database", dataset.dsn, workers=workers, core=None))
            for workers in (1, 2)
        )
        sampler = Sampler(dataset, one, two, length.seconds * SAMPLE_LENGTH)
        stack.callback(sampler.close)
        sampler.warm_up()
        loads = [(name, rates, one) for name, rates in SINGLE_KINDS.items()] + [(*mix, two) for mix in MIXES.items()]
        for number in range(length.rounds):
            rounds.append([sampler.sample(*load) for load in rotated(loads, number)])
            show_progress(number, length)
    return result(rounds)


def result(rounds: list[list[Sample]]) -> PartResult:
    """Fit and check a model within each round; plan capacity with a model of all rounds."""
    models = [fit([sample for sample in samples if sample.name in SINGLE_KINDS]) for samples in rounds]
    whole = fit([sample for samples in rounds for sample in samples if sample.name in SINGLE_KINDS])
    return PartResult(
        "cost",
        [_prediction(rounds, models, mix, metric) for mix in MIXES for metric in METRICS],
        [_cost(models, kind, metric) for kind in KINDS for metric in METRICS],
        tables=[capacity_table(whole)],
    )


def tables(part: PartResult) -> list[Table]:
    found = ByName(part)
    costs = [[kind, *(found.spread(f"{kind}: {metric}") for metric in METRICS)] for kind in KINDS]
    predictions = [
        [mix, *(found.ratio(f"{mix}: {metric}, predicted / measured") for metric in METRICS)] for mix in MIXES
    ]
    units = [metric if metric == QUERIES else f"{metric}, µs" for metric in METRICS]
    return [
        Table(["cost of one", *units], costs),
        Table(["predicted / measured", *METRICS], predictions),
        *part.tables,
    ]


def _cost(models: list[CostModel], kind: str, metric: str) -> Measurement:
    values = [model.costs[metric][kind] for model in models]
    name = f"{kind}: {metric}"
    if metric == QUERIES:
        return Measurement(name, "queries", values)
    return Measurement(name, "µs", [value * 1e6 for value in values])


def _prediction(rounds: list[list[Sample]], models: list[CostModel], mix: str, metric: str) -> Ratio:
    mixes = [next(sample for sample in samples if sample.name == mix) for samples in rounds]
    values = [
        model.predict(sample.amounts)[metric] / sample.costs[metric]
        for model, sample in zip(models, mixes, strict=True)
    ]
    return Ratio(f"{mix}: {metric}, predicted / measured", values, 1 / MAX_ERROR, MAX_ERROR)


class Sampler:
    """Generates a load and measures its cost."""

    def __init__(self, dataset: PostgresDataset, one: Server, two: Server, seconds: int) -> None:
        self._dataset = dataset
        self._consoles = [one, two]
        self._seconds = seconds
        self._freshness = SessionFreshness(dataset)
        self._hits = cycle(requests_for(dataset.demo_cookies()).values())
        tenants = list(dataset.tenant_cookies())
        # One half for cache misses, the other for logouts, because a logout ends its session.
        self._misses = cycle(tenants[: len(tenants) // 2])
        self._logouts = iter(tenants[len(tenants) // 2 :])
        self._templates = cycle(cache_miss_requests().values())
        self._login = demo_login_request(dataset)
        self._engine = dataset.store.open_engine("cloud")
        self._change = resource_changer(self._engine)

    def warm_up(self) -> None:
        """Run every kind of work on every worker once: the first use of a connection costs more."""
        for console in self._consoles:
            self.sample("warm-up", MIXES[HIGH_RATE], console)

    def close(self) -> None:
        self._engine.dispose()

    def sample(self, name: str, rates: dict[str, float], console: Server) -> Sample:
        if SESSION_TOUCH in rates:
            self._freshness.expire()
        else:
            self._freshness.refresh()
        requests = self._requests(rates)
        rate = len(requests) / self._seconds
        meter, began = UsageMeter(self._consoles, self._dataset), time.monotonic()
        changes = PacedThread(self._change, rates[CHANGE]) if CHANGE in rates else None
        try:
            counts = send(console.port, requests, rate)[0] if requests else {}
            time.sleep(max(0.0, began + self._seconds - time.monotonic()))
        finally:
            if changes is not None:
                changes.stop()
        # Include deferred writes in this sample.
        time.sleep(2 * TOUCH_BATCH_SECONDS)
        took, costs = time.monotonic() - began, meter.used()
        amounts = {kind: float(count) for kind, count in counts.items()}
        if SESSION_TOUCH in rates:
            # Only cache misses: the sessions of cache hits are in constant use.
            amounts[SESSION_TOUCH] = amounts[CACHE_MISS]
        if changes is not None:
            if changes.error is not None:
                raise InvalidRun(f"{name}: an operator change failed: {changes.error}")
            amounts[CHANGE] = float(changes.count)
        workers = sum(len(each.pids) - (1 if len(each.pids) > 1 else 0) for each in self._consoles)
        return Sample(name, {IDLE: took * workers, **amounts}, costs)

    def _requests(self, rates: dict[str, float]) -> list[Request]:
        requests = [
            Request(kind, content)
            for kind, rate in rates.items()
            if kind not in (CHANGE, SESSION_TOUCH)
            for content in islice(self._contents(kind), round(rate * self._seconds))
        ]
        random.shuffle(requests)
        return requests

    def _contents(self, kind: str) -> Iterator[bytes]:
        if kind == CACHE_HIT:
            return self._hits
        if kind == CACHE_MISS:
            return (fill_template(next(self._templates), *tenant) for tenant in self._misses)
        if kind == LOGIN:
            return cycle([self._login])
        return (logout_request(cookies) for cookies, _ in self._logouts)
