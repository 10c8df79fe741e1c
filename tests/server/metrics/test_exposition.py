"""Metrics page: well-formed, complete and accurate."""

import os
import sqlite3
import time
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from cloudconsole._version import __version__
from cloudconsole.core.clock import SystemClock
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.request import Headers, Request
from cloudconsole.server.metrics import layout
from cloudconsole.server.metrics.definitions import FAMILIES, PREFIX
from cloudconsole.server.metrics.exposition import PAUSE_FACTOR, POSTGRES_PAUSE_FACTOR, MetricsExposition, StoreGauges
from cloudconsole.server.metrics.shared_memory import SharedMetrics
from cloudconsole.server.openstack import UpstreamObserver
from cloudconsole.spec.errors import Unavailable
from cloudconsole.store import health
from cloudconsole.store.base import RowReader
from tests.harness import JSON, ApiClient, FakeClock, InProcessTransport
from tests.server.metrics.conftest import Scrape, page_text
from tests.stores import settings_for


@pytest.fixture
def clock() -> FakeClock:
    """The current time: the page counts live sessions by the system clock."""
    return FakeClock(time.time())


@pytest.mark.usefixtures("transport")
def test_every_family_is_exposed_with_its_help_and_type(settings: Settings, shared_metrics: SharedMetrics) -> None:
    shared_metrics.worker(0).set(layout.CERTIFICATE_EXPIRY, 1)
    text = page_text(shared_metrics, settings)
    found = {family.name: family for family in text_string_to_metric_families(text)}
    for family in FAMILIES:
        exposed = found.pop((PREFIX + family.name).removesuffix("_total"))
        assert (exposed.type, exposed.documentation) == (family.type, family.help)
        assert exposed.samples
        for sample in exposed.samples:
            assert set(sample.labels) - {"le"} == set(family.labels)
    assert found == {}
    assert text.endswith("\n")


def test_requests_are_counted_by_operation_and_outcome(anonymous_client: ApiClient, scrape: Scrape) -> None:
    anonymous_client.call("GetNews")
    anonymous_client.open()
    anonymous_client.login("demo", "wrong")
    anonymous_client.login()
    for action in ("GetNews", "GetNews", "GetFlavors", "NoSuchAction"):
        anonymous_client.call(action)
    anonymous_client.call("GetDomainDetail", domainId="no-such-domain")
    anonymous_client.call("GetDomainDetail")
    anonymous_client.send("POST", "/api/", {"Content-Type": JSON}, b"{}")
    for method in ("HEAD", "OPTIONS", "DELETE"):
        anonymous_client.send(method, "/api/")
    for path in ("/api", "/", "/healthz", "/readyz"):
        anonymous_client.send("GET", path)
    anonymous_client.send("GET", "/api/", {"Host": "evil.example"})
    anonymous_client.logout()
    assert scrape().requests() == {
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


def test_duration_counts_match_request_counts(anonymous_client: ApiClient, scrape: Scrape) -> None:
    anonymous_client.login()
    for action in ("GetNews", "GetFlavors", "GetNews", "Nothing", "GetNews"):
        anonymous_client.call(action)
    page = scrape()
    for operation in layout.OPERATIONS:
        requests = sum(number for (name, _), number in page.requests().items() if name == operation)
        buckets = page.buckets("request_duration_seconds", operation=operation)
        assert len(buckets) == len(layout.SECONDS_BOUNDS) + 1
        assert buckets == sorted(buckets)
        assert buckets[-1] == page.value("request_duration_seconds_count", operation=operation) == requests
        assert (page.value("request_duration_seconds_sum", operation=operation) > 0) == (requests > 0)


def test_a_disconnected_client_is_counted(transport: InProcessTransport, scrape: Scrape) -> None:
    headers = [(b"host", b"localhost"), (b"content-length", b"5")]
    request = Request(Headers(headers), "POST", "/api/")
    assert transport.gather(transport.console.handle(request)) == [None]
    assert scrape().requests() == {("api", "client_gone"): 1}


def test_all_logins_and_rejections_are_counted_by_reason(
    transport: InProcessTransport, anonymous_client: ApiClient, scrape: Scrape
) -> None:
    for _ in range(11):
        anonymous_client.login("demo", "wrong")
    anonymous_client.login("demo", "wrong", region="https://elsewhere.example")
    anonymous_client.call("GetNews")
    transport.console.draining = True
    anonymous_client.send("GET", "/readyz")
    anonymous_client.login()
    page = scrape()
    reasons = {"invalid_credentials": 10, "too_many_requests": 1, "unknown_region": 1}
    assert page.by_label("logins_total", "outcome") == reasons
    assert page.by_label("rejections_total", "reason") == {**reasons, "login_required": 1, "unavailable": 1}
    shown = {sample.labels["reason"] for sample in page.families["cloudconsole_rejections"].samples}
    assert shown == set(layout.REJECTIONS)


def test_sessions_and_accounts_are_counted(transport: InProcessTransport, demo: ApiClient, scrape: Scrape) -> None:
    other = ApiClient(transport)
    other.login("other", "console-other")
    assert scrape().value("sessions") == 2
    other.logout()
    page = scrape()
    assert page.value("sessions") == 1
    assert page.by_label("accounts", "state") == {"enabled": 3}
    assert page.value("store_readable") == 1


def test_store_sizes_and_writes_are_exposed(demo: ApiClient, data: Path, scrape: Scrape) -> None:
    page = scrape()
    assert page.value("store_size_bytes", file="cloud.db") == (data / "cloud.db").stat().st_size
    assert page.value("store_size_bytes", file="activity.db-wal") == (data / "activity.db-wal").stat().st_size
    assert page.value("store_free_bytes") > 0
    # The lookup of earlier failures at login is not a write.
    assert page.value("store_write_duration_seconds_count") == 1
    assert page.value("store_write_duration_seconds_sum") > 0


def test_cache_hits_and_misses_are_counted(transport: InProcessTransport, demo: ApiClient, scrape: Scrape) -> None:
    for action in ("GetNews", "GetNews", "GetNews", "GetFlavors"):
        demo.call(action)
    transport.console.run_periodic_work()
    page = scrape()
    assert page.by_label("response_cache_lookups_total", "result") == {"miss": 2, "hit": 2}
    assert page.value("response_cache_bytes") > 1000


def test_a_failing_store_is_unreadable(demo: ApiClient, data: Path, scrape: Scrape) -> None:
    with sqlite3.connect(data / "activity.db") as store:
        store.execute("ALTER TABLE sessions RENAME TO elsewhere")
    store.close()
    assert demo.call("GetNews").error == "unavailable"
    page = scrape()
    assert page.value("store_readable") == 0
    assert page.value("store_errors_total") == 1
    assert "cloudconsole_sessions" not in page.families
    assert page.value("rejections_total", reason="unavailable") == 1


def test_a_missing_store_is_unreadable_and_not_created(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    text = MetricsExposition(SharedMetrics(1), StoreGauges(settings_for(nowhere), SystemClock())).text()
    assert "cloudconsole_store_readable 0\n" in text
    assert not nowhere.exists()


def test_the_store_is_probed_while_counting_is_paused(
    settings: Settings, shared_metrics: SharedMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = iter([0.0, 1.0, 2.0, 3.0])
    page = MetricsExposition(shared_metrics, StoreGauges(settings, SystemClock(), lambda: next(moments)))

    async def fail(_: RowReader) -> bool:
        raise Unavailable

    exposed = []
    for probe in (health.probe, fail, health.probe):
        monkeypatch.setattr(health, "probe", probe)
        text = page.text()
        exposed.append(("cloudconsole_store_readable 1\n" in text, "cloudconsole_sessions " in text))
    assert exposed == [(True, True), (False, False), (True, True)]


def test_upstream_requests_are_counted_by_service(shared_metrics: SharedMetrics, scrape: Scrape) -> None:
    for worker in range(2):
        observer = UpstreamObserver(shared_metrics.worker(worker))
        for _ in range(3):
            observer.started("load-balancer")
        observer.finished("load-balancer", 2_000_000)
        observer.failed("load-balancer", was_slow=True)
        observer.failed("identity", was_slow=False)
    page = scrape()
    assert page.by_label("upstream_request_duration_seconds_count", "service") == {"load-balancer": 2}
    assert page.value("upstream_request_duration_seconds_sum", service="load-balancer") == 0.004
    assert page.value("upstream_failures_total", service="load-balancer", reason="upstream_timeout") == 2
    assert page.value("upstream_failures_total", service="load-balancer", reason="upstream_failed") == 0
    assert page.value("upstream_failures_total", service="identity", reason="upstream_failed") == 2
    assert page.by_label("upstream_requests_in_flight", "service") == {"load-balancer": 4}


@pytest.mark.usefixtures("transport")
def test_only_running_workers_are_counted(shared_metrics: SharedMetrics, scrape: Scrape) -> None:
    page = scrape()
    assert page.value("workers") == 1
    assert page.value("worker_resident_memory_bytes", worker="0") > 10_000_000
    assert page.by_label("worker_restarts_total", "reason") == {}
    shared_metrics.worker(0).clear_gauges()
    shared_metrics.worker(0).note_restart(layout.FROZEN)
    page = scrape()
    assert page.value("workers") == 0
    assert page.by_label("worker_restarts_total", "reason") == {"frozen": 1}


def test_a_dead_worker_has_no_memory_sample(shared_metrics: SharedMetrics, scrape: Scrape) -> None:
    process = os.fork()
    if not process:
        os._exit(0)
    os.waitpid(process, 0)
    shared_metrics.worker(1).set(layout.PROCESS, process)
    assert scrape().by_label("worker_resident_memory_bytes", "worker") == {}


def test_build_info_and_start_time_are_exposed(scrape: Scrape) -> None:
    page = scrape()
    (build,) = page.families["cloudconsole_build_info"].samples
    assert build.labels["version"] == __version__
    assert page.value("start_time_seconds") == pytest.approx(time.time(), abs=3600)


def test_sums_are_exact_however_large(shared_metrics: SharedMetrics, settings: Settings) -> None:
    shared_metrics.worker(0).count_request("GetNews", "ok", 10**16 + 1)
    text = page_text(shared_metrics, settings)
    assert 'request_duration_seconds_sum{operation="GetNews"} 10000000.000000001\n' in text


def test_counting_is_paused_after_a_slow_count(settings: Settings, demo: ApiClient) -> None:
    pause = PAUSE_FACTOR if settings.database is None else POSTGRES_PAUSE_FACTOR
    moments = iter([0.0, 1.0, pause + 0.9, pause + 1.0, pause + 1.0])
    gauges = StoreGauges(settings, SystemClock(), lambda: next(moments))
    first = gauges.counts()
    demo.logout()
    assert gauges.counts() is first
    again = gauges.counts()
    assert first is not None
    assert again is not None
    assert (first.live_sessions, again.live_sessions) == (1, 0)
