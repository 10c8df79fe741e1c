"""Audit and access lines: what each carries, and that a flood of refusals leaves few."""

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
from tests.harness import Caller, HeldClock, InProcess
from tests.server.metrics.conftest import Scrape
from tests.stores import changing


class Lines(logging.Handler):
    """The lines of one logger."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    @property
    def fields(self) -> list[dict[str, Any]]:
        return [vars(record)["fields"] for record in self.records]

    @property
    def events(self) -> list[str]:
        return [fields["event"] for fields in self.fields]


def lines_of(name: str) -> Iterator[Lines]:
    logger, lines = logging.getLogger(name), Lines()
    level = logger.level
    logger.addHandler(lines)
    logger.setLevel(logging.INFO)
    yield lines
    logger.removeHandler(lines)
    logger.setLevel(level)


@pytest.fixture
def audited() -> Iterator[Lines]:
    yield from lines_of("cloudconsole.audit")


@pytest.fixture
def accessed() -> Iterator[Lines]:
    yield from lines_of("cloudconsole.access")


def test_a_login_and_a_logout_leave_a_line_each(wire: InProcess, visitor: Caller, audited: Lines) -> None:
    wire.address = "192.0.2.7"
    visitor.login()
    visitor.call("GetNews")
    visitor.logout()
    assert audited.fields == [
        {"event": event, "user": "demo", "address": "192.0.2.7", "action": event} for event in ("login", "logout")
    ]
    assert {record.levelname for record in audited.records} == {"INFO"}


def test_a_refused_login_leaves_its_reason(
    wire: InProcess, visitor: Caller, audited: Lines, board: SharedMetrics, clock: HeldClock
) -> None:
    wire.console._observer._audit = AuditLog(board.worker(0), clock.now)
    for _ in range(10):
        visitor.login("demo", "wrong")
    clock.moment += 1
    visitor.login()
    visitor.login("nobody-we-know", "wrong")
    visitor.login(region="https://elsewhere.example")
    visitor.login(csrfmiddlewaretoken="made-up")
    told = [(fields["user"], fields["reason"]) for fields in audited.fields[9:]]
    assert told == [
        ("demo", "invalid_credentials"),
        ("demo", "too_many_requests"),
        (None, "invalid_credentials"),
        ("demo", "unknown_region"),
        (None, "csrf_failed"),
    ]
    assert set(audited.events) == {"login_refused"}
    assert not any("nobody-we-know" in record.getMessage() for record in audited.records)


def test_a_refused_call_leaves_who_what_and_why(wire: InProcess, demo: Caller, audited: Lines) -> None:
    demo.call("GetDomainDetail", domainId="no-such-domain")
    demo.send("POST", "/api/", {"Content-Type": "application/json"}, b'{"action":"GetNews"}')
    Caller(wire).call("GetNews")
    demo.send("GET", "/api/", {"Host": "evil.example"})
    assert [(each["event"], each["user"], each["action"], each["reason"]) for each in audited.fields] == [
        ("refused", "demo", "GetDomainDetail", "domain_not_found"),
        ("refused", "demo", "api", "csrf_failed"),
        ("refused", None, "api", "login_required"),
        ("refused", None, "other", "invalid_host"),
    ]
    assert [record.levelname for record in audited.records] == ["INFO", "WARNING", "INFO", "WARNING"]


def test_behind_a_proxy_the_callers_own_address_is_told(settings: Settings, clock: HeldClock, audited: Lines) -> None:
    console = Console(replace(settings, proxies=(ip_network("127.0.0.1"),)), clock)
    wire = InProcess(console)
    wire.send("GET", "/nowhere", [("X-Forwarded-For", "203.0.113.9")])
    wire.close()
    assert [fields["address"] for fields in audited.fields] == ["203.0.113.9"]


def test_our_own_failure_is_no_refusal_but_keeps_a_login_out(
    wire: InProcess, demo: Caller, data: Path, audited: Lines
) -> None:
    with changing(data, "activity") as connection:
        for table in (login_failures, federated_sessions, sessions):
            table.drop(connection)
    assert demo.call("GetNews").error == "unavailable"
    assert audited.records == []
    assert demo.login().error == "unavailable"
    assert [(fields["event"], fields["reason"]) for fields in audited.fields] == [("login_refused", "unavailable")]


class Seconds:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_flood_of_refusals_leaves_few_lines_and_says_how_many_it_left_out(
    wire: InProcess, visitor: Caller, audited: Lines, board: SharedMetrics, scrape: Scrape
) -> None:
    seconds = Seconds()
    wire.console._observer._audit = wire.console._audit = AuditLog(board.worker(0), seconds)
    for _ in range(RECORDS_PER_SECOND + 30):
        visitor.send("GET", "/nowhere")
    assert len(audited.records) == RECORDS_PER_SECOND
    wire.console.take_readings()
    assert len(audited.records) == RECORDS_PER_SECOND

    seconds.now += 1
    wire.console.take_readings()
    assert audited.fields[-1] == {"event": "suppressed", "of": "refused", "reason": "not_found", "number": 30}
    visitor.send("GET", "/nowhere")
    assert audited.events[-2:] == ["suppressed", "refused"]
    page = scrape()
    assert page.value("rejections_total", reason="not_found") == RECORDS_PER_SECOND + 31
    assert page.value("audit_records_suppressed_total") == 30


def test_a_flood_of_one_refusal_hides_no_other(
    wire: InProcess, visitor: Caller, audited: Lines, board: SharedMetrics, scrape: Scrape
) -> None:
    seconds = Seconds()
    wire.console._observer._audit = wire.console._audit = AuditLog(board.worker(0), seconds)
    for _ in range(RECORDS_PER_SECOND + 3):
        visitor.send("GET", "/nowhere")
        visitor.send("GET", "/api/", {"Host": "evil.example"})
    visitor.call("GetNews")
    visitor.login(region="https://elsewhere.example")
    told = [(fields["event"], fields["reason"]) for fields in audited.fields]
    assert Counter(told) == {
        ("refused", "not_found"): RECORDS_PER_SECOND,
        ("refused", "invalid_host"): RECORDS_PER_SECOND,
        ("refused", "login_required"): 1,
        ("login_refused", "unknown_region"): 1,
    }
    seconds.now += 1
    wire.console.take_readings()
    assert audited.fields[-2:] == [
        {"event": "suppressed", "of": "refused", "reason": reason, "number": 3}
        for reason in ("not_found", "invalid_host")
    ]
    assert scrape().value("audit_records_suppressed_total") == 6


def test_what_was_left_out_is_told_at_the_end(settings: Settings, clock: HeldClock, audited: Lines) -> None:
    wire = InProcess(Console(settings, clock))
    wire.console._observer._audit = wire.console._audit = AuditLog(standalone_metrics(), Seconds())
    for _ in range(RECORDS_PER_SECOND + 1):
        wire.send("GET", "/nowhere", [])
    wire.close()
    assert audited.events[-2:] == ["refused", "suppressed"]


def test_a_flood_hides_neither_logins_nor_those_refused(
    wire: InProcess, visitor: Caller, audited: Lines, board: SharedMetrics
) -> None:
    wire.console._observer._audit = AuditLog(board.worker(0), Seconds())
    for _ in range(RECORDS_PER_SECOND + 1):
        visitor.send("GET", "/nowhere")
    visitor.login("demo", "wrong")
    visitor.login()
    assert audited.events[-2:] == ["login_refused", "login"]


# Access lines.


@pytest.fixture
def talkative(settings: Settings, clock: HeldClock) -> Iterator[InProcess]:
    wire = InProcess(Console(replace(settings, access_log=True), clock))
    yield wire
    wire.close()


def test_an_access_line_carries_what_is_known_of_the_call(talkative: InProcess, accessed: Lines) -> None:
    talkative.address = "192.0.2.7"
    caller = Caller(talkative)
    caller.login()
    accessed.records.clear()
    caller.call("GetNews")
    (fields,) = accessed.fields
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


def test_health_checks_leave_no_line(talkative: InProcess, accessed: Lines) -> None:
    talkative.send("GET", "/healthz", [])
    talkative.send("GET", "/readyz", [])
    talkative.send("POST", "/readyz", [])
    assert accessed.records == []
    talkative.send("GET", "/api/", [])
    assert len(accessed.records) == 1


def test_without_the_setting_there_are_none(wire: InProcess, accessed: Lines) -> None:
    wire.send("GET", "/api/", [])
    assert accessed.records == []
