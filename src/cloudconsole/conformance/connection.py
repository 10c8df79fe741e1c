"""One HTTP/1.1 connection, on which a response is read whatever happened to the request.

HTTP libraries give up at a failed write, so that an early response of a server that closes the connection is lost or
not, depending on timing. Here it is always read.
"""

import fcntl
import os
import select
import socket
import ssl
import struct
import termios
import time
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import h11

from cloudconsole.spec.console_url import normalise_base_url

MAX_RESPONSE_BYTES: Final = 8 * 1024 * 1024
MAX_HEAD_BYTES: Final = 256 * 1024
PIECE_BYTES: Final = 65_536

HeaderPairs = tuple[tuple[str, str], ...]


class NoResponse(Exception):
    """No complete HTTP response; the message says why."""


class Unreachable(NoResponse):
    """Nothing listens at the address, or its certificate is not trusted."""


class Received(NamedTuple):
    status: int
    headers: HeaderPairs
    body: bytes


class Deadline:
    """Limits each step, and all steps together."""

    def __init__(self, step: float, total: float) -> None:
        self._step = step
        self._began = monotonic()
        self._end = self._began + total

    @property
    def timeout(self) -> float:
        """The seconds for the next step; raises TimeoutError if none are left."""
        remaining = self._end - monotonic()
        if remaining <= 0:
            raise TimeoutError
        return min(self._step, remaining)

    @property
    def elapsed(self) -> float:
        return monotonic() - self._began


class Connection:
    """Context manager for a connection; sending never fails, since a response may be there nevertheless."""

    def __init__(self, base: str, context: ssl.SSLContext | None, deadline: Deadline) -> None:
        parts = urlsplit(normalise_base_url(base))
        self.host = parts.netloc
        self._deadline = deadline
        self._parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._is_broken = self._is_responding = False
        self.is_closed = False
        """Whether the server closed the connection before any byte of a response."""
        default_port = 443 if parts.scheme == "https" else 80
        self._socket = _connect(parts.hostname or "", parts.port or default_port, context, deadline)

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send_head(self, method: str, target: str, headers: Iterable[tuple[str, str]]) -> None:
        pairs = [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers]
        self._send(self._parser.send(h11.Request(method=method, target=target.encode(), headers=pairs)))

    def send_request(self, method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes) -> None:
        """Send a request; stop if the response comes before the end of a large body."""
        pairs = [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers]
        head = self._parser.send(h11.Request(method=method, target=target.encode(), headers=pairs)) or b""
        if len(body) > PIECE_BYTES:
            self._send(head)
            self.send_body(pieces(body))
            return
        # At once: a server that responds to the head could close before the body.
        body_bytes = self._parser.send(h11.Data(data=body)) or b""
        self._send(head + body_bytes + (self._parser.send(h11.EndOfMessage()) or b""))

    def send_body(self, parts: Iterable[bytes], *, ends: bool = True, until_response: bool = True) -> None:
        for part in parts:
            if until_response and self.is_responding():
                return
            self._send(self._parser.send(h11.Data(data=part)))
        if ends:
            self._send(self._parser.send(h11.EndOfMessage()))

    def is_responding(self, timeout: float = 0) -> bool:
        """Whether there is something to read, perhaps the end of the connection."""
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return True
        return bool(select.select([self._socket], [], [], timeout)[0])

    def wait_for_response(self) -> bool:
        """Wait for one step; return whether there is something to read."""
        try:
            return self.is_responding(self._deadline.timeout)
        except TimeoutError:
            return False

    def was_received(self) -> bool:
        """Wait until the server's side has taken everything; return False if it closed, reset or does not read."""
        while not self._is_broken:
            if self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                break
            if not _unacknowledged(self._socket):
                return True
            try:
                time.sleep(min(0.01, self._deadline.timeout))
            except TimeoutError:
                break
        return False

    def read_response(self) -> Received:
        """Read a complete response, or raise `NoResponse`."""
        response, parts, size = None, [], 0
        for event in self._events():
            if isinstance(event, h11.Response):
                response = event
            elif isinstance(event, h11.Data):
                parts.append(bytes(event.data))
                size += len(event.data)
                if size > MAX_RESPONSE_BYTES:
                    raise NoResponse(f"the response is larger than {MAX_RESPONSE_BYTES // 1024 // 1024} MiB")
            elif isinstance(event, h11.EndOfMessage):
                break
        if response is None:
            raise NoResponse("the response is not HTTP or is incomplete")
        headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers)
        return Received(response.status_code, headers, b"".join(parts))

    def read_until_close(self) -> bytes:
        """Return what follows the response until the server closes or the time is over."""
        rest = bytes(self._parser.trailing_data[0])
        try:
            while len(rest) < MAX_RESPONSE_BYTES and (received := self._receive()):
                rest += received
        except NoResponse:
            pass
        return rest

    def start_next_request(self) -> bool:
        """Return whether the server accepts another request on this connection."""
        try:
            self._parser.start_next_cycle()
        except h11.LocalProtocolError:
            return False
        self._is_responding = False
        return True

    def _send(self, content: bytes | None) -> None:
        if self._is_broken or not content:
            return
        try:
            self._socket.settimeout(self._deadline.timeout)
            self._socket.sendall(content)
        except OSError:
            self._is_broken = True

    def _events(self) -> Iterator[object]:
        """Yield events until the end of the response."""
        while True:
            try:
                event = self._parser.next_event()
                if event is h11.NEED_DATA:
                    self._parser.receive_data(self._receive())
                    continue
            except h11.RemoteProtocolError:
                # The library's message quotes the response, possibly a cookie.
                reason = "is not HTTP or is incomplete" if self._is_responding else ""
                message = f"the response {reason}" if reason else "the connection was closed without a response"
                raise NoResponse(message) from None
            if event is h11.PAUSED:
                raise NoResponse("the server switched to another protocol")
            yield event

    def _receive(self) -> bytes:
        """Return received bytes; none at the end, which a reset is, too: which of the two comes depends on timing."""
        try:
            self._socket.settimeout(self._deadline.timeout)
            received = self._socket.recv(PIECE_BYTES)
        except TimeoutError:
            raise NoResponse(f"no complete response within {self._deadline.elapsed:.0f} s") from None
        except OSError:
            received = b""
        self._is_responding |= bool(received)
        self.is_closed = not self._is_responding
        return received


def pieces(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), PIECE_BYTES):
        yield body[start : start + PIECE_BYTES]


def _connect(host: str, port: int, context: ssl.SSLContext | None, deadline: Deadline) -> socket.socket:
    connection = None
    try:
        connection = socket.create_connection((host, port), deadline.timeout)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return context.wrap_socket(connection, server_hostname=host) if context else connection
    except OSError as problem:
        if connection is not None:
            connection.close()
        raise Unreachable(f"could not connect: {_cause(problem)}") from problem


def _cause(problem: OSError) -> str:
    if isinstance(problem, TimeoutError) and problem.errno is None:
        return "it takes too long"
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"the certificate is not trusted: {problem.verify_message}"
    if not isinstance(problem, ssl.SSLError) and problem.errno is not None and problem.errno > 0:
        return os.strerror(problem.errno)
    return problem.strerror or type(problem).__name__


def _unacknowledged(connection: socket.socket) -> int:
    """Return how many sent bytes the other side has not acknowledged."""
    size: int = struct.unpack("i", fcntl.ioctl(connection, termios.TIOCOUTQ, b"\0" * 4))[0]
    return size
