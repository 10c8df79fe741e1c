"""Forwarded headers from someone who is not among the proxies: noted, seldom, and never more than a few."""

import logging
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path

import pytest

from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.proxy import MAX_ADDRESSES
from cloudconsole.store.tables import undeclared_proxies
from tests.harness import HeaderPairs, HeldClock, InProcess
from tests.server.http.conftest import StartConsole
from tests.server.http.world import rows, settle


def call(wire: InProcess, address: str, headers: HeaderPairs) -> None:
    wire.address = address
    assert wire.send("GET", "/api/", headers).status == 200
    settle(wire)


def noted(data: Path) -> dict[str, int]:
    return {row.address: row.seen_at for row in rows(data, undeclared_proxies)}


@pytest.mark.parametrize("name", ["X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host"])
def test_each_forwarded_header_is_noticed(
    wire: InProcess, data: Path, clock: HeldClock, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    with caplog.at_level(logging.WARNING):
        call(wire, "10.0.0.7", [(name, "https")])
    assert noted(data) == {"10.0.0.7": int(clock.now())}
    assert "ignoring forwarded headers from 10.0.0.7" in caplog.text


def test_a_call_without_them_is_not(wire: InProcess, data: Path) -> None:
    call(wire, "10.0.0.7", [("X-Request-ID", "one")])
    assert noted(data) == {}


def test_a_declared_proxy_is_not(data: Path, settings: Settings, start_console: StartConsole) -> None:
    wire = start_console(replace(settings, proxies=(ip_network("10.0.0.0/8"),)))
    call(wire, "10.0.0.7", [("X-Forwarded-For", "192.0.2.1")])
    assert noted(data) == {}


def test_an_address_is_noted_once_an_hour(
    wire: InProcess, data: Path, clock: HeldClock, caplog: pytest.LogCaptureFixture
) -> None:
    first = int(clock.now())
    for later, seen_at in ((0, first), (3599, first), (3600, first + 3600)):
        clock.moment = first + later
        call(wire, "10.0.0.7", [("X-Forwarded-For", "192.0.2.1")])
        assert noted(data) == {"10.0.0.7": seen_at}
    assert caplog.text.count("ignoring forwarded headers from 10.0.0.7") == 2


def test_whoever_invents_addresses_fills_nothing(wire: InProcess, data: Path, clock: HeldClock) -> None:
    for number in range(MAX_ADDRESSES + 10):
        wire.address = f"198.51.100.{number}"
        wire.send("GET", "/api/", [("X-Forwarded-For", "192.0.2.1")])
    settle(wire)
    assert len(noted(data)) == MAX_ADDRESSES
    clock.moment += 3600
    call(wire, "203.0.113.1", [("X-Forwarded-For", "192.0.2.1")])
    assert "203.0.113.1" in noted(data)


def test_what_is_older_than_a_day_is_forgotten(wire: InProcess, data: Path, clock: HeldClock) -> None:
    call(wire, "10.0.0.7", [("X-Forwarded-For", "192.0.2.1")])
    clock.moment += 24 * 3600
    call(wire, "10.0.0.8", [("X-Forwarded-For", "192.0.2.1")])
    assert set(noted(data)) == {"10.0.0.8"}
