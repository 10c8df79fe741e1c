"""Audit and access log: the fields of each record, and rate limiting of rejections."""

import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from cloudconsole.server.app import Console
from cloudconsole.server.audit_log import RECORDS_PER_SECOND, AuditLog
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.metrics.shared_memory import SharedMetrics, standalone_metrics
from cloudconsole.store.tables import federated_sessions, login_failures, sessions
from tests.harness import ApiClient, FakeClock, InProcessTransport
from tests.server.metrics.conftest import Scrape
from tests.stores import write_transaction


class LoggerRecords:
    """The records of one logger in the running test."""

    def __init__(self, caplog: pytest.LogCaptureFixture, name: str) -> None:
        self._caplog, self._name = caplog, name
        caplog.set_level(logging.INFO, logger=name)

    @property
    def records(self) -> list[logging.LogRecord]:
        return [record for record in self._caplog.records if record.name == self._name]

    @property
    def fields(self) -> list[dict[str, Any]]:
        return [vars(record)["fields"] for record in self.records]

    @property
    def events(self) -> list[str]:
        return [fields["event"] for fields in self.fields]


@pytest.fixture
def audit_log(caplog: pytest.LogCaptureFixture) -> LoggerRecords:
    return LoggerRecords(caplog, "cloudconsole.audit")


@pytest.fixture
def access_log(caplog: pytest.LogCaptureFixture) -> LoggerRecords:
    return LoggerRecords(caplog, "cloudconsole.access")


def test_login_and_logout_are_logged(
    transport: InProcessTransport, anonymous_client: ApiClient, audit_log: LoggerRecords
) -> None:
    transport.address = "192.0.2.7"
    anonymous_client.login()
    anonymous_client.call("GetNews")
    anonymous_client.logout()
    assert audit_log.fields == [
        {"event": event, "user": "demo", "address": "192.0.2.7", "action": event} for event in ("login", "logout")
    ]
    assert {record.levelname for record in audit_log.records} == {"INFO"}


@pytest.fixture
def seconds(transport: InProcessTransport, shared_metrics: SharedMetrics) -> FakeClock:
    """The clock of the rate limit."""
    seconds = FakeClock(100)
    transport.console._observer._audit = transport.console._audit = AuditLog(shared_metrics.worker(0), seconds.now)
    return seconds


def test_a_rejected_login_is_logged_with_its_reason(
    anonymous_client: ApiClient, audit_log: LoggerRecords, seconds: FakeClock
) -> None:
    for _ in range(10):
        anonymous_client.login("demo", "wrong")
    seconds.moment += 1
    anonymous_client.login()
    anonymous_client.login("nobody-we-know", "wrong")
    anonymous_client.login(region="https://elsewhere.example")
    anonymous_client.login(csrfmiddlewaretoken="made-up")
    logged = [(fields["user"], fields["reason"]) for fields in audit_log.fields[9:]]
    assert logged == [
        ("demo", "invalid_credentials"),
        ("demo", "too_many_requests"),
        (None, "invalid_credentials"),
        ("demo", "unknown_region"),
        (None, "csrf_failed"),
    ]
    assert set(audit_log.events) == {"login_refused"}
    assert not any("nobody-we-know" in record.getMessage() for record in audit_log.records)


def test_a_rejected_request_is_logged_with_user_action_and_reason(
    transport: InProcessTransport, demo: ApiClient, audit_log: LoggerRecords
) -> None:
    demo.call("GetDomainDetail", domainId="no-such-domain")
    demo.send("POST", "/api/", {"Content-Type": "application/json"}, b'{"action":"GetNews"}')
    ApiClient(transport).call("GetNews")
    demo.send("GET", "/api/", {"Host": "evil.example"})
    assert [(each["event"], each["user"], each["action"], each["reason"]) for each in audit_log.fields] == [
        ("refused", "demo", "GetDomainDetail", "domain_not_found"),
        ("refused", "demo", "api", "csrf_failed"),
        ("refused", None, "api", "login_required"),
        ("refused", None, "other", "invalid_host"),
    ]
    assert [record.levelname for record in audit_log.records] == ["INFO", "WARNING", "INFO", "WARNING"]


def test_behind_a_proxy_the_clients_address_is_logged(
    settings: Settings, clock: FakeClock, audit_log: LoggerRecords
) -> None:
    transport = InProcessTransport(Console(replace(settings, proxies=(ip_network("127.0.0.1"),)), clock))
    transport.send("GET", "/nowhere", [("X-Forwarded-For", "203.0.113.9")])
    transport.close()
    assert [fields["address"] for fields in audit_log.fields] == ["203.0.113.9"]


def test_a_server_failure_is_logged_only_for_logins(demo: ApiClient, data: Path, audit_log: LoggerRecords) -> None:
    with write_transaction(data, "activity") as connection:
        for table in (login_failures, federated_sessions, sessions):
            table.drop(connection)
    assert demo.call("GetNews").error == "unavailable"
    assert audit_log.records == []
    assert demo.login().error == "unavailable"
    assert [(fields["event"], fields["reason"]) for fields in audit_log.fields] == [("login_refused", "unavailable")]


def test_a_flood_of_one_rejection_is_rate_limited_and_hides_nothing_else(
    transport: InProcessTransport,
    anonymous_client: ApiClient,
    audit_log: LoggerRecords,
    seconds: FakeClock,
    scrape: Scrape,
) -> None:
    for _ in range(RECORDS_PER_SECOND + 3):
        anonymous_client.send("GET", "/nowhere")
        anonymous_client.send("GET", "/api/", {"Host": "evil.example"})
    anonymous_client.call("GetNews")
    anonymous_client.login(region="https://elsewhere.example")
    anonymous_client.login()
    transport.console.run_periodic_work()
    assert Counter((fields["event"], fields.get("reason")) for fields in audit_log.fields) == {
        ("refused", "not_found"): RECORDS_PER_SECOND,
        ("refused", "invalid_host"): RECORDS_PER_SECOND,
        ("refused", "login_required"): 1,
        ("login_refused", "unknown_region"): 1,
        ("login", None): 1,
    }
    seconds.moment += 1
    transport.console.run_periodic_work()
    anonymous_client.send("GET", "/nowhere")
    *suppressed, last = audit_log.fields[-3:]
    fields = {"event": "suppressed", "of": "refused", "number": 3}
    assert suppressed == [{**fields, "reason": reason} for reason in ("not_found", "invalid_host")]
    assert last["event"] == "refused"
    page = scrape()
    assert page.value("rejections_total", reason="not_found") == RECORDS_PER_SECOND + 4
    assert page.value("audit_records_suppressed_total") == 6


def test_suppressed_records_are_logged_at_stop(settings: Settings, clock: FakeClock, audit_log: LoggerRecords) -> None:
    transport = InProcessTransport(Console(settings, clock))
    transport.console._observer._audit = transport.console._audit = AuditLog(standalone_metrics(), FakeClock(100).now)
    for _ in range(RECORDS_PER_SECOND + 1):
        transport.send("GET", "/nowhere", [])
    transport.close()
    assert audit_log.events[-2:] == ["refused", "suppressed"]


@pytest.fixture
def access_logging(settings: Settings, clock: FakeClock) -> Iterator[InProcessTransport]:
    transport = InProcessTransport(Console(replace(settings, access_log=True), clock))
    yield transport
    transport.close()


def test_an_access_record_describes_the_request(access_logging: InProcessTransport, access_log: LoggerRecords) -> None:
    access_logging.address = "192.0.2.7"
    client = ApiClient(access_logging)
    client.login()
    client.call("GetNews")
    fields = access_log.fields[-1]
    assert fields.pop("duration_ms") > 0
    assert fields == {
        "event": "request",
        "method": "POST",
        "path": "/api/",
        "action": "GetNews",
        "user": "demo",
        "status": 200,
        "address": "192.0.2.7",
    }


def test_health_checks_are_not_in_the_access_log(access_logging: InProcessTransport, access_log: LoggerRecords) -> None:
    for method, path in (("GET", "/healthz"), ("GET", "/readyz"), ("POST", "/readyz")):
        access_logging.send(method, path, [])
    assert access_log.records == []
