"""The faulty TCP proxy."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from random import Random
from time import monotonic

import pytest
from cluster.faulty_proxy import HOST, FaultyProxy

from tests.e2e.processes import eventually

SHORT = 0.2
"""Seconds in which data usually arrives; a test that waits this long for nothing may rarely pass wrongly."""
LONG = 30


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server((HOST, 0), backlog=300) as listening:
        listening.settimeout(LONG)
        yield listening


@pytest.fixture
def proxy(listener: socket.socket) -> Iterator[FaultyProxy]:
    with FaultyProxy(listener.getsockname()[1]) as proxy:
        yield proxy


class Connection:
    """Both ends of a proxied connection."""

    def __init__(self, proxy: FaultyProxy, listener: socket.socket) -> None:
        self.client = connect(proxy)
        self.server, _ = listener.accept()
        self.server.settimeout(LONG)

    def close(self) -> None:
        self.client.close()
        self.server.close()


def connect(proxy: FaultyProxy) -> socket.socket:
    return socket.create_connection((HOST, proxy.port), timeout=LONG)


@pytest.fixture
def connection(proxy: FaultyProxy, listener: socket.socket) -> Iterator[Connection]:
    with closing(Connection(proxy, listener)) as connection:
        yield connection


@contextmanager
def receiving_nothing(*connections: socket.socket) -> Iterator[None]:
    """Assert that the block delivers nothing to these connections and closes none."""
    yield
    for connection in connections:
        connection.settimeout(SHORT)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        connection.settimeout(LONG)


def receive(connection: socket.socket, length: int) -> bytes:
    parts = bytearray()
    while len(parts) < length:
        part = connection.recv(length - len(parts))
        assert part, f"closed after {len(parts)} bytes"
        parts += part
    return bytes(parts)


def drain(connection: socket.socket) -> bytes:
    """Receive until nothing arrives for a short time."""
    parts = bytearray()
    connection.settimeout(SHORT)
    with suppress(TimeoutError):
        while part := connection.recv(1_000_000):
            parts += part
    connection.settimeout(LONG)
    return bytes(parts)


def assert_reset(connection: socket.socket) -> None:
    with pytest.raises(ConnectionResetError):
        connection.recv(1)


def assert_new_is_reset(proxy: FaultyProxy) -> None:
    with pytest.raises(ConnectionResetError), connect(proxy) as client:  # possibly before connect returns
        client.recv(1)


def test_data_is_forwarded_both_ways(connection: Connection) -> None:
    connection.client.sendall(b"question")
    assert receive(connection.server, 8) == b"question"
    connection.server.sendall(b"result")
    assert receive(connection.client, 6) == b"result"


def test_large_data_arrives_complete_and_in_order(connection: Connection) -> None:
    data = Random(7).randbytes(8_000_000)
    sender = threading.Thread(target=connection.client.sendall, args=[data])
    sender.start()
    assert receive(connection.server, len(data)) == data
    sender.join(LONG)


def test_who_has_said_all_can_still_hear(connection: Connection) -> None:
    connection.client.shutdown(socket.SHUT_WR)
    assert connection.server.recv(1) == b""
    connection.server.sendall(b"result")
    connection.server.close()
    assert receive(connection.client, 6) == b"result"
    assert connection.client.recv(1) == b""


def test_a_connection_ends_with_both_sides(proxy: FaultyProxy, connection: Connection) -> None:
    assert proxy.connections == 1
    connection.close()
    eventually(lambda: proxy.connections == 0)


def test_a_reset_of_one_side_reaches_the_other(connection: Connection) -> None:
    connection.client.sendall(b"unread")
    assert connection.server.recv(1, socket.MSG_PEEK) == b"u"
    connection.server.close()  # closing with unread data sends a reset
    assert_reset(connection.client)


def test_without_a_listener_connections_are_reset(proxy: FaultyProxy, listener: socket.socket) -> None:
    listener.close()
    assert_new_is_reset(proxy)


def test_a_new_target_applies_to_new_connections(proxy: FaultyProxy, connection: Connection) -> None:
    with socket.create_server((HOST, 0)) as other:
        proxy.target_port = other.getsockname()[1]
        with closing(Connection(proxy, other)) as new:
            new.client.sendall(b"new")
            connection.client.sendall(b"old")
            assert receive(new.server, 3) == b"new"
            assert receive(connection.server, 3) == b"old"


def test_delayed_data_arrives_no_sooner(proxy: FaultyProxy, connection: Connection) -> None:
    proxy.delay(0.3)
    began = monotonic()
    connection.client.sendall(b"question")
    receive(connection.server, 8)
    connection.server.sendall(b"result")
    receive(connection.client, 6)
    assert monotonic() - began >= 0.6


def test_data_stays_in_order_when_a_delay_ends(proxy: FaultyProxy, connection: Connection) -> None:
    proxy.delay(3600)
    with receiving_nothing(connection.server):
        connection.client.sendall(b"first ")
    proxy.heal()
    connection.client.sendall(b"second")
    assert receive(connection.server, 12) == b"first second"


def test_the_end_of_a_connection_is_delayed(proxy: FaultyProxy, connection: Connection) -> None:
    proxy.delay(3600)
    with receiving_nothing(connection.server):
        connection.client.close()
    proxy.delay(0)
    assert connection.server.recv(1) == b""


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_an_invalid_delay_is_rejected(proxy: FaultyProxy, seconds: float) -> None:
    with pytest.raises(ValueError, match="invalid delay"):
        proxy.delay(seconds)


def test_a_reset_affects_both_sides_of_open_connections(proxy: FaultyProxy, connection: Connection) -> None:
    proxy.reset()
    assert proxy.connections == 0
    assert_reset(connection.client)
    assert_reset(connection.server)


def test_a_reset_affects_new_connections(proxy: FaultyProxy, listener: socket.socket, connection: Connection) -> None:
    proxy.reset()
    assert_new_is_reset(proxy)
    proxy.heal()
    with closing(Connection(proxy, listener)) as new:
        new.client.sendall(b"new")
        assert receive(new.server, 3) == b"new"


def test_a_black_hole_forwards_nothing_until_healed(proxy: FaultyProxy, connection: Connection) -> None:
    proxy.black_hole()
    with receiving_nothing(connection.server, connection.client):
        connection.client.sendall(b"question")
        connection.server.sendall(b"something else")
    proxy.heal()
    assert receive(connection.server, 8) == b"question"
    assert receive(connection.client, 14) == b"something else"


def test_connections_opened_in_a_black_hole_are_forwarded_when_healed(
    proxy: FaultyProxy, listener: socket.socket
) -> None:
    proxy.black_hole()
    with connect(proxy) as client:
        with receiving_nothing(client):
            client.sendall(b"question")
        proxy.heal()
        server, _ = listener.accept()
        with server:
            assert receive(server, 8) == b"question"


@pytest.mark.parametrize("linger", [False, True])
def test_a_close_in_a_black_hole_is_forwarded_when_healed(
    proxy: FaultyProxy, connection: Connection, *, linger: bool
) -> None:
    if linger:
        connection.client.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"
        )  # makes close send a reset
    proxy.black_hole()
    with receiving_nothing(connection.server):
        connection.client.close()
    proxy.heal()
    if linger:
        assert_reset(connection.server)
    else:
        assert connection.server.recv(1) == b""


def test_a_black_hole_interrupts_a_transfer(proxy: FaultyProxy, connection: Connection) -> None:
    data = Random(7).randbytes(8_000_000)
    sender = threading.Thread(target=connection.client.sendall, args=[data])
    sender.start()
    prefix = receive(connection.server, 1)
    proxy.black_hole()
    prefix += drain(connection.server)
    assert len(prefix) < len(data)
    proxy.heal()
    assert prefix + receive(connection.server, len(data) - len(prefix)) == data
    sender.join(LONG)


def test_a_black_hole_can_turn_into_a_reset(proxy: FaultyProxy, connection: Connection) -> None:
    proxy.black_hole()
    with connect(proxy) as waiting:
        connection.client.sendall(b"lost")
        proxy.reset()
        assert_reset(waiting)
        assert_reset(connection.client)
        assert_reset(connection.server)


def test_many_connections_share_a_proxy(proxy: FaultyProxy, listener: socket.socket) -> None:
    with ExitStack() as stack:
        many = [stack.enter_context(closing(Connection(proxy, listener))) for _ in range(200)]
        for number, connection in enumerate(many):
            connection.client.sendall(b"%3d" % number)
        assert [int(receive(connection.server, 3)) for connection in many] == list(range(200))


def test_a_closed_proxy_resets_and_refuses(proxy: FaultyProxy, connection: Connection) -> None:
    proxy.close()
    assert_reset(connection.client)
    with pytest.raises(ConnectionRefusedError):
        connect(proxy)
    proxy.close()
