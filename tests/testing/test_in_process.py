"""A test console in this process: clients, faults, errors at start, and what remains afterwards."""

import asyncio
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cloudconsole import ConnectionFailed, NotFound
from cloudconsole.testing import ConsoleServer, ServerNotStarted, in_process, in_process_console
from tests.e2e.processes import eventually

START = "2026-11-15T00:59:30Z"


@pytest.fixture(scope="module")
def running() -> Iterator[ConsoleServer]:
    with in_process_console(clock=START, clock_fixed=True, seed=7) as server:
        yield server


@pytest.fixture
def server(running: ConsoleServer) -> ConsoleServer:
    """The console of this module, reset."""
    running.reset()
    return running


def test_client_is_served_without_a_socket(server: ConsoleServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("a connection")

    monkeypatch.setattr(socket.socket, "connect", fail)
    with server.client() as client:
        assert client.usage_limits().instances.used == 4
        assert client.with_options(request_id="mine").domain("206813").id == "206813"
        with pytest.raises(NotFound):
            client.domain("1")
    assert server.requests[-2].request_id == "mine"


def test_accounts_have_clients_of_their_own(server: ConsoleServer) -> None:
    with server.client("other") as other, server.client() as demo:
        assert other.urls() != demo.urls()


def test_account_without_a_password_is_an_error(server: ConsoleServer) -> None:
    with pytest.raises(ValueError, match="'nobody'; known: demo, other, operator"):
        server.client("nobody")


def test_async_client_is_served(server: ConsoleServer) -> None:
    async def use() -> None:
        async with server.async_client() as client:
            assert (await client.usage_limits()).instances.used == 4

    asyncio.run(use())


def test_concurrent_requests_are_served_concurrently(server: ConsoleServer) -> None:
    server.fault(delay=60, call="GetNews")

    async def use() -> None:
        async with server.async_client() as client:
            await client.login()
            delayed = asyncio.create_task(client.with_options(retries=0).news())
            while server.faults():  # noqa: ASYNC110 - until the console has received the call
                await asyncio.sleep(0)
            assert await client.urls()
            assert not delayed.done()
            server.reset()
            with pytest.raises(ConnectionFailed, match="connection was lost"):
                await delayed

    asyncio.run(use())


def test_clock_content_and_journal_are_controlled(server: ConsoleServer) -> None:
    server.load({"news": []})
    server.advance(30)
    with server.client() as client:
        assert client.news() == []
    assert [request.call for request in server.requests] == ["welcome", "login", "GetNews"]
    assert server.requests[0].time.isoformat() == "2026-11-15T01:00:00+00:00"


def test_dropped_connection_is_a_lost_connection(server: ConsoleServer) -> None:
    with server.client(retries=0) as client:
        client.login()
        server.fault(drop=True)
        with pytest.raises(ConnectionFailed, match="lost"):
            client.news()
    assert server.requests[-1].status is None


def test_delay_beyond_the_timeout_is_a_timeout(server: ConsoleServer) -> None:
    with server.client(retries=0) as client:
        client.login()
        server.fault(delay=60)
        with pytest.raises(ConnectionFailed, match="in time"):
            client.with_options(timeout=0.05).news()
        server.requests.assert_received("GetNews", times=1)
        assert server.requests[-1].status is None
        assert client.urls()


def test_cancelled_call_leaves_no_waiting_thread(server: ConsoleServer) -> None:
    async def cancel_a_delayed_call() -> None:
        client = server.async_client()
        await client.login()
        server.fault(delay=60)
        call = asyncio.create_task(client.news())
        while server.faults():  # noqa: ASYNC110 - until the console has received the call
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert [request.status for request in server.requests.filter("GetNews")] == [None]

    asyncio.run(cancel_a_delayed_call())
    # The thread itself ends a moment after the event loop.
    eventually(lambda: not any("AnyIO worker" in thread.name for thread in threading.enumerate()))


def test_any_client_of_httpx2_can_use_the_transport(server: ConsoleServer) -> None:
    with httpx2.Client(transport=server.transport(), base_url=server.address) as client:
        response = client.get("/api/", headers={"Accept-Language": "zh"})
        assert (response.status_code, response.json()["code"]) == (200, 200)
        assert set(response.cookies) == {"csrftoken", "sessionid"}
        assert client.head("/api/").content == b""
        assert client.get("/nowhere").status_code == 404
        assert client.post("/api/", content=iter([b"{", b"}"])).json()["error"] == "unsupported_media_type"


@pytest.mark.parametrize(
    ("control", "error", "problem"),
    [
        (lambda server: server.set_clock("soon"), ValueError, "^moment must be a time such as"),
        (lambda server: server.set_clock("1900-01-01T00:00:00Z"), ValueError, "^moment must be a time from"),
        (lambda server: server.set_clock(7), TypeError, "^moment must be a datetime"),
        (lambda server: server.advance(1e15), ValueError, "^by must be a number from"),
        (lambda server: server.fault(), ValueError, "^fault needs an error, a status, drop or a delay$"),
        (lambda server: server.advance("5"), TypeError, "^by must be a number of seconds or a timedelta"),
    ],
)
def test_wrong_argument_of_a_method_names_its_parameter(
    server: ConsoleServer, control: Callable[[Any], Any], error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=problem):
        control(server)


def test_nothing_remains_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUDCONSOLE_PORT", "nonsense")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = threading.active_count()
    with in_process_console() as server, server.client() as client:
        client.login()
        assert list(tmp_path.iterdir())
        server.fault(delay=60)
        # Nobody waits for this one.
        server._app.submit("GET", "/api/", [(b"host", b"localhost")], b"")  # type: ignore[attr-defined]
        while server.faults():
            pass
    assert threading.active_count() == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"clock": "1900-01-01T00:00:00Z"}, "--clock: "),
        ({"cloud": __file__}, __file__),
        ({"flags": ["--nonsense"]}, "nonsense"),
        ({"flags": ["--data", "/tmp"]}, "remove data and database"),
        ({"flags": ["--workers", "2"]}, "needs one worker"),
    ],
)
def test_value_that_the_console_rejects_is_a_value_error(arguments: dict[str, Any], problem: str) -> None:
    before = threading.active_count()
    with pytest.raises(ValueError, match=problem), in_process_console(**arguments):
        pass
    assert threading.active_count() == before


def test_startup_error_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_process, "SERVER_MODULE", "cloudconsole.no_server")
    with pytest.raises(ServerNotStarted, match=r"install cloudconsole\[server\]"), in_process_console():
        pass


@pytest.mark.parametrize(
    ("arguments", "error", "problem"),
    [
        ({"flags": "--any-region"}, TypeError, "flags must be a list of str"),
        ({"flags": [7]}, TypeError, "flags must be a list of str"),
        ({"cloud": {"news": []}}, TypeError, "call load"),
        ({"seed": 1.5}, TypeError, "seed must be a str or int"),
        ({"clock": 7}, TypeError, "clock must be a datetime"),
        ({"clock": "soon"}, ValueError, "clock must be a time such as 2026-11-15T12:00:00Z, not 'soon'"),
        ({"clock": datetime(2026, 1, 1)}, ValueError, "clock must have a time zone"),  # noqa: DTZ001
        ({"cloud": "no/such.yaml"}, ValueError, "cloud: there is no file no/such.yaml"),
        ({"accounts": ["demo"]}, TypeError, "accounts must map usernames to passwords, both str"),
        ({"accounts": {"demo": 5}}, TypeError, "accounts must map usernames to passwords, both str"),
    ],
)
def test_wrong_arguments_are_rejected(arguments: dict[str, Any], error: type[Exception], problem: str) -> None:
    with pytest.raises(error, match=problem), in_process_console(**arguments):
        pass
