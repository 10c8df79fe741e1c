"""The crowd of callers itself: what it sends, what it takes for an answer, what it counts."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from cluster.crowd import Crowd, is_whole

ASKED = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@pytest.mark.parametrize(
    ("received", "whole"),
    [
        (b"", False),
        (OK[:-1], False),
        (OK, True),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n", False),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", True),
        (b"HTTP/1.1 204 No Content\r\ndate: now\r\n\r\n", True),
    ],
)
def test_an_answer_is_whole_when_its_last_byte_is_there(received: bytes, whole: bool) -> None:
    assert is_whole(received) == whole


@contextmanager
def answering(answer: bytes, *, closes: bool = False) -> Iterator[int]:
    """A server that gives always the same answer, in two pieces; it may end each connection after the first."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=100)

    def attend(taken: socket.socket) -> None:
        with taken, suppress(OSError):
            while taken.recv(65536):
                taken.sendall(answer[:5])
                taken.sendall(answer[5:])
                if closes:
                    return

    def listen() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=attend, args=(listener.accept()[0],), daemon=True).start()

    listening = threading.Thread(target=listen)
    listening.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        listening.join()


def test_calls_begin_when_they_are_due_and_each_is_answered() -> None:
    with answering(OK) as port, Crowd(port, 50) as crowd:
        outcome = crowd.call([ASKED], 200, 0.5)
    assert outcome.statuses == {200: len(outcome.answers)}
    assert 0 < len(outcome.answers) + outcome.unsent <= 100
    assert all(seconds > 0 for seconds in outcome.times())
    assert (outcome.lost, outcome.unanswered, outcome.without_retry_after) == (0, 0, 0)


def test_a_call_that_finds_no_connection_free_is_not_sent() -> None:
    with answering(b"") as port, Crowd(port, 3) as crowd:
        outcome = crowd.call([ASKED], 1000, 0.2, patience=0)
    assert outcome.unanswered == 3
    assert outcome.unsent > 0
    assert outcome.answers == []


def test_every_connection_settles_by_one_call() -> None:
    with answering(OK) as port, Crowd(port, 40) as crowd:
        assert crowd.settle().statuses == {200: 40}
        assert len(crowd) == 40


def test_a_whole_crowd_may_call_at_once() -> None:
    with answering(OK) as port, Crowd(port, 40) as crowd:
        assert crowd.call_once(ASKED, 40).statuses == {200: 40}


def test_a_refusal_that_names_no_time_is_counted() -> None:
    with answering(b"HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n") as port, Crowd(port, 1) as crowd:
        assert crowd.settle().without_retry_after == 1
    named = b"HTTP/1.1 503 No\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n"
    with answering(named) as port, Crowd(port, 1) as crowd:
        assert crowd.settle().without_retry_after == 0


def test_whose_connection_ends_gets_another() -> None:
    with answering(OK, closes=True) as port, Crowd(port, 2) as crowd:
        outcome = crowd.call([ASKED], 100, 0.3)
        assert len(outcome.answers) > 2
        assert len(crowd) == 2
        assert crowd.reconnects > 0


def test_nothing_is_sent_on_a_connection_that_was_called_the_last() -> None:
    last = b"HTTP/1.1 503 No\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    with answering(last) as port, Crowd(port, 2) as crowd:
        outcome = crowd.call([ASKED], 100, 0.3)
        assert (outcome.lost, crowd.reconnects) == (0, len(outcome.answers))


def test_an_answer_that_breaks_off_is_lost() -> None:
    with answering(OK[:-1], closes=True) as port, Crowd(port, 1) as crowd:
        assert crowd.call([ASKED], 10, 0.15).lost > 0
