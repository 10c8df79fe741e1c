"""The cost model: fit, prediction and capacity."""

import pytest
from bench.measurements import InvalidRun
from bench.scale.cost_model import (
    CACHE_HIT,
    CACHE_MISS,
    CHANGE,
    CONNECTIONS_PER_WORKER,
    CONSOLE,
    DATABASE,
    IDLE,
    KINDS,
    LOGIN,
    LOGOUT,
    METRICS,
    MISS_SHARES,
    PLANNED_REQUESTS,
    PLANNED_TENANTS,
    QUERIES,
    SESSION_TOUCH,
    CostModel,
    Sample,
    capacity_table,
    fit,
    planned_rates,
    required_capacity,
)

from cloudconsole.store.activity_writes import TOUCH_SECONDS


def by_kind(*costs: float) -> dict[str, float]:
    return dict(zip(KINDS, costs, strict=True))


TRUE = CostModel(
    {
        CONSOLE: by_kind(0.004, 1e-4, 1e-3, 6e-4, 0.035, 0.002, 0.001),
        DATABASE: by_kind(0.002, 1e-6, 4e-4, 2e-4, 0.003, 0.002, 0.004),
        QUERIES: by_kind(4, 0.001, 5, 1, 9, 4, 20),
    }
)


def sample(name: str, amounts: dict[str, float]) -> Sample:
    given = {IDLE: 6.0, **amounts}
    return Sample(name, given, TRUE.predict(given))


def samples() -> list[Sample]:
    rates = (30.0, 300.0)
    return [sample("idle", {}), *(sample(kind, {kind: rate}) for kind in KINDS if kind != IDLE for rate in rates)]


def test_the_fit_recovers_the_true_costs() -> None:
    found = fit(samples())
    for metric in METRICS:
        assert found.costs[metric] == pytest.approx(TRUE.costs[metric], rel=1e-6)


def test_a_mix_is_predicted_from_single_kinds() -> None:
    mix = {IDLE: 12.0, CACHE_HIT: 700.0, CACHE_MISS: 50.0, LOGIN: 3.0}
    assert fit(samples()).predict(mix) == pytest.approx(TRUE.predict(mix))


def test_costs_are_not_negative() -> None:
    others = [each for each in samples() if LOGOUT not in each.amounts]
    # Logouts that cost less than an idle worker.
    costs = {metric: value * 0.9 for metric, value in TRUE.predict({IDLE: 6.0}).items()}
    found = fit([*others, Sample("logouts", {IDLE: 6.0, LOGOUT: 100.0}, costs)])
    assert found.costs[CONSOLE][LOGOUT] == 0
    assert all(cost >= 0 for metric in METRICS for cost in found.costs[metric].values())


def test_samples_must_distinguish_the_kinds() -> None:
    with pytest.raises(InvalidRun, match="distinguish"):
        fit([sample("idle", {}), sample("hits", {CACHE_HIT: 100})])


def test_a_sample_without_cost_is_invalid() -> None:
    with pytest.raises(InvalidRun, match=r"idle: console CPU is zero"):
        fit([Sample("idle", {IDLE: 3.0}, dict.fromkeys(METRICS, 0.0)), *samples()])


def test_workers_stay_below_the_maximum_utilisation() -> None:
    found = required_capacity(TRUE, {CACHE_HIT: 10_000}, 0.504)
    # The requests need one core: half a core per worker, in addition to its idle cost.
    assert found.workers == 2
    assert found.console_cores == pytest.approx(1.008)
    assert found.queries == pytest.approx(2 * 4 + 10)


def test_at_least_one_worker_is_required() -> None:
    assert required_capacity(TRUE, {}, 0.6).workers == 1


def test_an_idle_worker_must_stay_below_the_maximum_utilisation() -> None:
    with pytest.raises(InvalidRun, match="idle worker"):
        required_capacity(TRUE, {CACHE_HIT: 1}, 0.004)


def test_the_planned_rates_add_up() -> None:
    rates = planned_rates(PLANNED_REQUESTS, 0.2)
    assert rates[CACHE_HIT] + rates[CACHE_MISS] == PLANNED_REQUESTS
    assert rates[CACHE_MISS] == PLANNED_REQUESTS * 0.2
    assert rates[LOGIN] == rates[LOGOUT] == pytest.approx(34.7, abs=0.1)
    assert rates[CHANGE] == 10


def test_the_capacity_table_matches_the_model() -> None:
    table = capacity_table(TRUE)
    assert [row[0] for row in table.rows] == [f"{share:.0%}" for share in MISS_SHARES]
    assert all(len(row) == len(table.head) for row in table.rows)
    found = required_capacity(TRUE, planned_rates(PLANNED_REQUESTS, MISS_SHARES[0]))
    assert table.rows[0][2] == f"{found.workers:,}"
    assert table.rows[0][4] == f"{found.workers * CONNECTIONS_PER_WORKER:,}"


def test_the_rate_of_session_touches_is_independent_of_the_cache() -> None:
    few, many = (planned_rates(PLANNED_REQUESTS, share)[SESSION_TOUCH] for share in (0.2, 1.0))
    assert few == many == pytest.approx(PLANNED_TENANTS / TOUCH_SECONDS)


def test_more_cache_misses_require_more_cores() -> None:
    fewer, more = (required_capacity(TRUE, planned_rates(PLANNED_REQUESTS, share)) for share in (0.01, 0.2))
    assert fewer.workers < more.workers
    assert fewer.database_cores < more.database_cores
