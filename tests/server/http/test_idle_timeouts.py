"""Connection timeouts: write stalls, and keep-alive between requests."""

from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from cloudconsole.server.http.protocol import ConnectionContext, LimitedProtocol
from cloudconsole.server.http.request import RequestSequence
from cloudconsole.server.metrics.shared_memory import standalone_metrics


class Timer:
    def __init__(self, action: Callable[..., None], *args: Any) -> None:
        self.action: Callable[[], None] | None = lambda: action(*args)

    def cancel(self) -> None:
        self.action = None


class FakeLoop:
    """An event loop whose timers run on demand."""

    def __init__(self) -> None:
        self.timers: list[Timer] = []
        self.now = 1000.0

    def time(self) -> float:
        return self.now

    def call_later(self, _seconds: float, action: Callable[..., None], *args: Any) -> Timer:
        self.timers.append(Timer(action, *args))
        return self.timers[-1]

    def create_task(self, request: Coroutine[Any, Any, None]) -> None:
        """Discard the request; the test itself completes the response."""
        request.close()

    def run_timers(self) -> None:
        timers, self.timers = self.timers, []
        for timer in timers:
            if timer.action:
                timer.action()


class FakeTransport:
    """A connection whose client reads on demand."""

    unsent = 100_000
    aborted = False
    closed = False

    def get_extra_info(self, _name: str) -> None:
        return None

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def set_write_buffer_limits(self, *, high: int) -> None:
        assert high == 1

    def is_closing(self) -> bool:
        return self.aborted or self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True


async def _app(_scope: object, _receive: object, _send: object) -> None:
    raise AssertionError("unexpected request")


class Connection:
    """A connection whose timers and client are fakes."""

    def __init__(self) -> None:
        self.loop, self.transport = FakeLoop(), FakeTransport()
        config = Config(cast("Any", _app), ws="none", lifespan="off", log_config=None, timeout_keep_alive=75)
        context = ConnectionContext(30, 10, RequestSequence(), standalone_metrics())
        self.protocol = LimitedProtocol(config, ServerState(), {}, cast("Any", self.loop), context=context)
        self.protocol.connection_made(cast("Any", self.transport))
        self.loop.timers.clear()

    def run_timers_after(self, seconds: float) -> bool:
        """Let time pass and run all timers; return whether the connection is closed then."""
        self.loop.now += seconds
        self.loop.run_timers()
        return self.transport.closed


@pytest.fixture
def connected() -> Connection:
    return Connection()


@pytest.fixture
def stalled(connected: Connection) -> Connection:
    """A connection that has more to send than its client reads."""
    connected.protocol.pause_writing()
    return connected


@pytest.fixture
def responded(connected: Connection) -> Connection:
    """A connection after its first response."""
    connected.protocol.on_response_complete()
    return connected


def test_a_client_that_makes_progress_stays_connected(stalled: Connection) -> None:
    for _ in range(10):
        stalled.transport.unsent -= 1
        stalled.loop.run_timers()
        assert not stalled.transport.aborted
    stalled.loop.run_timers()
    assert stalled.transport.aborted


def test_a_client_that_catches_up_stays_connected(stalled: Connection) -> None:
    stalled.protocol.resume_writing()
    stalled.loop.run_timers()
    assert not stalled.transport.aborted


def test_keep_alive_is_measured_from_the_last_response(responded: Connection) -> None:
    responded.loop.now += 50
    responded.protocol.on_response_complete()
    assert [responded.run_timers_after(seconds) for seconds in (25, 50)] == [False, True]


def test_a_connection_has_a_single_keep_alive_timer(responded: Connection) -> None:
    for _ in range(10):
        responded.protocol.on_response_complete()
    assert len(responded.loop.timers) == 1


def test_a_slow_request_does_not_count_as_idle(responded: Connection) -> None:
    responded.protocol.data_received(b"POST /api/ HTTP/1.1\r\n")
    responded.loop.now += 100
    responded.protocol.timeout_keep_alive_handler()
    assert not responded.transport.closed
    responded.protocol.on_response_complete()
    responded.loop.now += 75
    responded.protocol.timeout_keep_alive_handler()
    assert responded.transport.closed


def test_keep_alive_starts_at_the_end_of_the_request_body(connected: Connection) -> None:
    connected.protocol.data_received(b"POST /no-such/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    connected.protocol.cycle.response_complete = True
    connected.protocol.on_response_complete()
    connected.loop.now += 11
    connected.protocol.data_received(b"0\r\n\r\n")
    assert [connected.run_timers_after(seconds) for seconds in (64, 11)] == [False, True]


def test_a_lost_connection_has_no_timeouts(responded: Connection) -> None:
    responded.protocol.pause_writing()
    responded.protocol.connection_lost(ConnectionResetError())
    responded.run_timers_after(75)
    assert not responded.transport.is_closing()
