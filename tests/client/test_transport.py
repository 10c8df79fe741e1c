"""Sync and async connections: retry policy, timeouts, limits, and errors that disclose nothing."""

import socket
import threading
from collections.abc import Iterator
from itertools import pairwise, product, repeat
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from cloudconsole import AsyncConsole, ConnectionFailed, Console, ConsoleClosed, ProtocolError, ServerError
from cloudconsole.client import transport
from cloudconsole.client.options import CallOptions
from cloudconsole.client.retry import MAX_CONNECT_ATTEMPTS, MAX_WAIT, RetryPolicy
from cloudconsole.client.transport import request_failed
from tests.client.conftest import ACCOUNT, Connect, RetryClock, run_concurrently
from tests.client.scripted_server import LOST, Script, ScriptedServer, envelope

SUCCESS = envelope({"done": True})
BUSY = ServerError("busy", code=503)


@pytest.fixture
def client(connect: Connect, scripted_server: ScriptedServer) -> Any:
    return connect(scripted_server.base, **ACCOUNT)


@pytest.fixture
def impatient(client: Any, connect: Connect, scripted_server: ScriptedServer) -> Connect:
    """Create a logged-in client with its own timeout or deadline."""
    client.login()
    return lambda **limits: connect(scripted_server.base, session=client.session, **limits)


def test_retry_after_is_honoured(client: Any, scripted_server: ScriptedServer, retry_clock: RetryClock) -> None:
    scripted_server.actions = [envelope({}, code=503, status=503, headers=[("Retry-After", "1")]), SUCCESS]
    assert client.call("GetIt") == {"done": True}
    (pause,) = retry_clock.pauses
    assert pause >= 1


def test_custom_transport_replaces_the_network(connect: Connect, scripted: Script) -> None:
    assert connect("http://console", **ACCOUNT, transport=scripted.transport).call("GetIt") == {}


def test_context_manager_closes_the_connections(scripted: Script) -> None:
    async def use_async_console() -> None:
        async with AsyncConsole("http://console", **ACCOUNT, transport=scripted.transport) as console:
            await console.login()
        await console.login()

    with Console("http://console", **ACCOUNT, transport=scripted.transport) as console:
        console.login()
    for call in (console.login, lambda: anyio.run(use_async_console)):
        with pytest.raises(ConsoleClosed, match="the client of http://console is closed"):
            call()


def test_refused_connection_is_an_error(connect: Connect, retry_clock: RetryClock) -> None:
    with ScriptedServer() as gone:
        base = gone.base
    with pytest.raises(ConnectionFailed, match="cannot reach http://127"):
        connect(base, **ACCOUNT).news()


@pytest.mark.parametrize(
    ("limits", "pieces", "pause"),
    [
        # No response at all.
        ({"timeout": 0.1}, 1, 600),
        # Each piece comes well within the timeout; together they take 20 s.
        ({"timeout": 0.2}, 1000, 0.02),
        ({"timeout": 60.0, "deadline": 0.2}, 1000, 0.02),
    ],
)
def test_slow_response_is_bounded_by_timeout_and_deadline(
    impatient: Connect, scripted_server: ScriptedServer, limits: dict[str, float], pieces: int, pause: float
) -> None:
    is_over = threading.Event()

    def drops() -> Iterator[bytes]:
        for _ in range(pieces):
            is_over.wait(pause)
            yield b" "

    scripted_server.trickle = drops
    with pytest.raises(ConnectionFailed, match="in time"):
        impatient(**limits).call("DoIt")
    is_over.set()


def test_waiting_for_a_concurrent_login_ends_at_the_deadline(connect: Connect, scripted_server: ScriptedServer) -> None:
    client = connect(scripted_server.base, **ACCOUNT, deadline=0.05)
    hold_login_lock(client)
    for call in (client.login, client.logout, lambda: client.call("GetIt")):
        with pytest.raises(ConnectionFailed, match="a concurrent login"):
            call()
    assert scripted_server.requests == []


def hold_login_lock(client: Any) -> None:
    """Hold the login lock, as if another login never finished."""
    acquire = client._login_lock.acquire
    client._portal.call(acquire) if hasattr(client, "_portal") else acquire()


def test_oversized_response_is_rejected(
    client: Any, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "MAX_BYTES", 1 << 20)
    scripted_server.trickle = lambda: repeat(b" " * 65536)
    with pytest.raises(ProtocolError, match="larger than 1048576 bytes"):
        client.call("GetIt")


@pytest.fixture
def client_with_two_connections(
    connect: Connect, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> Any:
    monkeypatch.setattr(transport, "CONNECTIONS", httpx2.Limits(max_connections=2))
    return connect(scripted_server.base, **ACCOUNT)


def test_oversized_response_releases_its_connection(
    client_with_two_connections: Any, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "MAX_BYTES", 1000)
    scripted_server.actions = [*[envelope("x" * 2000)] * 3, SUCCESS]
    # The errors keep their frames alive, so that no garbage collection closes the connections.
    errors = [run_concurrently(1, lambda: client_with_two_connections.call("GetIt"))[0] for _ in range(3)]
    assert {type(error) for error in errors} == {ProtocolError}
    assert client_with_two_connections.call("GetIt") == {"done": True}


def test_requests_wait_for_a_free_connection(client_with_two_connections: Any, scripted_server: ScriptedServer) -> None:
    scripted_server.actions = [SUCCESS]
    assert run_concurrently(20, lambda: client_with_two_connections.call("GetIt")) == [{"done": True}] * 20


def test_connection_error_does_not_reference_the_request(client: Any, scripted_server: ScriptedServer) -> None:
    scripted_server.login = [LOST]
    with pytest.raises(ConnectionFailed) as raised:
        client.login()
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


@pytest.mark.parametrize(
    ("reason", "is_retried"), [(socket.EAI_NONAME, False), (socket.EAI_AGAIN, True)], ids=["unknown", "temporary"]
)
def test_unknown_host_is_not_retried(
    connect: Connect, retry_clock: RetryClock, monkeypatch: pytest.MonkeyPatch, reason: int, is_retried: bool
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(reason, "no address")

    client = connect("http://console.invalid", **ACCOUNT)
    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(ConnectionFailed, match=r"cannot reach http://console\.invalid") as raised:
        client.news()
    assert (bool(retry_clock.pauses), raised.value.may_recover) == (is_retried, is_retried)


def test_error_does_not_disclose_an_invalid_header() -> None:
    error = httpx2.LocalProtocolError("Illegal header value b'sessionid=s3cret'")
    assert str(request_failed("http://here.example", error, is_closed=False)) == (
        "cannot reach http://here.example: the request is not valid HTTP"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("base_url", "console"),
        ("language", "zh\n"),
        ("language", "é"),
        *product(("timeout", "deadline"), (0, -1, float("nan"), float("inf"), 86_401)),
    ],
)
def test_invalid_option_is_rejected(connect: Connect, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match="invalid console URL" if name == "base_url" else name):
        connect(**{"base_url": "http://x", name: value})


@pytest.mark.parametrize(
    ("verify", "error", "problem"),
    [
        ("no/such.pem", ValueError, "verify: no/such.pem: No such file"),
        (Path(__file__), ValueError, "^verify: .* contains no PEM certificate$"),
        (5, TypeError, "verify must be"),
    ],
)
def test_invalid_verify_is_rejected(connect: Connect, verify: Any, error: type[Exception], problem: str) -> None:
    with pytest.raises(error, match=problem):
        connect("https://console.example", verify=verify)


class TestRetryPolicy:
    def waits(self, error: ServerError | ConnectionFailed, number: int) -> list[float | None]:
        policy = RetryPolicy(CallOptions(deadline=600))
        return [policy.wait_after(error, may_repeat=True) for _ in range(number)]

    def test_waits_are_jittered(self) -> None:
        first = [RetryPolicy(CallOptions(deadline=60)).wait_after(BUSY, may_repeat=True) or 0 for _ in range(100)]
        assert 0.05 <= min(first) < max(first) <= 0.1

    def test_waits_grow_up_to_a_maximum(self) -> None:
        lengths = [wait or 0 for wait in self.waits(BUSY, 12)]
        assert lengths[-1] <= MAX_WAIT
        # The nominal wait doubles, and jitter takes up to half of it off.
        assert all(after >= before / 2 for before, after in pairwise(lengths))
        assert lengths[6] > 2 * lengths[0]

    def test_retry_after_is_the_minimum_wait(self) -> None:
        wait = RetryPolicy(CallOptions(deadline=60)).wait_after(
            ServerError("busy", code=503, retry_after=7), may_repeat=True
        )
        assert wait is not None
        assert 7 <= wait < 8

    def test_no_wait_exceeds_the_remaining_time(self) -> None:
        assert (
            RetryPolicy(CallOptions(deadline=1)).wait_after(
                ServerError("busy", code=503, retry_after=2), may_repeat=True
            )
            is None
        )

    def test_refused_connection_is_retried_only_a_few_times(self) -> None:
        refused_connection = ConnectionFailed("refused", was_sent=False)
        *tries, last = self.waits(refused_connection, MAX_CONNECT_ATTEMPTS + 1)
        assert None not in tries
        assert last is None

    def test_error_that_would_come_again_is_not_retried(self) -> None:
        assert self.waits(ConnectionFailed("unknown host", was_sent=False, may_recover=False), 1) == [None]

    def test_other_errors_do_not_count_as_connect_attempts(self) -> None:
        policy = RetryPolicy(CallOptions(deadline=600))
        for _ in range(9):
            policy.wait_after(BUSY, may_repeat=True)
        assert policy.wait_after(ConnectionFailed("refused", was_sent=False), may_repeat=True) is not None

    def test_deadline_is_paused_during_a_prompt(self, retry_clock: RetryClock) -> None:
        policy = RetryPolicy(CallOptions(deadline=5))
        with policy.paused():
            retry_clock.sleep(60)
        assert policy.remaining == 5
