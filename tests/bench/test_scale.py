"""What is measured on PostgreSQL: the calls, what is imported, what is compared and drawn."""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC
from io import BytesIO
from pathlib import Path

import pytest
from bench.client import Caller, opening_request
from bench.data import FIRST_NUMBER
from bench.figures import Measured, PartResult, Refused
from bench.machine import Machine
from bench.report import Results
from bench.rounds import Pace
from bench.scale import cost, overload
from bench.scale.actions import GOAL_OF_BARE, GOAL_OF_PEERS, POSTGRES, SQLITE, compare
from bench.scale.calls import CALLS, FRESH_SECONDS, Freshness, cold_requests, filled, logout_request
from bench.scale.growth import flatness, import_lines
from bench.scale.model import CHANGE, COLD, CONSOLE, IDLE, LOGIN, LOGOUT, SPENT, USE, WARM, Costs, Point
from bench.scale.pacing import Request, send
from bench.scale.peers import REQUIREMENTS, versions
from bench.scale.plots import costs_of, plots
from bench.scale.spending import spent_between, times_of

from cloudconsole.operator.bulk_import import read_batches
from cloudconsole.store.activity import TOUCH_SECONDS
from tests.bench.serving import answering

CALLER = Caller("s" + "1" * 48, "t" * 64)
OTHERS = ["Django, GetUsageLimits", "Skyline, its open configuration"]
MACHINE = Machine("2026-11-16", "A processor", 2, 8, "Linux 6", "3.11.9", "4.1.0", {})


def test_every_call_is_asked_cold_as_well() -> None:
    assert tuple(cold_requests()) == CALLS


@pytest.mark.parametrize("call", CALLS)
def test_a_filled_request_is_whole_and_its_callers_own(call: str) -> None:
    number = FIRST_NUMBER + 999_999
    content = filled(cold_requests()[call], CALLER, number)
    head, _, body = content.partition(b"\r\n\r\n")
    assert b"{" not in head
    assert CALLER.session.encode() in head
    assert f"Content-Length: {len(body)}".encode() in head or not body
    if call == "GetDomainDetail":
        assert json.loads(body)["domainId"] == str(number)


def test_a_logout_has_no_body_to_wait_for() -> None:
    assert logout_request(CALLER).endswith(b"\r\n\r\n")


def test_the_others_versions_are_those_of_the_lock() -> None:
    lock = "moto==5.2.5 \\\n    --hash=sha256:00\nmoto-ext==1\nskyline-apiserver==9.0.0 \\\n"
    assert versions(lock) == "Skyline 9.0.0, moto 5.2.5"
    assert versions(REQUIREMENTS.read_text()).count(",") == 2


class Sessions:
    """Callers whose sessions are counted to have been made fresh."""

    refreshed = 0
    used_ago = 0

    def demo(self) -> Caller:
        return CALLER

    def callers(self) -> Iterator[tuple[Caller, int]]:
        yield CALLER, FIRST_NUMBER

    def callers_file(self) -> Path:
        return Path()

    def refresh_sessions(self, seconds_ago: int = 0) -> None:
        self.refreshed += 1
        self.used_ago = seconds_ago


def test_sessions_are_made_fresh_only_when_they_have_become_old() -> None:
    sessions, now = Sessions(), [0.0]
    fresh = Freshness(sessions, lambda: now[0])
    counts = []
    for moment in (0, FRESH_SECONDS, FRESH_SECONDS + 1, FRESH_SECONDS + 2):
        now[0] = moment
        fresh.keep()
        counts.append(sessions.refreshed)
    assert counts == [1, 1, 2, 2]


def test_sessions_that_were_made_old_are_made_fresh_again() -> None:
    sessions = Sessions()
    fresh = Freshness(sessions, lambda: 0.0)
    fresh.keep()
    fresh.lose()
    assert sessions.used_ago > TOUCH_SECONDS
    fresh.keep()
    assert (sessions.refreshed, sessions.used_ago) == (3, 0)


def test_what_is_imported_can_be_imported() -> None:
    lines = "".join(import_lines(tenants=2, count=3))
    (batch,) = read_batches(BytesIO(lines.encode()), UTC, 10)
    assert not batch.problems
    assert [line.resource.tenant for line in batch.lines] == ["bench-0000000", "bench-0000001", "bench-0000000"]
    assert len({line.resource.id for line in batch.lines}) == 3
    assert not any(line.findings for line in batch.lines)


def actions() -> dict[str, Measured]:
    rates = {"bare": 100.0, "nginx": 400.0, f"{POSTGRES}, warm": 60.0, f"{POSTGRES}, cold": 20.0}
    rates |= {f"{SQLITE}, warm": 62.0, f"{SQLITE}, cold": 30.0}
    names = {
        f"{who}, as {call}" if who in ("bare", "nginx") else f"{call}, {who}": rate
        for who, rate in rates.items()
        for call in CALLS
    }
    rated = {**names, **dict.fromkeys(OTHERS, 5.0)}
    return {name: Measured(name, "calls/s", [rate], [900 / rate]) for name, rate in rated.items()}


def test_every_call_is_compared_with_its_own_floor() -> None:
    ratios = {each.name: each for each in compare(actions(), list(CALLS), OTHERS)}
    for call in CALLS:
        warm = ratios[f"{call}, {POSTGRES}, warm / bare"]
        assert (warm.rounds, warm.goal, warm.met) == ([0.6], GOAL_OF_BARE, True)
        assert ratios[f"{call}, {POSTGRES}, cold / bare"].rounds == [0.2]
        assert ratios[f"{call}, {SQLITE}, warm / bare"].goal is None
        assert ratios[f"{call}, {POSTGRES}, warm / nginx"].rounds == [0.15]
    for other in OTHERS:
        for call in CALLS:
            peer = ratios[f"{call}, {POSTGRES}, warm / {other}"]
            assert (peer.rounds, peer.goal) == ([12], GOAL_OF_PEERS)
        by_time = ratios[f"GetUsageLimits, {POSTGRES}, warm / {other}, by processor time"]
        assert (by_time.rounds, by_time.goal) == ([12], None)


def test_growth_is_flat_where_four_fifths_are_kept() -> None:
    measured = {
        f"{call}, {size}, {how}": Measured("", "calls/s", [rate])
        for call in CALLS
        for size, rate in (("10 tenants", 100.0), ("1,000 tenants", 79.0))
        for how in ("warm", "cold")
    }
    ratios = flatness(measured, "10 tenants", "1,000 tenants")
    assert len(ratios) == 2 * len(CALLS)
    assert {(each.rounds[0], each.met) for each in ratios} == {(0.79, False)}


EACH = {IDLE: 0.004, WARM: 1e-4, COLD: 1e-3, USE: 5e-4, LOGIN: 0.03, LOGOUT: 0.002, CHANGE: 0.001}
COSTS = Costs(dict.fromkeys(SPENT, EACH))


def cost_rounds(error: float) -> list[list[Point]]:
    """Points as they would be if the model were right, but for the mixes, which took more."""

    def point(name: str, rates: dict[str, float], factor: float) -> Point:
        amounts = {IDLE: 9.0, **rates}
        return Point(name, amounts, {spent: value * factor for spent, value in COSTS.predict(amounts).items()})

    alone = [point(name, rates, 1) for name, rates in cost.ALONE.items()]
    return [[*alone, *(point(name, rates, error) for name, rates in cost.MIXES.items())]] * 2


@pytest.mark.parametrize(("error", "met"), [(1.0, True), (0.5, False)])
def test_the_model_is_checked_against_mixes_that_it_was_not_fitted_on(error: float, met: bool) -> None:
    part = cost.result(cost_rounds(error))
    assert len(part.ratios) == len(cost.MIXES) * len(SPENT)
    for each in part.ratios:
        assert each.rounds == pytest.approx([1 / error] * 2)
        assert each.met is met


def test_the_kept_costs_are_the_model_again() -> None:
    found = costs_of(cost.result(cost_rounds(1.0)))
    assert found.of[CONSOLE] == pytest.approx(COSTS.of[CONSOLE])


def test_each_part_has_its_pictures() -> None:
    measured = actions()
    grown = [
        Measured(f"{call}, {size} tenants, {how}", "calls/s", [100])
        for call in CALLS
        for size in ("10", "1,000")
        for how in ("warm", "cold")
    ]
    parts = [
        PartResult("actions", compare(measured, list(CALLS), OTHERS), list(measured.values())),
        PartResult("growth", [], [Measured("import, 10 tenants", "resources/s", [1000]), *grown]),
        cost.result(cost_rounds(1.0)),
        overload.report({"SQLite, warm": [overload.Round(1000, 10, [0.001], [0.1], [0.002], 70, 0.25)]}, []),
    ]
    drawn = plots(Results(MACHINE, Pace(1, 1), parts))
    assert [plot.part for plot in drawn] == ["actions", "actions", "growth", "cost", "overload"]
    assert len({plot.name for plot in drawn}) == len(drawn)
    assert all(plot.svg.startswith("<svg ") and plot.name.endswith(".svg") for plot in drawn)


def test_a_steady_load_is_sent_whole() -> None:
    requests = [Request("one" if number % 2 else "other", opening_request(CALLER)) for number in range(100)]
    with answering(lambda _: (200, b"x" * 70_000)) as port:
        assert send(port, requests, rate=400)[0] == {"one": 50, "other": 50}


def test_one_wrong_answer_refuses_the_steady_load() -> None:
    request = Request("one", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    with (
        answering(lambda number: (503, b"full") if number == 7 else (200, b"")) as port,
        pytest.raises(Refused, match=r"an answer was .*503"),
    ):
        send(port, [request] * 20, rate=1000)


def test_processor_time_is_that_of_the_threads_of_a_process() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        before = times_of([os.getpid()])
        assert len(before) > 1
        pool.submit(sum, range(3_000_000)).result()
        after = times_of([os.getpid()])
    assert 0 < spent_between({}, before) < spent_between({}, after)
    assert spent_between(before, after) == pytest.approx(spent_between({}, after) - spent_between({}, before))


def test_what_has_ended_takes_nothing_back() -> None:
    stays, ended, begun = Path("stays"), Path("ended"), Path("begun")
    before, after = {stays: 2_000_000_000, ended: 9_000_000_000}, {stays: 2_500_000_000, begun: 1_000_000_000}
    assert spent_between(before, after) == 1.5


def test_a_thread_that_ends_while_it_is_looked_at_is_left_out() -> None:
    def read(_: Path) -> str:
        raise ProcessLookupError

    assert times_of([os.getpid()], read) == {}
    assert times_of([]) == {}
