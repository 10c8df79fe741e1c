"""The faulty TCP proxy."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from random import Random
from time import monotonic

import pytest
from cluster.faulty_proxy import HOST, FaultyProxy

LONG = 120


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server((HOST, 0), backlog=3) as listening:
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


def received_so_far(switch_again: Callable[[], None], connection: socket.socket) -> bytes:
    """Let the proxy's event loop run many times, so that it forwards all that it does; return what has arrived."""
    for _ in range(20):
        switch_again()
    parts = bytearray()
    connection.setblocking(False)
    with suppress(BlockingIOError):
        while part := connection.recv(1_000_000):
            parts += part
    connection.settimeout(LONG)
    return bytes(parts)


def receive(connection: socket.socket, length: int) -> bytes:
    parts = bytearray()
    while len(parts) < length:
        part = connection.recv(length - len(parts))
        assert part, f"closed after {len(parts)} bytes"
        parts += part
    return bytes(parts)


def assert_reset(connection: socket.socket) -> None:
    with pytest.raises(ConnectionResetError):
        connection.recv(1)


def assert_new_is_reset(proxy: FaultyProxy) -> None:
    with pytest.raises(ConnectionResetError), connect(proxy) as client:  # possibly before connect returns
        client.recv(1)


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
    connection.client.sendall(b"first ")
    assert received_so_far(lambda: proxy.delay(3600), connection.server) == b""
    proxy.heal()
    connection.client.sendall(b"second")
    assert receive(connection.server, 12) == b"first second"


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
    connection.client.sendall(b"question")
    connection.server.sendall(b"something else")
    assert received_so_far(proxy.black_hole, connection.server) == b""
    assert received_so_far(proxy.black_hole, connection.client) == b""
    proxy.heal()
    assert receive(connection.server, 8) == b"question"
    assert receive(connection.client, 14) == b"something else"


def test_connections_opened_and_closed_in_a_black_hole_are_forwarded_when_healed(
    proxy: FaultyProxy, listener: socket.socket
) -> None:
    proxy.black_hole()
    with connect(proxy) as client:
        client.sendall(b"question")
    proxy.heal()
    server, _ = listener.accept()
    with server:
        assert receive(server, 8) == b"question"
        assert server.recv(1) == b""


def test_a_black_hole_interrupts_a_transfer_without_loss(proxy: FaultyProxy, connection: Connection) -> None:
    data = Random(7).randbytes(8_000_000)
    sender = threading.Thread(target=connection.client.sendall, args=[data])
    sender.start()
    prefix = receive(connection.server, 1)
    proxy.black_hole()
    # Data in the kernel's buffers still arrives.
    while part := received_so_far(proxy.black_hole, connection.server):
        prefix += part
    assert len(prefix) < len(data)
    proxy.heal()
    assert prefix + receive(connection.server, len(data) - len(prefix)) == data
    sender.join()
