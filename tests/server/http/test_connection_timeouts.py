"""How long a caller may take: to read as long as it makes progress, and a while from one call to the next."""

from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from cloudconsole.server.http.connection_limits import ConnectionContext, LimitedProtocol
from cloudconsole.server.http.request import RequestSequence
from cloudconsole.server.metrics.shared_memory import standalone_metrics


class Timer:
    def __init__(self, action: Callable[..., None], *args: Any) -> None:
        self.action: Callable[[], None] | None = lambda: action(*args)

    def cancel(self) -> None:
        self.action = None


class HeldLoop:
    """An event loop whose timers run when they are told to."""

    def __init__(self) -> None:
        self.timers: list[Timer] = []
        self.now = 1000.0

    def time(self) -> float:
        return self.now

    def call_later(self, _seconds: float, action: Callable[..., None], *args: Any) -> Timer:
        self.timers.append(Timer(action, *args))
        return self.timers[-1]

    def create_task(self, call: Coroutine[Any, Any, None]) -> None:
        """Nobody answers but the test."""
        call.close()

    def let_time_pass(self) -> None:
        timers, self.timers = self.timers, []
        for timer in timers:
            if timer.action:
                timer.action()


class FullTransport:
    """A connection whose other side reads when it is told to."""

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


async def _nothing(_scope: object, _receive: object, _send: object) -> None:
    raise AssertionError("nobody calls")


@pytest.fixture
def loop() -> HeldLoop:
    return HeldLoop()


@pytest.fixture
def transport() -> FullTransport:
    return FullTransport()


@pytest.fixture
def connected(loop: HeldLoop, transport: FullTransport) -> LimitedProtocol:
    config = Config(cast("Any", _nothing), ws="none", lifespan="off", log_config=None, timeout_keep_alive=75)
    context = ConnectionContext(30, 10, RequestSequence(), standalone_metrics())
    protocol = LimitedProtocol(config, ServerState(), {}, cast("Any", loop), context=context)
    protocol.connection_made(cast("Any", transport))
    loop.timers.clear()
    return protocol


@pytest.fixture
def stalled(connected: LimitedProtocol) -> LimitedProtocol:
    """A connection that has more to send than the other side reads."""
    connected.pause_writing()
    return connected


@pytest.fixture
def answered(connected: LimitedProtocol) -> LimitedProtocol:
    """A connection whose caller has its first answer."""
    connected.on_response_complete()
    return connected


@pytest.mark.usefixtures("stalled")
def test_a_caller_that_reads_nothing_is_cut_off(loop: HeldLoop, transport: FullTransport) -> None:
    loop.let_time_pass()
    assert transport.aborted


@pytest.mark.usefixtures("stalled")
def test_a_caller_that_reads_a_little_goes_on(loop: HeldLoop, transport: FullTransport) -> None:
    for _ in range(10):
        transport.unsent -= 1
        loop.let_time_pass()
        assert not transport.aborted
    loop.let_time_pass()
    assert transport.aborted


def test_a_caller_that_has_read_enough_is_left_alone(
    loop: HeldLoop, transport: FullTransport, stalled: LimitedProtocol
) -> None:
    stalled.resume_writing()
    loop.let_time_pass()
    assert not transport.aborted


def test_a_connection_that_is_gone_leaves_nothing_behind(
    loop: HeldLoop, transport: FullTransport, stalled: LimitedProtocol
) -> None:
    stalled.connection_lost(ConnectionResetError())
    loop.let_time_pass()
    assert not transport.aborted


@pytest.mark.usefixtures("answered")
def test_a_caller_that_does_not_call_again_is_let_go(loop: HeldLoop, transport: FullTransport) -> None:
    loop.now += 75
    loop.let_time_pass()
    assert transport.closed


def test_a_pause_is_measured_from_the_last_answer(
    loop: HeldLoop, transport: FullTransport, answered: LimitedProtocol
) -> None:
    loop.now += 50
    answered.on_response_complete()
    loop.now += 25
    loop.let_time_pass()
    assert not transport.closed
    loop.now += 50
    loop.let_time_pass()
    assert transport.closed


def test_all_pauses_of_a_connection_have_one_timer(loop: HeldLoop, answered: LimitedProtocol) -> None:
    for _ in range(10):
        answered.on_response_complete()
    assert len(loop.timers) == 1


def test_a_call_that_takes_longer_than_a_pause_may_is_no_pause(
    loop: HeldLoop, transport: FullTransport, answered: LimitedProtocol
) -> None:
    answered.data_received(b"POST /api/ HTTP/1.1\r\n")
    loop.now += 100
    answered.timeout_keep_alive_handler()
    assert not transport.closed
    answered.on_response_complete()
    loop.now += 75
    answered.timeout_keep_alive_handler()
    assert transport.closed


def test_a_pause_begins_at_the_end_of_a_request_that_was_answered_before(
    loop: HeldLoop, transport: FullTransport, connected: LimitedProtocol
) -> None:
    connected.data_received(b"POST /no-such/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    connected.cycle.response_complete = True
    connected.on_response_complete()
    loop.now += 11
    connected.data_received(b"0\r\n\r\n")
    loop.now += 64
    loop.let_time_pass()
    assert not transport.closed
    loop.now += 11
    loop.let_time_pass()
    assert transport.closed


def test_a_connection_that_is_gone_is_watched_no_more(
    loop: HeldLoop, transport: FullTransport, answered: LimitedProtocol
) -> None:
    answered.connection_lost(ConnectionResetError())
    loop.now += 75
    loop.let_time_pass()
    assert not transport.closed
