"""The cost model: fitted, predicting, and put on paper."""

import pytest
from bench.figures import Refused
from bench.scale.model import (
    CHANGE,
    COLD,
    CONSOLE,
    DATABASE,
    IDLE,
    KINDS,
    LOGIN,
    LOGOUT,
    QUERIES,
    SPENT,
    USE,
    WARM,
    Costs,
    Point,
    fit,
    needs,
)
from bench.scale.planning import BUSY, CALLS, COLD_SHARES, CONNECTIONS_EACH, TENANTS, cores, load, planned

from cloudconsole.store.activity import TOUCH_SECONDS

TRUE = Costs(
    {
        CONSOLE: {IDLE: 0.004, WARM: 1e-4, COLD: 1e-3, USE: 6e-4, LOGIN: 0.035, LOGOUT: 0.002, CHANGE: 0.001},
        DATABASE: {IDLE: 0.002, WARM: 1e-6, COLD: 4e-4, USE: 2e-4, LOGIN: 0.003, LOGOUT: 0.002, CHANGE: 0.004},
        QUERIES: {IDLE: 4, WARM: 0.001, COLD: 5, USE: 1, LOGIN: 9, LOGOUT: 4, CHANGE: 20},
    }
)


def point(name: str, amounts: dict[str, float]) -> Point:
    given = {IDLE: 6.0, **amounts}
    return Point(name, given, TRUE.predict(given))


def alone() -> list[Point]:
    return [point("idle", {}), *(point(kind, {kind: rate}) for kind in KINDS if kind != IDLE for rate in (30.0, 300.0))]


def test_the_costs_that_made_the_points_are_found_again() -> None:
    found = fit(alone())
    for spent in SPENT:
        assert found.of[spent] == pytest.approx(TRUE.of[spent], rel=1e-6)


def test_a_mix_is_predicted_by_what_was_measured_one_by_one() -> None:
    mix = {IDLE: 12.0, WARM: 700.0, COLD: 50.0, LOGIN: 3.0}
    assert fit(alone()).predict(mix) == pytest.approx(TRUE.predict(mix))


def test_nothing_costs_less_than_nothing() -> None:
    others = [each for each in alone() if LOGOUT not in each.amounts]
    # As if logouts had been cheaper than nothing at all.
    spent = {spent: value * 0.9 for spent, value in TRUE.predict({IDLE: 6.0}).items()}
    found = fit([*others, Point("logouts", {IDLE: 6.0, LOGOUT: 100.0}, spent)])
    assert found.of[CONSOLE][LOGOUT] == 0
    assert all(cost >= 0 for spent in SPENT for cost in found.of[spent].values())


def test_points_that_do_not_tell_the_kinds_apart_are_refused() -> None:
    with pytest.raises(Refused, match="apart"):
        fit([point("idle", {}), point("warm", {WARM: 100})])


def test_a_point_that_took_nothing_is_refused() -> None:
    with pytest.raises(Refused, match=r"idle: took nothing of console"):
        fit([Point("idle", {IDLE: 3.0}, dict.fromkeys(SPENT, 0.0)), *alone()])


def test_as_many_workers_are_needed_as_keep_each_below_its_share() -> None:
    found = needs(TRUE, {WARM: 10_000}, busy=0.504)
    # One core's worth of calls, at half a core each, beside what being there takes.
    assert found.workers == 2
    assert found.console_cores == pytest.approx(1.008)
    assert found.queries == pytest.approx(2 * 4 + 10)


def test_there_is_a_worker_even_for_nothing() -> None:
    assert needs(TRUE, {}, busy=0.6).workers == 1


def test_a_worker_that_is_busy_with_nothing_is_refused() -> None:
    with pytest.raises(Refused, match="does nothing"):
        needs(TRUE, {WARM: 1}, busy=0.004)


def test_the_load_on_paper_adds_up() -> None:
    second = load(CALLS, 0.2)
    assert second[WARM] + second[COLD] == CALLS
    assert second[COLD] == CALLS * 0.2
    assert second[LOGIN] == second[LOGOUT] == pytest.approx(34.7, abs=0.1)


def test_a_row_on_paper_says_what_the_model_does() -> None:
    (table,) = planned(TRUE)
    assert [row[0] for row in table.rows] == [f"{share:.0%}" for share in COLD_SHARES]
    assert all(len(row) == len(table.head) for row in table.rows)
    found = needs(TRUE, load(CALLS, COLD_SHARES[0]), busy=BUSY)
    assert table.rows[0][2] == f"{found.workers:,}"
    assert table.rows[0][4] == f"{found.workers * CONNECTIONS_EACH:,}"


def test_every_session_is_noted_as_used_once_in_a_while_however_often_it_calls() -> None:
    assert load(CALLS, 0.2)[USE] == load(CALLS, 1.0)[USE] == pytest.approx(TENANTS / TOUCH_SECONDS)


def test_colder_calls_need_more_cores() -> None:
    warmer, colder = (cores(TRUE, CALLS, share) for share in (0.01, 0.2))
    assert warmer[CONSOLE] < colder[CONSOLE]
    assert warmer[DATABASE] < colder[DATABASE]
