"""Servers that send arbitrary bytes at arbitrary speed."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Behaviour = Callable[[socket.socket], None]

HEAD = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def raw_server(behaviour: Behaviour) -> Iterator[str]:
    """Serve every connection with the same behaviour; yield the URL."""
    stopping = threading.Event()
    threads: list[threading.Thread] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        # How often to look whether the server is stopping.
        listener.settimeout(0.05)

        def serve() -> None:
            while not stopping.is_set():
                with suppress(TimeoutError):
                    connection, _ = listener.accept()
                    thread = threading.Thread(target=_handle, args=(connection, behaviour))
                    thread.start()
                    threads.append(thread)

        accepting = threading.Thread(target=serve)
        accepting.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            stopping.set()
            accepting.join()
            for thread in threads:
                thread.join()


def _handle(connection: socket.socket, behaviour: Behaviour) -> None:
    with connection, suppress(OSError):
        connection.settimeout(300)
        connection.recv(65_536)
        behaviour(connection)


def hang(connection: socket.socket) -> None:
    """Send nothing until the client disconnects."""
    while connection.recv(65_536):
        pass


def close(connection: socket.socket) -> None:
    connection.shutdown(socket.SHUT_RDWR)


def send_bytes(content: bytes) -> Behaviour:
    return lambda connection: connection.sendall(content)


def pour(head: bytes, piece: bytes, pause: float = 0) -> Behaviour:
    """Send pieces without end, as fast as the client reads or with a pause after each."""

    def behaviour(connection: socket.socket) -> None:
        connection.sendall(head)
        while True:
            connection.sendall(piece)
            time.sleep(pause)

    return behaviour


def drip(head: bytes, piece: bytes) -> Behaviour:
    """Send pieces slowly, but often enough that no single read times out."""
    return pour(head, piece, pause=0.02)
