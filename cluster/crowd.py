"""A crowd of callers from one process: thousands of connections, and calls that begin when they are due.

The rate is an open one: whether earlier calls were answered does not matter to when the next one begins. A connection
has one call at a time, as a caller's has; a call that finds none free is counted as unsent.
"""

import select
import socket
import time
from collections import Counter, deque
from collections.abc import Sequence
from typing import Final, NamedTuple

PIECE: Final = 64 * 1024
TURN_SENDS: Final = 64
"""Calls begun before the answers are looked at again."""
SETTLING: Final = 16
ALIVE: Final = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


class Answer(NamedTuple):
    """One call, by the monotonic clock: when it was sent, how long its answer took, and what it was."""

    sent: float
    seconds: float
    status: int


class Outcome(NamedTuple):
    """What became of the calls of one run."""

    answers: list[Answer]
    unsent: int
    """Calls that found no connection free."""
    lost: int
    """Calls whose connection ended before the answer was whole."""
    unanswered: int
    """Calls that were still waiting when the run's patience ended."""
    without_retry_after: int
    """Answers with 429 or 503 that did not say when to come back."""

    @property
    def statuses(self) -> Counter[int]:
        return Counter(answer.status for answer in self.answers)

    def times(self, status: int = 200) -> list[float]:
        return [answer.seconds for answer in self.answers if answer.status == status]


class _Member:
    """One connection and the call on it."""

    __slots__ = ("received", "sent", "socket", "waits")

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.received = b""
        self.sent = 0.0
        self.waits = False


class Crowd:
    """Holds so many connections to one address of this machine; a member whose connection ends gets another."""

    def __init__(self, port: int, members: int, host: str = "127.0.0.1") -> None:
        self._address = host, port
        self._poll = select.epoll()
        self._members: dict[int, _Member] = {}
        self._free: deque[_Member] = deque()
        self.reconnects = 0
        for _ in range(members):
            self._join()

    def _join(self) -> None:
        connection = socket.create_connection(self._address, timeout=20)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
        member = _Member(connection)
        self._members[connection.fileno()] = member
        self._poll.register(connection.fileno(), select.EPOLLIN)
        self._free.append(member)

    def _leave(self, member: _Member) -> None:
        self._poll.unregister(member.socket.fileno())
        del self._members[member.socket.fileno()]
        member.socket.close()

    def close(self) -> None:
        for member in list(self._members.values()):
            self._leave(member)
        self._poll.close()

    def __enter__(self) -> "Crowd":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._members)

    def call(
        self, requests: Sequence[bytes], rate: float, seconds: float, patience: float = 10, *, again: bool = True
    ) -> Outcome:
        """Send the requests in turn at this rate for so long, then wait for the answers that are still to come."""
        run = _Run(self, again=again)
        number = unsent = 0
        begun = time.monotonic()
        end = begun + seconds
        while (now := time.monotonic()) < end:
            due = int((now - begun) * rate) - number
            for _ in range(min(due, TURN_SENDS)):
                number += 1
                if not self._free:
                    # All that are due find none free, either.
                    unsent += due
                    number += due - 1
                    break
                run.send(self._free.popleft(), requests[number % len(requests)])
            wait = 0.0 if due > TURN_SENDS else max(0.0, min(begun + (number + 1) / rate, end) - time.monotonic())
            run.receive(wait)
        deadline = time.monotonic() + patience
        while run.waiting and time.monotonic() < deadline:
            run.receive(0.1)
        return run.outcome(unsent)

    def settle(self, patience: float = 60) -> Outcome:
        """One call on every connection, few at a time: afterwards each is known to have been taken up."""
        return self.call_once(ALIVE, SETTLING, patience)

    def call_once(self, request: bytes, at_once: int, patience: float = 60) -> Outcome:
        """One call on every connection, so many at a time."""
        run = _Run(self, again=False)
        deadline = time.monotonic() + patience
        for member in [self._free.popleft() for _ in range(len(self._free))]:
            run.send(member, request)
            while run.waiting >= at_once and time.monotonic() < deadline:
                run.receive(0.1)
        while run.waiting and time.monotonic() < deadline:
            run.receive(0.1)
        return run.outcome(0)


class _Run:
    """The calls of one run, as they come and go."""

    def __init__(self, crowd: Crowd, *, again: bool) -> None:
        self._crowd = crowd
        self._again = again
        self._answers: list[Answer] = []
        self._lost = self._without_retry_after = 0
        self.waiting = 0

    def send(self, member: _Member, request: bytes) -> None:
        member.sent = time.monotonic()
        member.waits = True
        self.waiting += 1
        try:
            sent = member.socket.send(request)
        except OSError:
            self._end(member)
        else:
            if sent < len(request):
                raise AssertionError("a small request fits into the buffer of a connection without others")

    def receive(self, seconds: float) -> None:
        for number, _ in self._crowd._poll.poll(seconds, 512):
            member = self._crowd._members.get(number)
            if member is None:
                continue
            try:
                piece = member.socket.recv(PIECE)
            except BlockingIOError:
                # Its number was another's when this was told.
                continue
            except OSError:
                piece = b""
            if not piece:
                self._end(member)
            elif is_whole(received := member.received + piece):
                self._note(member, received)
            else:
                member.received = received

    def _note(self, member: _Member, received: bytes) -> None:
        status = int(received[9:12])
        self._answers.append(Answer(member.sent, time.monotonic() - member.sent, status))
        if status in (429, 503) and b"\r\nretry-after: " not in received:
            self._without_retry_after += 1
        member.received, member.waits = b"", False
        self.waiting -= 1
        if b"\r\nconnection: close\r\n" in received:
            # As any client does: what it sent on this connection would be lost.
            self._end(member)
        else:
            self._crowd._free.append(member)

    def _end(self, member: _Member) -> None:
        crowd = self._crowd
        crowd._leave(member)
        if member in crowd._free:
            crowd._free.remove(member)
        if member.waits:
            self.waiting -= 1
            self._lost += 1
        if self._again:
            crowd.reconnects += 1
            crowd._join()

    def outcome(self, unsent: int) -> Outcome:
        return Outcome(self._answers, unsent, self._lost, self.waiting, self._without_retry_after)


def is_whole(received: bytes) -> bool:
    """Whether this is an answer to its last byte; all of ours tell their length."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return False
    start = received.find(b"\r\ncontent-length: ", 0, end)
    if start < 0:
        return True
    return len(received) >= end + 4 + int(received[start + 18 : received.find(b"\r\n", start + 2)])
