"""Forwarded headers from undeclared proxies: recorded at most hourly, and for a limited number of addresses."""

import logging
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path

import pytest

from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.proxy import MAX_ADDRESSES
from cloudconsole.store.tables import undeclared_proxies
from tests.harness import FakeClock, HeaderPairs, InProcessTransport
from tests.server.http.conftest import StartConsole
from tests.server.http.helpers import drain_tasks, rows


def send(transport: InProcessTransport, address: str, headers: HeaderPairs) -> None:
    transport.address = address
    assert transport.send("GET", "/api/", headers).status == 200
    drain_tasks(transport)


def recorded(data: Path) -> dict[str, int]:
    return {row.address: row.seen_at for row in rows(data, undeclared_proxies)}


@pytest.mark.parametrize("name", ["X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host"])
def test_each_forwarded_header_is_recorded(
    transport: InProcessTransport, data: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    with caplog.at_level(logging.WARNING):
        send(transport, "10.0.0.7", [(name, "https")])
    assert recorded(data) == {"10.0.0.7": int(clock.now())}
    assert "ignoring forwarded headers from 10.0.0.7" in caplog.text


def test_a_request_without_forwarded_headers_is_not_recorded(transport: InProcessTransport, data: Path) -> None:
    send(transport, "10.0.0.7", [("X-Request-ID", "one")])
    assert recorded(data) == {}


def test_a_declared_proxy_is_not_recorded(data: Path, settings: Settings, start_console: StartConsole) -> None:
    transport = start_console(replace(settings, proxies=(ip_network("10.0.0.0/8"),)))
    send(transport, "10.0.0.7", [("X-Forwarded-For", "192.0.2.1")])
    assert recorded(data) == {}


def test_an_address_is_recorded_once_an_hour(
    transport: InProcessTransport, data: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    first = int(clock.now())
    for later, seen_at in ((0, first), (3599, first), (3600, first + 3600)):
        clock.moment = first + later
        send(transport, "10.0.0.7", [("X-Forwarded-For", "192.0.2.1")])
        assert recorded(data) == {"10.0.0.7": seen_at}
    assert caplog.text.count("ignoring forwarded headers from 10.0.0.7") == 2


def test_the_number_of_recorded_addresses_is_limited(
    transport: InProcessTransport, data: Path, clock: FakeClock
) -> None:
    for number in range(MAX_ADDRESSES + 10):
        transport.address = f"198.51.100.{number}"
        transport.send("GET", "/api/", [("X-Forwarded-For", "192.0.2.1")])
    drain_tasks(transport)
    assert len(recorded(data)) == MAX_ADDRESSES
    clock.moment += 3600
    send(transport, "203.0.113.1", [("X-Forwarded-For", "192.0.2.1")])
    assert "203.0.113.1" in recorded(data)


def test_records_older_than_a_day_are_deleted(transport: InProcessTransport, data: Path, clock: FakeClock) -> None:
    send(transport, "10.0.0.7", [("X-Forwarded-For", "192.0.2.1")])
    clock.moment += 24 * 3600
    send(transport, "10.0.0.8", [("X-Forwarded-For", "192.0.2.1")])
    assert set(recorded(data)) == {"10.0.0.8"}
