"""The tools of the cluster: a killed PostgreSQL server keeps its commits, the load generator counts correctly."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
import pytest
from cluster.load_generator import LoadGenerator
from cluster.postgres import PostgresServer

from tests.e2e.processes import children_of, is_running

REQUEST = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@contextmanager
def serving(response: bytes, *, closes: bool = False) -> Iterator[int]:
    """A server that always sends the same response, in two parts; `closes` ends each connection after it."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=100)

    def handle(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while connection.recv(65536):
                connection.sendall(response[:5])
                connection.sendall(response[5:])
                if closes:
                    return

    def listen() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=handle, args=(listener.accept()[0],), daemon=True).start()

    listening = threading.Thread(target=listen)
    listening.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        listening.join()


def test_a_request_without_an_idle_connection_is_unsent() -> None:
    with serving(b"") as port, LoadGenerator(port, 3) as load:
        result = load.send([REQUEST], 1000, 0.2, timeout=0)
    assert result.timed_out == 3
    assert result.unsent > 0
    assert result.responses == []


@pytest.mark.parametrize(("header", "count"), [(b"", 1), (b"retry-after: 1\r\n", 0)])
def test_rejections_without_retry_after_are_counted(header: bytes, count: int) -> None:
    with serving(b"HTTP/1.1 503 No\r\n%scontent-length: 0\r\n\r\n" % header) as port, LoadGenerator(port, 1) as load:
        assert load.warm_up().without_retry_after == count


def test_a_truncated_response_is_lost() -> None:
    with serving(OK[:-1], closes=True) as port, LoadGenerator(port, 1) as load:
        assert load.send_once(REQUEST, 1).lost == 1


def test_every_response_is_counted_once() -> None:
    with serving(OK) as port, LoadGenerator(port, 40) as load:
        for _ in range(2):
            result = load.send_once(REQUEST, 40)
            assert result.statuses == {200: 40}
            assert (result.lost, result.timed_out, result.without_retry_after) == (0, 0, 0)


@pytest.mark.parametrize("is_paused", [False, True])
def test_commits_survive_a_kill_which_leaves_no_process(is_paused: bool) -> None:
    with PostgresServer() as server:
        address = server.create_database("things")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("CREATE TABLE things AS SELECT 'committed' AS name")
            connection.execute("BEGIN; INSERT INTO things VALUES ('never committed')")
            processes = server.processes
            assert set(processes) == {processes[0], *children_of(processes[0])}
            assert len(processes) > 3
            if is_paused:
                server.pause()
            server.kill()
            assert not server.processes
            assert not [process for process in processes if is_running(process)]
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")
        server.start()
        assert server.execute("SELECT name FROM things", "things") == [("committed",)]
    assert not server.is_running
    assert not server.folder.exists()
