"""A connection in memory: warm requests without a task, repeated heads, and requests that arrive in pieces."""

import asyncio
import json
from typing import Any, cast

import pytest

from cloudconsole.server.app import Console
from cloudconsole.server.http.connection import MAX_LINGER_BYTES, Connection, Connections
from cloudconsole.server.http.parser import InvalidRequest, RequestParser
from cloudconsole.server.http.request import Request, RequestSequence
from cloudconsole.server.http.response import Response
from cloudconsole.server.metrics.shared_memory import standalone_metrics
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.store.postgres import change_poller
from tests.e2e.raw_http import request
from tests.harness import JSON, ApiClient, InProcessTransport, async_test
from tests.server.http.helpers import FakeTransport

PARAMETERS = {"domainId": "206813"}
CALLS: dict[str, dict[str, Any]] = {
    action.name: {name: PARAMETERS[name] for name in action.parameter_names} for action in ACTIONS
}


@pytest.mark.parametrize("action", CALLS)
def test_a_warm_request_needs_no_task(demo: ApiClient, action: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither opening the session again nor a call whose response is cached waits for anything."""
    # The responses stay cached on a slow machine, too.
    monkeypatch.setattr(change_poller, "LEASE_SECONDS", 3600)
    assert demo.call(action, **CALLS[action]).status == 200
    body = json.dumps({"action": action, **CALLS[action]}).encode()
    cookies = ("Cookie", "; ".join(f"{name}={value}" for name, value in demo.cookies.items()))
    headers = [cookies, ("X-CSRFToken", demo.token), ("Content-Type", JSON), ("Content-Length", str(len(body)))]
    transport = cast("InProcessTransport", demo.transport)
    for sent in (request("GET", "/api/", [cookies]), request("POST", "/api/", headers, body)):
        transport.gather(send_without_tasks(transport.console, sent))


async def send_without_tasks(console: Console, sent: bytes) -> None:
    loop = asyncio.get_running_loop()
    connections = Connections(console.handle, 30, 10, console.sequence, standalone_metrics())
    connection, socket = Connection(connections), FakeTransport()
    connection.connection_made(cast("Any", socket))
    loop.set_task_factory(fail_instead_of_task)
    try:
        for number in (1, 2, 3):
            connection.data_received(sent)
            await asyncio.sleep(0)
            assert socket.written.count(b"HTTP/1.1 200 OK") == number
    finally:
        loop.set_task_factory(None)


def fail_instead_of_task(_loop: asyncio.AbstractEventLoop, work: Any, **_options: Any) -> Any:
    work.close()
    raise AssertionError("a task was created")


def read_requests(*reads: bytes) -> list[tuple[str, str | None, bytes]]:
    """Return path, `X-Name` header and body of the requests that these reads contain."""
    parser, found = RequestParser(cast("Any", None), "", "http", None), []
    for data in reads:
        parser.feed(data, max_waiting=10)
        while parser.waiting and parser.waiting[0].body_complete:
            each = parser.waiting.popleft()
            found.append((each.path, each.head.header(b"x-name"), bytes(each.body)))
    return found


def named(name: str, body: bytes, path: str = "/api/") -> bytes:
    return request("POST", path, [("X-Name", name), ("Content-Length", str(len(body)))], body)


def test_a_repeated_head_gets_its_own_body() -> None:
    sent = [("a", b"one"), ("a", b"two"), ("b", b"six"), ("a", b"ten")]
    found = read_requests(*(named(name, body) for name, body in sent))
    assert [(name, body) for _, name, body in found] == sent


@pytest.mark.parametrize("cut", range(len(named("a", b"one"))))
def test_a_repeated_head_may_be_split_anywhere(cut: int) -> None:
    first, again = named("a", b"one"), named("a", b"two")
    for reads in ([first, again[:cut], again[cut:]], [first, first + again[:cut], again[cut:]]):
        assert read_requests(*filter(None, reads)) == read_requests(b"".join(reads))


def test_data_that_only_looks_like_a_repeated_head_is_body() -> None:
    """The body of a request is the start of another one, and arrives alone."""
    inner = named("a", b"one")
    outer = named("b", inner)
    cut = len(outer) - len(inner)
    assert read_requests(inner, outer[:cut], outer[cut:], inner) == read_requests(inner + outer + inner)


CHUNKED = request("POST", "/api/", [("Transfer-Encoding", "chunked")], b"3\r\none\r\n0\r\n\r\n")


@pytest.mark.parametrize("data", [CHUNKED, named("a", b"one") + named("b", b"two"), named("a" * 5000, b"one")])
def test_other_data_may_be_repeated(data: bytes) -> None:
    assert read_requests(data, data) == 2 * read_requests(data)


def test_repeated_heads_count_as_pipelined_requests() -> None:
    parser, data = RequestParser(cast("Any", None), "", "http", None), named("a", b"one")
    for _ in range(2):
        parser.feed(data, max_waiting=0)
        parser.waiting.clear()
    parser.feed(data, max_waiting=0)
    with pytest.raises(InvalidRequest):
        parser.feed(data, max_waiting=0)


def test_blank_lines_after_a_request_are_not_part_of_the_next_one() -> None:
    first, again, other = named("a", b"hello") + b"\r\n", named("a", b"heLLO"), request("GET", "/")
    reads = [first, again + other[:2], other[2:]]
    assert read_requests(*reads) == read_requests(b"".join(reads))


class Client:
    """A client of a connection in memory, whose requests get their bodies as responses."""

    def __init__(self, connections: Connections | None = None) -> None:
        self.transport = FakeTransport()
        self.connections = connections or Connections(echo, 30, 10, RequestSequence(), standalone_metrics())
        self.connection = Connection(self.connections)
        self.connection.connection_made(cast("Any", self.transport))

    async def send(self, *reads: bytes) -> None:
        for data in reads:
            self.connection.data_received(data)
            await asyncio.sleep(0)

    async def wait_for_responses(self, number: int) -> None:
        while self.transport.written.count(b"HTTP/1.1 200 OK") < number:  # noqa: ASYNC110 - there is no event
            await asyncio.sleep(0)


async def echo(request: Request) -> Response:
    while not request.body_complete:
        await request.receive()
    return Response(body=bytes(request.body))


@async_test
async def test_the_rest_of_a_request_may_arrive_with_the_next_one() -> None:
    client, first, second = Client(), named("a", b"one"), named("a", b"two")
    await client.send(first[:-2], first[-2:] + second)
    await client.wait_for_responses(2)
    written = client.transport.written
    assert written.index(b"\r\n\r\none") < written.index(b"\r\n\r\ntwo")


@async_test
async def test_pipelined_requests_take_turns_with_those_of_other_clients() -> None:
    pipelining = Client()
    other = Client(pipelining.connections)
    pipelining.connection.data_received(50 * named("a", b"one"))
    await other.send(named("a", b"two"))
    assert [client.transport.written.count(b"HTTP/1.1 200 OK") for client in (pipelining, other)] == [1, 1]


@async_test
async def test_a_client_that_pipelines_faster_than_it_is_served_is_paused() -> None:
    client, states = Client(), []
    client.connection.data_received(50 * named("a", b"one"))
    states.append(client.transport.is_reading)
    await client.send(50 * named("a", b"one"))
    for responses in (1, 99, 100):
        await client.wait_for_responses(responses)
        states.append(client.transport.is_reading)
    assert states == [True, False, False, True]


@async_test
async def test_requests_sent_while_the_connection_was_paused_are_rejected() -> None:
    client = Client()
    client.connection.was_late = True
    await client.send(named("a", b"one"))
    assert client.transport.written.startswith(b"HTTP/1.1 503 ")
    client.connection.was_late = False
    await client.send(named("a", b"one"))
    await client.wait_for_responses(1)


@async_test
async def test_a_response_releases_the_body() -> None:
    sent: list[Request] = []

    async def remember(request: Request) -> Response:
        sent.append(request)
        return Response(body=bytes(request.body))

    client = Client(Connections(remember, 30, 10, RequestSequence(), standalone_metrics()))
    await client.send(named("a", b"one"))
    assert client.transport.written.endswith(b"one")
    assert sent[0].body == b""


@async_test
async def test_a_rejected_request_is_not_asked_to_continue() -> None:
    may_read = asyncio.Event()

    async def read_later(request: Request) -> Response:
        await may_read.wait()
        await request.receive()
        return Response()

    client = Client(Connections(read_later, 30, 10, RequestSequence(), standalone_metrics()))
    await client.send(request("POST", "/", [("Expect", "100-continue"), ("Transfer-Encoding", "chunked")]), b"invalid")
    may_read.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert client.transport.written.startswith(b"HTTP/1.1 400 ")
    assert b"100 Continue" not in client.transport.written


@async_test
async def test_a_rejected_client_is_read_until_it_stops_sending() -> None:
    client = Client()
    client.transport.supports_eof = True
    head, chunk = request("POST", "/", [("Transfer-Encoding", "chunked")]), b"11170\r\n%b\r\n" % (b"x" * 70_000)
    await client.send(head + chunk + b"invalid")
    assert client.transport.written.startswith(b"HTTP/1.1 400 ")
    assert (client.transport.sent_eof, client.transport.is_reading) == (True, True)
    await client.send(b"x" * (MAX_LINGER_BYTES + 1))
    assert client.transport.closed
