"""Test mode controls while requests are in progress: no request affects the state after them."""

from collections.abc import Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from sqlalchemy import Table

from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.test_mode.clock import ControllableClock, SeededRandomSource
from cloudconsole.server.test_mode.controls import Controls
from cloudconsole.server.test_mode.runtime import ServerRuntime
from cloudconsole.store.tables import login_failures, sessions
from tests.conftest import SAMPLE_TIME
from tests.harness import FORM, JSON, ApiClient, InProcessTransport, Reply
from tests.server.http.helpers import cookie_header, login_fields, rows

PendingReply = Coroutine[Any, Any, Reply]


@pytest.fixture
def transport(settings: Settings) -> Iterator[InProcessTransport]:
    """A console in test mode, in process; requests sent together begin in the given order."""
    clock, seeded = ControllableClock(SAMPLE_TIME, fixed=True), SeededRandomSource("tests")
    console = InProcessTransport(
        Console(settings, runtime=ServerRuntime(clock, seeded, partial(Controls, clock, seeded)))
    )
    yield console
    console.close()


def login(transport: InProcessTransport, password: str = "console-demo") -> PendingReply:
    token = ApiClient(transport).open().cookie("csrftoken") or ""
    fields = login_fields(transport, "demo", password=password, csrfmiddlewaretoken=token)
    headers = [("Content-Type", FORM), *cookie_header(csrftoken=token)]
    return transport.asend("POST", "/auth/login/", headers, urlencode(fields).encode())


def control(transport: InProcessTransport, name: str, body: bytes = b"{}") -> PendingReply:
    return transport.asend("POST", f"/_test/{name}", [("Content-Type", JSON)], body)


@pytest.mark.parametrize(
    ("password", "status", "table"), [("console-demo", 200, sessions), ("wrong", 401, login_failures)]
)
def test_login_during_a_reset_leaves_nothing_in_the_store(
    transport: InProcessTransport, data: Path, password: str, status: int, table: Table
) -> None:
    replies = transport.gather(login(transport, password), control(transport, "reset"))
    assert [reply.status for reply in replies] == [status, 200]
    assert rows(data, table) == []


def test_token_sequence_restarts_after_a_concurrent_reset(transport: InProcessTransport) -> None:
    first = ApiClient(transport).open().set_cookies
    transport.gather(login(transport), control(transport, "reset"))
    assert ApiClient(transport).open().set_cookies == first


def test_request_during_a_reset_waits_for_its_end(transport: InProcessTransport, data: Path) -> None:
    waiting = login(transport)
    replies = transport.gather(login(transport), control(transport, "reset"), waiting)
    assert [reply.status for reply in replies] == [200, 200, 200]
    assert len(rows(data, sessions)) == 1


def test_fault_injected_during_a_reset_survives_it(transport: InProcessTransport) -> None:
    injected = control(transport, "fault", b'{"error": "unavailable"}')
    transport.gather(login(transport), control(transport, "reset"), injected)
    assert ApiClient(transport).open().error == "unavailable"


def test_concurrent_clock_advances_all_count(transport: InProcessTransport) -> None:
    demo = ApiClient(transport)
    assert demo.login().status == 200
    transport.gather(control(transport, "clock", b'{"advance": 100}'))
    # Use of the session is recorded in the background, and every advance waits for that write.
    used = transport.asend("GET", "/api/", cookie_header(**demo.cookies))
    replies = transport.gather(used, *(control(transport, "clock", b'{"advance": 10}') for _ in range(4)))
    assert replies[-1].data["now"] == "2026-11-15T12:22:20Z"


def test_console_serves_again_after_a_failed_reset(transport: InProcessTransport, data: Path) -> None:
    (data / "cloud.db").rename(data / "away.db")
    assert transport.gather(control(transport, "reset"))[0].error == "unavailable"
    (data / "away.db").rename(data / "cloud.db")
    assert ApiClient(transport).open().status == 200
