"""The faulty TCP proxy."""

import socket
from collections.abc import Callable, Iterator
from contextlib import closing
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


def assert_nothing_arrives(switch_again: Callable[[], None], connection: socket.socket) -> None:
    """Let the proxy's event loop run many times, so that it forwards all that it does."""
    for _ in range(20):
        switch_again()
    connection.setblocking(False)
    with pytest.raises(BlockingIOError):
        connection.recv(1)
    connection.settimeout(LONG)


def receive(connection: socket.socket, length: int) -> bytes:
    parts = bytearray()
    while len(parts) < length:
        part = connection.recv(length - len(parts))
        assert part, f"closed after {len(parts)} bytes"
        parts += part
    return bytes(parts)


def test_delayed_data_arrives_no_sooner(proxy: FaultyProxy, connection: Connection) -> None:
    proxy.delay(0.3)
    began = monotonic()
    connection.client.sendall(b"question")
    receive(connection.server, 8)
    connection.server.sendall(b"result")
    receive(connection.client, 6)
    assert monotonic() - began >= 0.6


def test_a_reset_affects_open_and_new_connections(
    proxy: FaultyProxy, listener: socket.socket, connection: Connection
) -> None:
    proxy.reset()
    assert proxy.connections == 0
    for each in (connection.client, connection.server):
        with pytest.raises(ConnectionResetError):
            each.recv(1)
    with pytest.raises(ConnectionResetError), connect(proxy) as client:  # possibly before connect returns
        client.recv(1)
    proxy.heal()
    with closing(Connection(proxy, listener)) as new:
        new.client.sendall(b"new")
        assert receive(new.server, 3) == b"new"


def test_a_black_hole_forwards_nothing_until_healed(proxy: FaultyProxy, connection: Connection) -> None:
    proxy.black_hole()
    connection.client.sendall(b"question")
    connection.server.sendall(b"something else")
    assert_nothing_arrives(proxy.black_hole, connection.server)
    assert_nothing_arrives(proxy.black_hole, connection.client)
    proxy.heal()
    assert receive(connection.server, 8) == b"question"
    assert receive(connection.client, 14) == b"something else"
