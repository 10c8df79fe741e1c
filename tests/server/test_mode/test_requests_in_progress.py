"""Steering a console while calls are under way: none of them reaches into what comes after."""

from collections.abc import Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.test_mode.clock import ControllableClock, SeededRandomSource
from cloudconsole.server.test_mode.controls import Controls
from cloudconsole.server.test_mode.runtime import ServerRuntime
from cloudconsole.store.tables import login_failures, sessions
from tests.conftest import NOON
from tests.harness import FORM, JSON, Caller, InProcess, Reply
from tests.server.http.world import cookie_header, login_fields, rows

Call = Coroutine[Any, Any, Reply]


@pytest.fixture
def wire(settings: Settings) -> Iterator[InProcess]:
    """A console in test mode and in process, where calls made together begin in the order they are named."""
    clock, seeded = ControllableClock(NOON, fixed=True), SeededRandomSource("tests")
    console = InProcess(Console(settings, runtime=ServerRuntime(clock, seeded, partial(Controls, clock, seeded))))
    yield console
    console.close()


def login(wire: InProcess, password: str = "console-demo") -> Call:
    token = Caller(wire).open().cookie("csrftoken") or ""
    fields = login_fields(wire, "demo", password=password, csrfmiddlewaretoken=token)
    headers = [("Content-Type", FORM), *cookie_header(csrftoken=token)]
    return wire.asend("POST", "/auth/login/", headers, urlencode(fields).encode())


def control(wire: InProcess, name: str, body: bytes = b"{}") -> Call:
    return wire.asend("POST", f"/_test/{name}", [("Content-Type", JSON)], body)


def test_a_session_being_opened_does_not_outlive_a_reset(wire: InProcess, data: Path) -> None:
    replies = wire.together(login(wire), control(wire, "reset"))
    assert [reply.status for reply in replies] == [200, 200]
    assert rows(data, sessions) == []


def test_a_failure_being_found_is_not_counted_after_a_reset(wire: InProcess, data: Path) -> None:
    replies = wire.together(login(wire, "wrong"), control(wire, "reset"))
    assert [reply.status for reply in replies] == [401, 200]
    assert rows(data, login_failures) == []


def test_tokens_come_in_their_order_after_it(wire: InProcess) -> None:
    first = Caller(wire).open().set_cookies
    wire.together(login(wire), control(wire, "reset"))
    assert Caller(wire).open().set_cookies == first


def test_what_comes_during_a_reset_waits_for_its_end(wire: InProcess, data: Path) -> None:
    waiting = login(wire)
    replies = wire.together(login(wire), control(wire, "reset"), waiting)
    assert [reply.status for reply in replies] == [200, 200, 200]
    assert len(rows(data, sessions)) == 1


def test_a_fault_ordered_during_a_reset_comes_after_it(wire: InProcess) -> None:
    ordered = control(wire, "fault", b'{"error": "unavailable"}')
    wire.together(login(wire), control(wire, "reset"), ordered)
    assert Caller(wire).open().error == "unavailable"


def test_no_advance_is_lost(wire: InProcess) -> None:
    demo = Caller(wire)
    assert demo.login().status == 200
    wire.together(control(wire, "clock", b'{"advance": 100}'))
    # Its use is written down behind it, and every advance waits for that.
    used = wire.asend("GET", "/api/", cookie_header(**demo.cookies))
    replies = wire.together(used, *(control(wire, "clock", b'{"advance": 10}') for _ in range(4)))
    assert replies[-1].data["now"] == "2026-11-15T12:22:20Z"


def test_the_console_opens_again_where_a_reset_fails(wire: InProcess, data: Path) -> None:
    (data / "cloud.db").rename(data / "away.db")
    assert wire.together(control(wire, "reset"))[0].error == "unavailable"
    (data / "away.db").rename(data / "cloud.db")
    assert Caller(wire).open().status == 200
