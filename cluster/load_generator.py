"""Open-loop HTTP load generator: thousands of connections from one process, requests sent at a fixed rate.

Each request is sent when it is due, whether or not earlier ones have completed. A connection carries one request at a
time; a request that finds no idle connection counts as unsent.
"""

import select
import socket
import time
from collections import Counter, deque
from collections.abc import Sequence
from typing import Final, NamedTuple

RECEIVE_BYTES: Final = 64 * 1024
SEND_BATCH: Final = 64
"""Requests sent before responses are read again."""
WARM_UP_CONCURRENCY: Final = 16
HEALTH_REQUEST: Final = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


class Response(NamedTuple):
    """When a request was sent (monotonic time), how long the response took, and its status."""

    sent: float
    seconds: float
    status: int


class LoadResult(NamedTuple):
    """The result of one run."""

    responses: list[Response]
    unsent: int
    """Requests that found no idle connection."""
    lost: int
    """Requests whose connection closed before the response was complete."""
    timed_out: int
    """Requests without a response at the timeout."""
    without_retry_after: int
    """429 and 503 responses without Retry-After."""

    @property
    def statuses(self) -> Counter[int]:
        return Counter(response.status for response in self.responses)

    def times(self, status: int = 200) -> list[float]:
        return [response.seconds for response in self.responses if response.status == status]


class _Connection:
    """A connection and its current request."""

    __slots__ = ("is_waiting", "received", "sent", "socket")

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.received = b""
        self.sent = 0.0
        self.is_waiting = False


class LoadGenerator:
    """Holds a number of connections to one port, replacing those that close."""

    def __init__(self, port: int, connections: int, host: str = "127.0.0.1") -> None:
        self._address = host, port
        self._poll = select.epoll()
        self._connections: dict[int, _Connection] = {}
        self._idle: deque[_Connection] = deque()
        self.reconnects = 0
        for _ in range(connections):
            self._connect()

    def _connect(self) -> None:
        sock = socket.create_connection(self._address, timeout=20)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setblocking(False)
        connection = _Connection(sock)
        self._connections[sock.fileno()] = connection
        self._poll.register(sock.fileno(), select.EPOLLIN)
        self._idle.append(connection)

    def _disconnect(self, connection: _Connection) -> None:
        self._poll.unregister(connection.socket.fileno())
        del self._connections[connection.socket.fileno()]
        connection.socket.close()

    def close(self) -> None:
        for connection in list(self._connections.values()):
            self._disconnect(connection)
        self._poll.close()

    def __enter__(self) -> "LoadGenerator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._connections)

    def send(
        self, requests: Sequence[bytes], rate: float, seconds: float, timeout: float = 10, *, reconnect: bool = True
    ) -> LoadResult:
        """Send the requests in rotation at a rate per second, then wait for outstanding responses."""
        run = _Run(self, reconnect=reconnect)
        number = unsent = 0
        began = time.monotonic()
        end = began + seconds
        while (now := time.monotonic()) < end:
            due = int((now - began) * rate) - number
            for _ in range(min(due, SEND_BATCH)):
                number += 1
                if not self._idle:
                    # The other due requests would not find an idle connection, either.
                    unsent += due
                    number += due - 1
                    break
                run.send(self._idle.popleft(), requests[number % len(requests)])
            wait = 0.0 if due > SEND_BATCH else max(0.0, min(began + (number + 1) / rate, end) - time.monotonic())
            run.receive(wait)
        deadline = time.monotonic() + timeout
        while run.waiting and time.monotonic() < deadline:
            run.receive(0.1)
        return run.result(unsent)

    def warm_up(self, timeout: float = 60) -> LoadResult:
        """Send a health check on every connection, so that the server has accepted each."""
        return self.send_once(HEALTH_REQUEST, WARM_UP_CONCURRENCY, timeout)

    def send_once(self, request: bytes, concurrency: int, timeout: float = 60) -> LoadResult:
        """Send a request on every connection, with bounded concurrency."""
        run = _Run(self, reconnect=False)
        deadline = time.monotonic() + timeout
        for connection in [self._idle.popleft() for _ in range(len(self._idle))]:
            run.send(connection, request)
            while run.waiting >= concurrency and time.monotonic() < deadline:
                run.receive(0.1)
        while run.waiting and time.monotonic() < deadline:
            run.receive(0.1)
        return run.result(0)


class _Run:
    """The state of one run."""

    def __init__(self, generator: LoadGenerator, *, reconnect: bool) -> None:
        self._generator = generator
        self._reconnect = reconnect
        self._responses: list[Response] = []
        self._lost = self._without_retry_after = 0
        self.waiting = 0

    def send(self, connection: _Connection, request: bytes) -> None:
        connection.sent = time.monotonic()
        connection.is_waiting = True
        self.waiting += 1
        try:
            sent = connection.socket.send(request)
        except OSError:
            self._close(connection)
        else:
            if sent < len(request):
                raise AssertionError("the request does not fit into the send buffer")

    def receive(self, seconds: float) -> None:
        for number, _ in self._generator._poll.poll(seconds, 512):
            connection = self._generator._connections.get(number)
            if connection is None:
                continue
            try:
                chunk = connection.socket.recv(RECEIVE_BYTES)
            except BlockingIOError:
                # The file descriptor was reused since the event.
                continue
            except OSError:
                chunk = b""
            if not chunk:
                self._close(connection)
            elif is_complete(received := connection.received + chunk):
                self._complete(connection, received)
            else:
                connection.received = received

    def _complete(self, connection: _Connection, received: bytes) -> None:
        status = int(received[9:12])
        self._responses.append(Response(connection.sent, time.monotonic() - connection.sent, status))
        if status in (429, 503) and b"\r\nretry-after: " not in received:
            self._without_retry_after += 1
        connection.received, connection.is_waiting = b"", False
        self.waiting -= 1
        if b"\r\nconnection: close\r\n" in received:
            # As any client does: a request on this connection would be lost.
            self._close(connection)
        else:
            self._generator._idle.append(connection)

    def _close(self, connection: _Connection) -> None:
        generator = self._generator
        generator._disconnect(connection)
        if connection in generator._idle:
            generator._idle.remove(connection)
        if connection.is_waiting:
            self.waiting -= 1
            self._lost += 1
        if self._reconnect:
            generator.reconnects += 1
            generator._connect()

    def result(self, unsent: int) -> LoadResult:
        return LoadResult(self._responses, unsent, self._lost, self.waiting, self._without_retry_after)


def is_complete(received: bytes) -> bool:
    """Whether a response is complete; ours have a Content-Length."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return False
    start = received.find(b"\r\ncontent-length: ", 0, end)
    if start < 0:
        return True
    return len(received) >= end + 4 + int(received[start + 18 : received.find(b"\r\n", start + 2)])
