"""The scale suite: requests, comparisons, import lines, charts, constant-rate load and resource usage."""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC
from io import BytesIO
from pathlib import Path

import pytest
from bench.datasets import FIRST_TENANT_NUMBER
from bench.machine import Machine
from bench.measurements import InvalidRun, Measurement, PartResult
from bench.raw_http import SessionCookies, get_api_request
from bench.report import Results
from bench.rounds import RunLength
from bench.scale import cost, overload
from bench.scale.actions import MIN_RATIO_TO_BARE, MIN_RATIO_TO_PEERS, POSTGRES, SQLITE, compare
from bench.scale.charts import charts, recorded_model
from bench.scale.constant_rate import Request, send
from bench.scale.cost_model import CONSOLE, IDLE, KINDS, METRICS, CostModel, Sample
from bench.scale.growth import growth_ratios, import_lines
from bench.scale.peers import REQUIREMENTS, versions
from bench.scale.resource_usage import cpu_seconds_between, cpu_times
from bench.scale.workloads import (
    FRESH_SECONDS,
    HIT,
    MISS,
    REQUESTS,
    SessionFreshness,
    cache_miss_requests,
    fill_template,
    logout_request,
)

from cloudconsole.operator.bulk_import import read_batches
from cloudconsole.store.activity_writes import TOUCH_SECONDS
from tests.bench.stub_server import stub_server

COOKIES = SessionCookies("s" + "1" * 48, "t" * 64)
OTHERS = ["Django, GetUsageLimits", "Skyline, public configuration"]
MACHINE = Machine("2026-11-16", "A processor", 2, 8, "Linux 6", "3.11.9", "4.1.0", {})


def test_every_request_has_a_cache_miss_template() -> None:
    assert tuple(cache_miss_requests()) == REQUESTS


@pytest.mark.parametrize("name", REQUESTS)
def test_a_filled_template_is_a_complete_request_of_the_tenant(name: str) -> None:
    number = FIRST_TENANT_NUMBER + 999_999
    content = fill_template(cache_miss_requests()[name], COOKIES, number)
    head, _, body = content.partition(b"\r\n\r\n")
    assert b"{" not in head
    assert COOKIES.session_id.encode() in head
    assert f"Content-Length: {len(body)}".encode() in head or not body
    if name == "GetDomainDetail":
        assert json.loads(body)["domainId"] == str(number)


def test_a_logout_has_no_body() -> None:
    assert logout_request(COOKIES).endswith(b"\r\n\r\n")


def test_product_versions_are_read_from_the_lock() -> None:
    lock = "moto==5.2.5 \\\n    --hash=sha256:00\nmoto-ext==1\nskyline-apiserver==9.0.0 \\\n"
    assert versions(lock) == "Skyline 9.0.0, moto 5.2.5"
    assert versions(REQUIREMENTS.read_text()).count(",") == 2


class FakeDataset:
    """Counts how often its sessions are touched."""

    touches = 0
    touched_ago = 0

    def demo_cookies(self) -> SessionCookies:
        return COOKIES

    def tenant_cookies(self) -> Iterator[tuple[SessionCookies, int]]:
        yield COOKIES, FIRST_TENANT_NUMBER

    def cookies_file(self) -> Path:
        return Path()

    def touch_sessions(self, seconds_ago: int = 0) -> None:
        self.touches += 1
        self.touched_ago = seconds_ago


def test_sessions_are_refreshed_only_when_old() -> None:
    dataset, now = FakeDataset(), [0.0]
    freshness = SessionFreshness(dataset, lambda: now[0])
    counts = []
    for moment in (0, FRESH_SECONDS, FRESH_SECONDS + 1, FRESH_SECONDS + 2):
        now[0] = moment
        freshness.refresh()
        counts.append(dataset.touches)
    assert counts == [1, 1, 2, 2]


def test_expired_sessions_are_refreshed_again() -> None:
    dataset = FakeDataset()
    freshness = SessionFreshness(dataset, lambda: 0.0)
    freshness.refresh()
    freshness.expire()
    assert dataset.touched_ago > TOUCH_SECONDS
    freshness.refresh()
    assert (dataset.touches, dataset.touched_ago) == (3, 0)


def test_the_import_lines_are_valid() -> None:
    lines = "".join(import_lines(tenants=2, count=3))
    (batch,) = read_batches(BytesIO(lines.encode()), UTC, 10)
    assert not batch.problems
    assert [line.resource.tenant for line in batch.lines] == ["bench-0000000", "bench-0000001", "bench-0000000"]
    assert len({line.resource.id for line in batch.lines}) == 3
    assert not any(line.errors for line in batch.lines)


def actions() -> dict[str, Measurement]:
    rates = {"bare server": 100.0, "nginx": 400.0, f"{POSTGRES}, {HIT}": 60.0, f"{POSTGRES}, {MISS}": 20.0}
    rates |= {f"{SQLITE}, {HIT}": 62.0, f"{SQLITE}, {MISS}": 30.0}
    names = {
        f"{variant}: {name}" if variant in ("bare server", "nginx") else f"{name}, {variant}": rate
        for variant, rate in rates.items()
        for name in REQUESTS
    }
    rated = {**names, **dict.fromkeys(OTHERS, 5.0)}
    return {name: Measurement(name, "requests/s", [rate], [900 / rate]) for name, rate in rated.items()}


def test_every_request_is_compared_with_its_own_bare_server() -> None:
    ratios = {each.name: each for each in compare(actions(), list(REQUESTS), OTHERS)}
    for name in REQUESTS:
        hit = ratios[f"{name}, {POSTGRES}, {HIT} / bare server"]
        assert (hit.rounds, hit.at_least, hit.met) == ([0.6], MIN_RATIO_TO_BARE, True)
        assert ratios[f"{name}, {POSTGRES}, {MISS} / bare server"].rounds == [0.2]
        assert ratios[f"{name}, {SQLITE}, {HIT} / bare server"].at_least is None
        assert ratios[f"{name}, {POSTGRES}, {HIT} / nginx"].rounds == [0.15]
    for other in OTHERS:
        for name in REQUESTS:
            peer = ratios[f"{name}, {POSTGRES}, {HIT} / {other}"]
            assert (peer.rounds, peer.at_least) == ([12], MIN_RATIO_TO_PEERS)
        by_cpu = ratios[f"GetUsageLimits, {POSTGRES}, {HIT} / {other}, by CPU time"]
        assert (by_cpu.rounds, by_cpu.at_least) == ([12], None)


def test_growth_must_retain_four_fifths_of_the_speed() -> None:
    measured = {
        f"{name}, {size}, {cache}": Measurement("", "requests/s", [rate])
        for name in REQUESTS
        for size, rate in (("10 tenants", 100.0), ("1,000 tenants", 79.0))
        for cache in (HIT, MISS)
    }
    ratios = growth_ratios(measured, "10 tenants", "1,000 tenants")
    assert len(ratios) == 2 * len(REQUESTS)
    assert {(each.rounds[0], each.met) for each in ratios} == {(0.79, False)}


COSTS = dict(zip(KINDS, (0.004, 1e-4, 1e-3, 5e-4, 0.03, 0.002, 0.001), strict=True))
MODEL = CostModel(dict.fromkeys(METRICS, COSTS))


def cost_rounds(error: float) -> list[list[Sample]]:
    """Samples that match the model, except for the mixes, whose cost differs by a factor."""

    def sample(name: str, rates: dict[str, float], factor: float) -> Sample:
        amounts = {IDLE: 9.0, **rates}
        return Sample(name, amounts, {metric: value * factor for metric, value in MODEL.predict(amounts).items()})

    single = [sample(name, rates, 1) for name, rates in cost.SINGLE_KINDS.items()]
    return [[*single, *(sample(name, rates, error) for name, rates in cost.MIXES.items())]] * 2


@pytest.mark.parametrize(("error", "met"), [(1.0, True), (0.5, False)])
def test_the_model_is_checked_against_mixes_outside_the_fit(error: float, met: bool) -> None:
    part = cost.result(cost_rounds(error))
    assert len(part.ratios) == len(cost.MIXES) * len(METRICS)
    for each in part.ratios:
        assert each.rounds == pytest.approx([1 / error] * 2)
        assert each.met is met


def test_the_model_can_be_rebuilt_from_the_results() -> None:
    found = recorded_model(cost.result(cost_rounds(1.0)))
    assert found.costs[CONSOLE] == pytest.approx(MODEL.costs[CONSOLE])


def test_each_part_has_its_charts() -> None:
    measured = actions()
    grown = [
        Measurement(f"{name}, {size} tenants, {cache}", "requests/s", [100])
        for name in REQUESTS
        for size in ("10", "1,000")
        for cache in (HIT, MISS)
    ]
    parts = [
        PartResult("actions", compare(measured, list(REQUESTS), OTHERS), list(measured.values())),
        PartResult("growth", [], [Measurement("import, 10 tenants", "resources/s", [1000]), *grown]),
        cost.result(cost_rounds(1.0)),
        overload.summarize({"SQLite, cache hit": [overload.Round(1000, 10, [0.001], [0.1], [0.002], 70, 0.25)]}, []),
    ]
    drawn = charts(Results(MACHINE, RunLength(1, 1), parts))
    assert [chart.part for chart in drawn] == ["actions", "actions", "growth", "cost", "overload"]
    assert len({chart.file_name for chart in drawn}) == len(drawn)
    assert all(chart.svg.startswith("<svg ") and chart.file_name.endswith(".svg") for chart in drawn)


def test_all_requests_of_a_constant_rate_load_are_sent() -> None:
    requests = [Request("one" if number % 2 else "other", get_api_request(COOKIES)) for number in range(100)]
    with stub_server(lambda _: (200, b"x" * 70_000)) as port:
        assert send(port, requests, rate=400)[0] == {"one": 50, "other": 50}


def test_one_wrong_response_makes_a_constant_rate_load_invalid() -> None:
    request = Request("one", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    with (
        stub_server(lambda number: (503, b"full") if number == 7 else (200, b"")) as port,
        pytest.raises(InvalidRun, match=r"unexpected response .*503"),
    ):
        send(port, [request] * 20, rate=1000)


def test_cpu_time_includes_all_threads_of_a_process() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        before = cpu_times([os.getpid()])
        assert len(before) > 1
        pool.submit(sum, range(3_000_000)).result()
        after = cpu_times([os.getpid()])
    # Threads of earlier tests may exit in between.
    alive = {thread: time for thread, time in before.items() if thread in after}
    assert 0 < cpu_seconds_between({}, alive) < cpu_seconds_between({}, after)
    difference = cpu_seconds_between({}, after) - cpu_seconds_between({}, alive)
    assert cpu_seconds_between(before, after) == pytest.approx(difference)


def test_an_exited_thread_does_not_reduce_the_cpu_time() -> None:
    stays, exited, new = Path("stays"), Path("exited"), Path("new")
    before, after = {stays: 2_000_000_000, exited: 9_000_000_000}, {stays: 2_500_000_000, new: 1_000_000_000}
    assert cpu_seconds_between(before, after) == 1.5


def test_a_thread_that_exits_during_the_read_is_skipped() -> None:
    def read(_: Path) -> str:
        raise ProcessLookupError

    assert cpu_times([os.getpid()], read) == {}
    assert cpu_times([]) == {}
