"""A wire that can fail."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from random import Random
from time import monotonic

import pytest
from cluster.faulty_wire import HOST, FaultyWire

from tests.e2e.processes import eventually

A_WHILE = 0.2
"""Seconds in which what would come does come, mostly; a test that hears nothing in it passes wrongly now and then."""
LONG = 30


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server((HOST, 0), backlog=300) as listening:
        listening.settimeout(LONG)
        yield listening


@pytest.fixture
def wire(listener: socket.socket) -> Iterator[FaultyWire]:
    with FaultyWire(listener.getsockname()[1]) as made:
        yield made


class Ends:
    """The two ends of a connection through a wire."""

    def __init__(self, wire: FaultyWire, listener: socket.socket) -> None:
        self.near = call(wire)
        self.far, _ = listener.accept()
        self.far.settimeout(LONG)

    def close(self) -> None:
        self.near.close()
        self.far.close()


def call(wire: FaultyWire) -> socket.socket:
    return socket.create_connection((HOST, wire.port), timeout=LONG)


@pytest.fixture
def ends(wire: FaultyWire, listener: socket.socket) -> Iterator[Ends]:
    with closing(Ends(wire, listener)) as both:
        yield both


@contextmanager
def hearing_nothing(*connections: socket.socket) -> Iterator[None]:
    """What is done within comes through to none of them, and none of them ends."""
    yield
    for connection in connections:
        connection.settimeout(A_WHILE)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        connection.settimeout(LONG)


def received(connection: socket.socket, length: int) -> bytes:
    parts = bytearray()
    while len(parts) < length:
        part = connection.recv(length - len(parts))
        assert part, f"it ended after {len(parts)} bytes"
        parts += part
    return bytes(parts)


def all_there_is(connection: socket.socket) -> bytes:
    """What comes until nothing does for a while."""
    parts = bytearray()
    connection.settimeout(A_WHILE)
    with suppress(TimeoutError):
        while part := connection.recv(1_000_000):
            parts += part
    connection.settimeout(LONG)
    return bytes(parts)


def assert_reset(connection: socket.socket) -> None:
    with pytest.raises(ConnectionResetError):
        connection.recv(1)


def assert_new_is_reset(wire: FaultyWire) -> None:
    with pytest.raises(ConnectionResetError), call(wire) as near:  # it may come before the call has returned
        near.recv(1)


def test_bytes_pass_both_ways(ends: Ends) -> None:
    ends.near.sendall(b"question")
    assert received(ends.far, 8) == b"question"
    ends.far.sendall(b"answer")
    assert received(ends.near, 6) == b"answer"


def test_much_passes_whole_and_in_order(ends: Ends) -> None:
    much = Random(7).randbytes(8_000_000)
    sending = threading.Thread(target=ends.near.sendall, args=[much])
    sending.start()
    assert received(ends.far, len(much)) == much
    sending.join(LONG)


def test_who_has_said_all_can_still_hear(ends: Ends) -> None:
    ends.near.shutdown(socket.SHUT_WR)
    assert ends.far.recv(1) == b""
    ends.far.sendall(b"answer")
    ends.far.close()
    assert received(ends.near, 6) == b"answer"
    assert ends.near.recv(1) == b""


def test_a_connection_ends_with_both_sides(wire: FaultyWire, ends: Ends) -> None:
    assert wire.connections == 1
    ends.close()
    eventually(lambda: wire.connections == 0)


def test_a_reset_of_one_side_reaches_the_other(ends: Ends) -> None:
    ends.near.sendall(b"unread")
    assert ends.far.recv(1, socket.MSG_PEEK) == b"u"
    ends.far.close()  # with something unread, that is a reset
    assert_reset(ends.near)


def test_where_nobody_listens_a_connection_is_reset(wire: FaultyWire, listener: socket.socket) -> None:
    listener.close()
    assert_new_is_reset(wire)


def test_another_target_is_for_new_connections(wire: FaultyWire, ends: Ends) -> None:
    with socket.create_server((HOST, 0)) as other:
        wire.target_port = other.getsockname()[1]
        with closing(Ends(wire, other)) as new:
            new.near.sendall(b"new")
            ends.near.sendall(b"old")
            assert received(new.far, 3) == b"new"
            assert received(ends.far, 3) == b"old"


def test_what_is_delayed_comes_no_sooner(wire: FaultyWire, ends: Ends) -> None:
    wire.delay(0.3)
    began = monotonic()
    ends.near.sendall(b"question")
    received(ends.far, 8)
    ends.far.sendall(b"answer")
    received(ends.near, 6)
    assert monotonic() - began >= 0.6


def test_a_delay_keeps_the_order_when_it_ends(wire: FaultyWire, ends: Ends) -> None:
    wire.delay(3600)
    with hearing_nothing(ends.far):
        ends.near.sendall(b"first ")
    wire.pass_on()
    ends.near.sendall(b"second")
    assert received(ends.far, 12) == b"first second"


def test_the_end_of_a_connection_is_delayed_too(wire: FaultyWire, ends: Ends) -> None:
    wire.delay(3600)
    with hearing_nothing(ends.far):
        ends.near.close()
    wire.delay(0)
    assert ends.far.recv(1) == b""


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_no_other_delay_is_taken(wire: FaultyWire, seconds: float) -> None:
    with pytest.raises(ValueError, match="a delay is a number of seconds"):
        wire.delay(seconds)


def test_a_reset_meets_both_sides_of_what_is_open(wire: FaultyWire, ends: Ends) -> None:
    wire.reset()
    assert wire.connections == 0
    assert_reset(ends.near)
    assert_reset(ends.far)


def test_while_it_resets_new_connections_are_reset(wire: FaultyWire, listener: socket.socket, ends: Ends) -> None:
    wire.reset()
    assert_new_is_reset(wire)
    wire.pass_on()
    with closing(Ends(wire, listener)) as new:
        new.near.sendall(b"new")
        assert received(new.far, 3) == b"new"


def test_a_black_hole_hands_nothing_on_until_it_ends(wire: FaultyWire, ends: Ends) -> None:
    wire.black_hole()
    with hearing_nothing(ends.far, ends.near):
        ends.near.sendall(b"question")
        ends.far.sendall(b"something else")
    wire.pass_on()
    assert received(ends.far, 8) == b"question"
    assert received(ends.near, 14) == b"something else"


def test_connections_made_in_a_black_hole_are_led_on_when_it_ends(wire: FaultyWire, listener: socket.socket) -> None:
    wire.black_hole()
    with call(wire) as near:
        with hearing_nothing(near):
            near.sendall(b"question")
        wire.pass_on()
        far, _ = listener.accept()
        with far:
            assert received(far, 8) == b"question"


@pytest.mark.parametrize("linger", [False, True])
def test_an_end_in_a_black_hole_is_heard_when_it_ends(wire: FaultyWire, ends: Ends, *, linger: bool) -> None:
    if linger:
        ends.near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # its close is a reset
    wire.black_hole()
    with hearing_nothing(ends.far):
        ends.near.close()
    wire.pass_on()
    if linger:
        assert_reset(ends.far)
    else:
        assert ends.far.recv(1) == b""


def test_a_black_hole_stops_what_is_half_written(wire: FaultyWire, ends: Ends) -> None:
    much = Random(7).randbytes(8_000_000)
    sending = threading.Thread(target=ends.near.sendall, args=[much])
    sending.start()
    begun = received(ends.far, 1)
    wire.black_hole()
    begun += all_there_is(ends.far)
    assert len(begun) < len(much)
    wire.pass_on()
    assert begun + received(ends.far, len(much) - len(begun)) == much
    sending.join(LONG)


def test_a_black_hole_can_end_in_a_reset(wire: FaultyWire, ends: Ends) -> None:
    wire.black_hole()
    with call(wire) as waiting:
        ends.near.sendall(b"lost")
        wire.reset()
        assert_reset(waiting)
        assert_reset(ends.near)
        assert_reset(ends.far)


def test_many_connections_share_a_wire(wire: FaultyWire, listener: socket.socket) -> None:
    with ExitStack() as stack:
        many = [stack.enter_context(closing(Ends(wire, listener))) for _ in range(200)]
        for number, ends in enumerate(many):
            ends.near.sendall(b"%3d" % number)
        assert [int(received(ends.far, 3)) for ends in many] == list(range(200))


def test_a_closed_wire_resets_and_refuses(wire: FaultyWire, ends: Ends) -> None:
    wire.close()
    assert_reset(ends.near)
    with pytest.raises(ConnectionRefusedError):
        call(wire)
    wire.close()
