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


@pytest.fixture
def loop() -> FakeLoop:
    return FakeLoop()


@pytest.fixture
def transport() -> FakeTransport:
    return FakeTransport()


@pytest.fixture
def connected(loop: FakeLoop, transport: FakeTransport) -> LimitedProtocol:
    config = Config(cast("Any", _app), ws="none", lifespan="off", log_config=None, timeout_keep_alive=75)
    context = ConnectionContext(30, 10, RequestSequence(), standalone_metrics())
    protocol = LimitedProtocol(config, ServerState(), {}, cast("Any", loop), context=context)
    protocol.connection_made(cast("Any", transport))
    loop.timers.clear()
    return protocol


@pytest.fixture
def stalled(connected: LimitedProtocol) -> LimitedProtocol:
    """A connection that has more to send than its client reads."""
    connected.pause_writing()
    return connected


@pytest.fixture
def responded(connected: LimitedProtocol) -> LimitedProtocol:
    """A connection after its first response."""
    connected.on_response_complete()
    return connected


@pytest.mark.usefixtures("stalled")
def test_a_client_that_makes_progress_stays_connected(loop: FakeLoop, transport: FakeTransport) -> None:
    for _ in range(10):
        transport.unsent -= 1
        loop.run_timers()
        assert not transport.aborted
    loop.run_timers()
    assert transport.aborted


def test_a_client_that_catches_up_stays_connected(
    loop: FakeLoop, transport: FakeTransport, stalled: LimitedProtocol
) -> None:
    stalled.resume_writing()
    loop.run_timers()
    assert not transport.aborted


def test_keep_alive_is_measured_from_the_last_response(
    loop: FakeLoop, transport: FakeTransport, responded: LimitedProtocol
) -> None:
    loop.now += 50
    responded.on_response_complete()
    loop.now += 25
    loop.run_timers()
    assert not transport.closed
    loop.now += 50
    loop.run_timers()
    assert transport.closed


def test_a_connection_has_a_single_keep_alive_timer(loop: FakeLoop, responded: LimitedProtocol) -> None:
    for _ in range(10):
        responded.on_response_complete()
    assert len(loop.timers) == 1


def test_a_slow_request_does_not_count_as_idle(
    loop: FakeLoop, transport: FakeTransport, responded: LimitedProtocol
) -> None:
    responded.data_received(b"POST /api/ HTTP/1.1\r\n")
    loop.now += 100
    responded.timeout_keep_alive_handler()
    assert not transport.closed
    responded.on_response_complete()
    loop.now += 75
    responded.timeout_keep_alive_handler()
    assert transport.closed


def test_keep_alive_starts_at_the_end_of_the_request_body(
    loop: FakeLoop, transport: FakeTransport, connected: LimitedProtocol
) -> None:
    connected.data_received(b"POST /no-such/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    connected.cycle.response_complete = True
    connected.on_response_complete()
    loop.now += 11
    connected.data_received(b"0\r\n\r\n")
    loop.now += 64
    loop.run_timers()
    assert not transport.closed
    loop.now += 11
    loop.run_timers()
    assert transport.closed


def test_a_lost_connection_has_no_timeouts(
    loop: FakeLoop, transport: FakeTransport, responded: LimitedProtocol
) -> None:
    responded.pause_writing()
    responded.connection_lost(ConnectionResetError())
    loop.now += 75
    loop.run_timers()
    assert not transport.is_closing()
