"""The metrics page: well-formed, whole, and true to what happened."""

import os
import sqlite3
import time
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from cloudconsole._version import __version__
from cloudconsole.core.clock import SystemClock
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.metrics import layout
from cloudconsole.server.metrics.definitions import FAMILIES, PREFIX
from cloudconsole.server.metrics.exposition import PAUSE_FACTOR, POSTGRES_PAUSE_FACTOR, MetricsExposition, StoreGauges
from cloudconsole.server.metrics.observers import UpstreamObserver
from cloudconsole.server.metrics.shared_memory import SharedMetrics
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store import health
from cloudconsole.store.base import RowReader
from tests.harness import JSON, Caller, HeldClock, InProcess
from tests.server.metrics.conftest import Scrape, page_text
from tests.stores import settings_over


@pytest.fixture
def clock() -> HeldClock:
    """The page counts live sessions by the real clock."""
    return HeldClock(time.time())


def test_every_family_is_there_with_its_help_and_type(
    settings: Settings, board: SharedMetrics, wire: InProcess
) -> None:
    board.worker(0).set(layout.CERTIFICATE_EXPIRY, 1)
    text = page_text(board, settings)
    found = {family.name: family for family in text_string_to_metric_families(text)}
    for family in FAMILIES:
        told = found.pop((PREFIX + family.name).removesuffix("_total"))
        assert (told.type, told.documentation) == (family.type, family.help)
        assert told.samples
        for sample in told.samples:
            assert set(sample.labels) - {"le"} == set(family.labels)
    assert found == {}
    assert text.endswith("\n")


def test_counters_end_with_total_and_nothing_else_does() -> None:
    assert all(family.name.endswith("_total") == (family.type == "counter") for family in FAMILIES)


def test_calls_are_counted_by_name_and_outcome(wire: InProcess, visitor: Caller, scrape: Scrape) -> None:
    visitor.call("GetNews")
    visitor.open()
    visitor.login("demo", "wrong")
    visitor.login()
    for action in ("GetNews", "GetNews", "GetFlavors", "NoSuchAction"):
        visitor.call(action)
    visitor.call("GetDomainDetail", domainId="no-such-domain")
    visitor.call("GetDomainDetail")
    visitor.send("POST", "/api/", {"Content-Type": JSON}, b"{}")
    visitor.send("HEAD", "/api/")
    visitor.send("GET", "/api")
    visitor.send("OPTIONS", "/api/")
    visitor.send("DELETE", "/api/")
    visitor.send("GET", "/")
    visitor.send("GET", "/api/", {"Host": "evil.example"})
    visitor.send("GET", "/healthz")
    visitor.send("GET", "/readyz")
    visitor.logout()
    assert scrape().calls() == {
        ("GetNews", "ok"): 2,
        ("GetFlavors", "ok"): 1,
        ("GetDomainDetail", "domain_not_found"): 1,
        ("GetDomainDetail", "missing_field"): 1,
        ("api", "login_required"): 1,
        ("api", "unknown_action"): 1,
        ("api", "csrf_failed"): 1,
        ("welcome", "ok"): 2,
        ("login", "invalid_credentials"): 1,
        ("login", "ok"): 1,
        ("logout", "ok"): 1,
        ("healthz", "ok"): 1,
        ("readyz", "ok"): 1,
        ("other", "ok"): 3,
        ("other", "method_not_allowed"): 1,
        ("other", "invalid_host"): 1,
    }


def test_durations_add_up_to_the_calls(wire: InProcess, visitor: Caller, scrape: Scrape) -> None:
    visitor.login()
    for action in ("GetNews", "GetFlavors", "GetNews", "Nothing", "GetNews"):
        visitor.call(action)
    page = scrape()
    for call in layout.OPERATIONS:
        answered = sum(number for (name, _), number in page.calls().items() if name == call)
        buckets = page.buckets("request_duration_seconds", operation=call)
        assert len(buckets) == len(layout.SECONDS_BOUNDS) + 1
        assert buckets == sorted(buckets)
        assert buckets[-1] == page.value("request_duration_seconds_count", operation=call) == answered
        assert (page.value("request_duration_seconds_sum", operation=call) > 0) == (answered > 0)


def test_a_caller_that_left_is_counted(wire: InProcess, scrape: Scrape) -> None:
    async def gone() -> dict[str, str]:
        return {"type": "http.disconnect"}

    async def nobody(_message: object) -> None:
        raise AssertionError("nobody is left to answer")

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/",
        "http_version": "1.1",
        "scheme": "http",
        "headers": [(b"host", b"localhost"), (b"content-length", b"5")],
    }
    wire.together(wire.console(scope, gone, nobody))
    assert scrape().calls() == {("api", "client_gone"): 1}


def test_logins_and_refusals_are_shown_whole(wire: InProcess, visitor: Caller, scrape: Scrape) -> None:
    for _ in range(11):
        visitor.login("demo", "wrong")
    visitor.login("demo", "wrong", region="https://elsewhere.example")
    visitor.call("GetNews")
    wire.console.draining = True
    visitor.send("GET", "/readyz")
    visitor.login()
    page = scrape()
    assert page.by_label("logins_total", "outcome") == {
        "invalid_credentials": 10,
        "too_many_requests": 1,
        "unknown_region": 1,
    }
    assert page.by_label("rejections_total", "reason") == {
        "invalid_credentials": 10,
        "too_many_requests": 1,
        "unknown_region": 1,
        "login_required": 1,
        "unavailable": 1,
    }
    shown = {sample.labels["reason"] for sample in page.families["cloudconsole_rejections"].samples}
    assert shown == set(layout.REJECTIONS)


def test_sessions_and_accounts_are_those_of_the_store(wire: InProcess, demo: Caller, scrape: Scrape) -> None:
    other = Caller(wire)
    other.login("other", "console-other")
    assert scrape().value("sessions") == 2
    other.logout()
    page = scrape()
    assert page.value("sessions") == 1
    assert page.value("accounts", state="enabled") == 3
    assert page.value("accounts", state="disabled") == 0
    assert page.value("store_readable") == 1


def test_the_stores_files_and_writes_are_shown(demo: Caller, data: Path, scrape: Scrape) -> None:
    page = scrape()
    assert page.value("store_size_bytes", file="cloud.db") == (data / "cloud.db").stat().st_size
    assert page.value("store_size_bytes", file="activity.db-wal") == (data / "activity.db-wal").stat().st_size
    assert page.value("store_free_bytes") > 0
    # That a login looks at earlier failures first is no write.
    assert page.value("store_write_duration_seconds_count") == 1
    assert page.value("store_write_duration_seconds_sum") > 0


def test_cache_hits_and_misses_are_counted(wire: InProcess, demo: Caller, scrape: Scrape) -> None:
    for action in ("GetNews", "GetNews", "GetNews", "GetFlavors"):
        demo.call(action)
    wire.console.take_readings()
    page = scrape()
    assert page.by_label("response_cache_lookups_total", "result") == {"miss": 2, "hit": 2}
    assert page.value("response_cache_bytes") > 1000


def test_a_store_that_fails_is_seen(demo: Caller, data: Path, scrape: Scrape) -> None:
    with sqlite3.connect(data / "activity.db") as store:
        store.execute("ALTER TABLE sessions RENAME TO elsewhere")
    store.close()
    assert demo.call("GetNews").error == "unavailable"
    page = scrape()
    assert page.value("store_readable") == 0
    assert page.value("store_errors_total") == 1
    assert "cloudconsole_sessions" not in page.families
    assert page.value("rejections_total", reason="unavailable") == 1


def test_a_store_that_is_gone_is_seen_and_not_made_anew(settings: Settings, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    text = MetricsExposition(SharedMetrics(1), StoreGauges(settings_over(nowhere), SystemClock())).text()
    assert "cloudconsole_store_readable 0\n" in text
    assert not nowhere.exists()


def test_whether_the_store_can_be_read_is_told_while_counting_rests(
    settings: Settings, board: SharedMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = iter([0.0, 1.0, 2.0, 3.0])
    page = MetricsExposition(board, StoreGauges(settings, SystemClock(), lambda: next(moments)))

    async def fail(_: RowReader) -> bool:
        raise Unavailable

    told = []
    for probe in (health.probe, fail, health.probe):
        monkeypatch.setattr(health, "probe", probe)
        text = page.text()
        told.append(("cloudconsole_store_readable 1\n" in text, "cloudconsole_sessions " in text))
    assert told == [(True, True), (False, False), (True, True)]


def test_calls_to_a_cloud_are_counted_by_service(board: SharedMetrics, scrape: Scrape) -> None:
    for worker in range(2):
        watcher = UpstreamObserver(board.worker(worker))
        for _ in range(3):
            watcher.started("load-balancer")
        watcher.finished("load-balancer", 2_000_000)
        watcher.failed("load-balancer", was_slow=True)
        watcher.failed("identity", was_slow=False)
    page = scrape()
    assert page.value("upstream_request_duration_seconds_count", service="load-balancer") == 2
    assert page.value("upstream_request_duration_seconds_sum", service="load-balancer") == 0.004
    assert page.value("upstream_request_duration_seconds_count", service="compute") == 0
    assert page.value("upstream_failures_total", service="load-balancer", reason="upstream_timeout") == 2
    assert page.value("upstream_failures_total", service="load-balancer", reason="upstream_failed") == 0
    assert page.value("upstream_failures_total", service="identity", reason="upstream_failed") == 2
    assert page.by_label("upstream_requests_in_flight", "service") == {"load-balancer": 4}


def test_workers_are_those_that_run(wire: InProcess, board: SharedMetrics, scrape: Scrape) -> None:
    page = scrape()
    assert page.value("workers") == 1
    assert page.value("worker_resident_memory_bytes", worker="0") > 10_000_000
    assert page.by_label("worker_restarts_total", "reason") == {}
    board.worker(0).clear_gauges()
    board.worker(0).note_restart(layout.FROZEN)
    page = scrape()
    assert page.value("workers") == 0
    assert page.by_label("worker_restarts_total", "reason") == {"frozen": 1}


def test_a_worker_that_just_died_has_no_memory(board: SharedMetrics, scrape: Scrape) -> None:
    process = os.fork()
    if not process:
        os._exit(0)
    os.waitpid(process, 0)
    board.worker(1).set(layout.PROCESS, process)
    assert scrape().by_label("worker_resident_memory_bytes", "worker") == {}


def test_it_says_what_runs_since_when(scrape: Scrape) -> None:
    page = scrape()
    (build,) = page.families["cloudconsole_build_info"].samples
    assert build.labels["version"] == __version__
    assert time.time() - 3600 < page.value("start_time_seconds") <= time.time()


def test_sums_are_exact_however_large(board: SharedMetrics, settings: Settings) -> None:
    board.worker(0).count_request("GetNews", "ok", 10**16 + 1)
    text = page_text(board, settings)
    assert 'request_duration_seconds_sum{operation="GetNews"} 10000000.000000001\n' in text


def test_counting_rests_after_it_took_long(settings: Settings, demo: Caller) -> None:
    rest = PAUSE_FACTOR if settings.database is None else POSTGRES_PAUSE_FACTOR
    moments = iter([0.0, 1.0, rest + 0.9, rest + 1.0, rest + 1.0])
    readings = StoreGauges(settings, SystemClock(), lambda: next(moments))
    first = readings.counts()
    demo.logout()
    assert readings.counts() is first
    again = readings.counts()
    assert first is not None
    assert again is not None
    assert (first.live_sessions, again.live_sessions) == (1, 0)
