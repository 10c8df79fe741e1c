"""Requests to OpenStack services: headers, invalid responses, retries, timeouts, concurrency and logging."""

import asyncio
import logging
import socket
import ssl
import threading
import uuid
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from cloudconsole._version import __version__
from cloudconsole.backends.openstack import client as module
from cloudconsole.backends.openstack.client import OpenStackClient, TokenRejected, UpstreamResponse
from cloudconsole.backends.openstack.config import Service
from cloudconsole.spec.errors import ApiError, UpstreamFailed, UpstreamTimeout
from tests.backends.openstack.fake_cloud import CLIENT, WAIT_SECONDS, FakeCloud, Reply, client_limits, open_client
from tests.harness import CERTIFICATES

TOKEN = "gAAAA-the-token"

Result = TypeVar("Result")


async def get(client: OpenStackClient, base_url: str, path: str = "/it", **arguments: Any) -> UpstreamResponse:
    return await client.request(base_url, "GET", path, client=CLIENT, **arguments)


def send(base_url: str, method: str = "GET", *, times: int = 1, **arguments: Any) -> UpstreamResponse:
    """Send a request `times` times in sequence and return the last response."""

    async def scenario() -> UpstreamResponse:
        async with open_client() as client:
            sent = (client.request(base_url, method, "/it", client=CLIENT, **arguments) for _ in range(times))
            return [await response for response in sent][-1]

    return run(scenario())


class AdvancingLoop(asyncio.SelectorEventLoop):
    seconds_ahead = 0.0

    def time(self) -> float:
        return super().time() + self.seconds_ahead


def run(scenario: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine that may call `advance_clock`."""
    with asyncio.Runner(loop_factory=AdvancingLoop) as runner:
        return runner.run(scenario)


def advance_clock() -> None:
    """Let the timeouts of all requests expire."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, AdvancingLoop)
    loop.seconds_ahead += client_limits().call_seconds


async def cancel(tasks: list["asyncio.Task[Any]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


# Requests


def test_request_has_exactly_the_expected_headers(cloud: FakeCloud) -> None:
    cloud.respond("GET", "/it", Reply(body={}))
    send(cloud.address, token=TOKEN, headers={"X-Extra": "1"}, params={"limit": "10", "name": "é&"})
    [request] = cloud.requests
    assert dict(request.headers.items()) == {
        "Host": cloud.address.removeprefix("http://"),
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "User-Agent": f"cloudconsole/{__version__}",
        "X-Auth-Token": TOKEN,
        "X-Extra": "1",
        "X-Forwarded-For": "203.0.113.7",
        "X-Request-ID": "0123456789abcdef",
        "X-OpenStack-Request-ID": module.openstack_request_id("0123456789abcdef"),
    }
    assert request.query == {"limit": "10", "name": "é&"}


def test_request_id_is_a_uuid_that_stays_the_same() -> None:
    number = uuid.uuid4()
    assert module.openstack_request_id(str(number)) == module.openstack_request_id(number.hex) == f"req-{number}"
    assert (
        module.openstack_request_id("mine")
        == module.openstack_request_id("mine")
        != module.openstack_request_id("yours")
    )
    uuid.UUID(module.openstack_request_id("mine").removeprefix("req-"))


def test_connection_is_reused_without_cookies(cloud: FakeCloud) -> None:
    cloud.respond("GET", "/it", Reply(body={}, headers={"Set-Cookie": "a=b; Path=/"}))
    send(cloud.address, times=3)
    assert [(request.connection, request.headers["Cookie"]) for request in cloud.requests] == [(1, None)] * 3


def test_proxy_environment_variables_are_ignored(cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    cloud.respond("GET", "/it", Reply(body={}))
    assert send(cloud.address).status == 200


@pytest.mark.parametrize(
    "base_url",
    [
        "http://",
        "ftp://127.0.0.1",
        "nowhere",
        "http://[",
        "http://127.0.0.1:99999",
        "http://a\nb",
        f"http://{'a' * 64}.example",
    ],
)
def test_invalid_url_is_an_upstream_failure(base_url: str) -> None:
    with pytest.raises(UpstreamFailed):
        send(base_url)


@pytest.mark.parametrize("token", ["secret\r\nX-Other: b", "secret\0", "secret\ud800"])
def test_token_invalid_in_a_header_is_neither_sent_nor_logged(
    cloud: FakeCloud, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(UpstreamFailed):
        send(cloud.address, token=token)
    assert not cloud.requests
    assert "secret" not in caplog.text


# Responses


@pytest.mark.parametrize(
    ("reply", "body"),
    [
        (Reply(203, {"a": [1]}, {"X-Subject-Token": "t"}), {"a": [1]}),
        (Reply(204, headers={"X-Subject-Token": "t"}), None),
        (Reply(404, {"a": 1}, {"X-Subject-Token": "t"}), {"a": 1}),
        (Reply(404, b"<html>", {"X-Subject-Token": "t"}), None),
    ],
    ids=["success", "empty body", "expected status", "expected status with HTML"],
)
def test_response_has_status_headers_and_json_body(cloud: FakeCloud, reply: Reply, body: object) -> None:
    cloud.respond("DELETE", "/it", reply)
    response = send(cloud.address, "DELETE", expected=frozenset({404}))
    assert (response.status, response.headers["x-subject-token"], response.body) == (reply.status, "t", body)


INVALID = {
    "multiple choices": Reply(300, {"versions": {}}),
    "not found": Reply(404, {}),
    "server error": Reply(500, {"secret": 1}),
    "HTML": Reply(body=b"<html>secret"),
    "truncated JSON": Reply(body=b'{"secret": 1'),
    "list": Reply(body=[1]),
    "not UTF-8": Reply(body=b'{"a": "\xff"}'),
    "nested too deeply": Reply(body=b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "cut off": Reply(body={"a": "b" * 100}, instead="cut"),
    "connection closed": Reply(instead="hang up"),
    "connection reset": Reply(instead="reset"),
    "invalid gzip": Reply(body=b"{}", headers={"Content-Encoding": "gzip"}),
    "invalid HTTP": Reply(body={}, headers={"Content-Length": "many"}),
    "invalid header": Reply(headers={"secret": "\0"}),
}


@pytest.mark.parametrize("reply", INVALID.values(), ids=INVALID)
def test_invalid_response_is_a_failure_logged_once_without_secrets(
    cloud: FakeCloud, reply: Reply, caplog: pytest.LogCaptureFixture
) -> None:
    cloud.respond("POST", "/it", reply)
    with caplog.at_level(logging.INFO), pytest.raises(UpstreamFailed):
        send(cloud.address, "POST", token=TOKEN, body={"password": "secret"}, params={"q": "secret"})
    [message] = caplog.messages
    assert f"POST {cloud.address}/it" in message
    assert "secret" not in message
    assert TOKEN not in message


def test_a_redirect_is_not_followed(cloud: FakeCloud) -> None:
    cloud.respond("GET", "/it", Reply(307, headers={"Location": f"{cloud.address}/elsewhere"}))
    with pytest.raises(UpstreamFailed):
        send(cloud.address, token=TOKEN)
    assert cloud.request_lines() == [("GET", "/it")]


def test_response_size_is_limited(cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud.respond("GET", "/it", Reply(body={"a": "b" * 1000}))
    monkeypatch.setattr(module, "MAX_RESPONSE_BYTES", 1009)
    assert send(cloud.address).status == 200
    monkeypatch.setattr(module, "MAX_RESPONSE_BYTES", 1008)
    with pytest.raises(UpstreamFailed):
        send(cloud.address)


def test_rejected_token_is_raised_but_never_logged(cloud: FakeCloud, caplog: pytest.LogCaptureFixture) -> None:
    cloud.respond("GET", "/it", Reply(401, {"error": {}}))
    with pytest.raises(TokenRejected) as rejection:
        send(cloud.address, token=TOKEN)
    assert rejection.value.token == TOKEN
    assert TOKEN not in repr(rejection.value)
    assert f"rejected a token: GET {cloud.address}/it" in caplog.text
    assert TOKEN not in caplog.text


@pytest.mark.parametrize(("status", "error"), [(401, UpstreamFailed), (504, UpstreamTimeout)])
def test_401_without_a_token_and_gateway_timeout(cloud: FakeCloud, status: int, error: type[ApiError]) -> None:
    cloud.respond("GET", "/it", Reply(status, {"error": {}}))
    with pytest.raises(error):
        send(cloud.address)


# Connections and TLS


def test_refused_connection_is_an_upstream_failure() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        with pytest.raises(UpstreamFailed):
            send(f"http://127.0.0.1:{bound.getsockname()[1]}")


def send_trusting(base_url: str, trust: ssl.SSLContext | Path) -> UpstreamResponse:
    async def scenario() -> UpstreamResponse:
        client = OpenStackClient(client_limits(), trust)
        try:
            return await get(client, base_url, token=TOKEN)
        finally:
            await client.close()

    return run(scenario())


def test_ca_file_is_trusted() -> None:
    with FakeCloud(tls=True) as cloud:
        cloud.respond("GET", "/it", Reply(body={}))
        assert send_trusting(cloud.address, CERTIFICATES / "rsa.pem").status == 200


def test_nothing_is_sent_to_an_untrusted_https_server() -> None:
    with FakeCloud(tls=True) as cloud:
        with pytest.raises(UpstreamFailed):
            send_trusting(cloud.address, ssl.create_default_context())
        assert not cloud.requests


def test_required_client_certificate_is_an_upstream_failure(caplog: pytest.LogCaptureFixture) -> None:
    # With TLS 1.3 the client learns this only when it reads the first response.
    with FakeCloud(tls=True, requires_client_certificate=True) as cloud, pytest.raises(UpstreamFailed):
        send(cloud.address)
    assert "CERTIFICATE_REQUIRED" in caplog.text


@pytest.mark.parametrize("instead", ["hang up", "reset"])
def test_request_is_retried_once_when_its_connection_is_lost(cloud: FakeCloud, instead: Any) -> None:
    cloud.respond("GET", "/it", Reply(body={}), Reply(instead=instead), Reply(body={"second": True}))
    assert send(cloud.address, times=2).body == {"second": True}
    assert len(cloud.requests) == 3


@pytest.mark.parametrize(("method", "attempts"), [("GET", 2), ("POST", 1)])
def test_get_is_retried_only_once_and_post_never(cloud: FakeCloud, method: str, attempts: int) -> None:
    cloud.respond(method, "/it", Reply(instead="hang up"))
    with pytest.raises(UpstreamFailed):
        send(cloud.address, method)
    assert len(cloud.requests) == attempts


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_connection_closed_while_idle_fails_no_request(cloud: FakeCloud, method: str) -> None:
    cloud.respond(method, "/it", Reply(body={}, then="close"))

    async def scenario() -> None:
        async with open_client() as client:
            for number in range(1, 4):
                await client.request(cloud.address, method, "/it", client=CLIENT)
                await asyncio.to_thread(cloud.wait_for_disconnects, number)

    run(scenario())
    assert len(cloud.requests) == 3


# Timeouts and concurrency


def test_waiting_for_a_slot_counts_towards_the_timeout(cloud: FakeCloud) -> None:
    cloud.respond("GET", "/it", Reply(instead="freeze"))

    async def scenario() -> list[Any]:
        async with open_client(client_limits(concurrency=1)) as client:
            tasks = [asyncio.create_task(get(client, cloud.address)) for _ in range(5)]
            await asyncio.to_thread(cloud.wait_for_requests, 1)
            advance_clock()
            errors = await asyncio.gather(*tasks, return_exceptions=True)
            cloud.resume()
            # The connection of the request that timed out is not kept.
            await asyncio.to_thread(cloud.wait_for_disconnects, 1)
            return errors

    assert [type(response) for response in run(scenario())] == [UpstreamTimeout] * 5
    assert len(cloud.requests) == 1


def test_concurrency_is_limited_per_service(cloud: FakeCloud) -> None:
    cloud.respond("GET", "/volume/v3/p1/it", Reply(instead="freeze"))
    cloud.respond("GET", "/compute/v2.1/it", Reply(body={}))

    async def scenario() -> int:
        async with open_client(client_limits(concurrency=2)) as client:
            base_url = f"{cloud.address}/volume/v3/p1"
            frozen = [asyncio.create_task(get(client, base_url)) for _ in range(4)]
            await asyncio.to_thread(cloud.wait_for_requests, 2)
            await get(client, f"{cloud.address}/compute/v2.1")
            sent = len(cloud.requests)
            cloud.resume()
            await asyncio.gather(*frozen)
            return sent

    assert run(scenario()) == 2 + 1
    assert len(cloud.requests) == 4 + 1


def test_cancelled_request_releases_its_slot(cloud: FakeCloud) -> None:
    cloud.respond("GET", "/frozen", Reply(instead="freeze"))
    cloud.respond("GET", "/it", Reply(body={}))

    async def scenario() -> int:
        async with open_client(client_limits(concurrency=1)) as client:
            tasks = [asyncio.create_task(get(client, cloud.address, "/frozen")) for _ in range(3)]
            await asyncio.to_thread(cloud.wait_for_requests, 1)
            await cancel(tasks)
            return (await get(client, cloud.address)).status

    assert run(scenario()) == 200


@pytest.mark.parametrize(
    ("base_url", "service"),
    [
        ("http://h:8776/v3/0123abc", "http://h:8776"),
        ("https://h/volume/v3/0123abc", "https://h/volume"),
        ("https://h/compute/v2.1", "https://h/compute"),
        ("https://h/identity", "https://h/identity"),
        ("https://h/", "https://h"),
        ("https://h/v2ray/v2.0/", "https://h/v2ray"),
    ],
)
def test_service_is_its_url_without_version_and_project(base_url: str, service: str) -> None:
    assert module.service_of(base_url) == service


# Observers and logs


class Stopwatch:
    """The client's time: 7 ms pass when a request arrives."""

    def __init__(self) -> None:
        self.nanoseconds = 0
        self.arrived = threading.Event()

    def at_arrival(self, reply: Reply) -> Callable[[object], Reply]:
        def respond(_request: object) -> Reply:
            self.nanoseconds = 7_000_000
            self.arrived.set()
            return reply

        return respond


@pytest.fixture
def stopwatch(monkeypatch: pytest.MonkeyPatch) -> Stopwatch:
    stopwatch = Stopwatch()
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter_ns=lambda: stopwatch.nanoseconds))
    return stopwatch


class RecordingObserver:
    def __init__(self) -> None:
        self.events: list[str] = []

    def started(self, service: Service) -> None:
        self.events.append(f"{service} started")

    def finished(self, service: Service, nanoseconds: int) -> None:
        self.events.append(f"{service} finished after {nanoseconds} ns")

    def failed(self, service: Service, *, was_slow: bool) -> None:
        self.events.append(f"{service} {'was slow' if was_slow else 'failed'}")


@pytest.mark.parametrize(
    ("reply", "failure"),
    [
        (Reply(body={}), []),
        (Reply(401), []),
        (Reply(500), ["volume failed"]),
        (Reply(504), ["volume was slow"]),
        (Reply(body=b"{"), ["volume failed"]),
        (Reply(instead="hang up"), ["volume failed"]),
        (Reply(instead="freeze"), ["volume was slow"]),
    ],
)
def test_observer_sees_every_request_and_failure(
    cloud: FakeCloud, stopwatch: Stopwatch, reply: Reply, failure: list[str]
) -> None:
    cloud.respond("GET", "/it", stopwatch.at_arrival(reply))
    observer = RecordingObserver()

    async def scenario() -> None:
        async with open_client(observer=observer) as client:
            task = asyncio.create_task(get(client, cloud.address, service="volume", token=TOKEN))
            await asyncio.to_thread(stopwatch.arrived.wait, WAIT_SECONDS)
            if reply.instead == "freeze":
                advance_clock()
            with suppress(ApiError, TokenRejected):
                await task

    run(scenario())
    assert observer.events == ["volume started", *failure, "volume finished after 7000000 ns"]


def test_observer_sees_cancelled_and_invalid_requests(cloud: FakeCloud, stopwatch: Stopwatch) -> None:
    cloud.respond("GET", "/frozen", Reply(instead="freeze"))
    cloud.respond("GET", "/it", Reply(body={}))
    observer = RecordingObserver()

    async def scenario() -> None:
        async with open_client(observer=observer) as client:
            task = asyncio.create_task(get(client, cloud.address, "/frozen"))
            await asyncio.to_thread(cloud.wait_for_requests, 1)
            await cancel([task])
            client.invalid_response(await get(client, cloud.address, service="image"), "why")

    run(scenario())
    identity = ["identity started", "identity finished after 0 ns"]
    assert observer.events == [*identity, "image started", "image finished after 0 ns", "image failed"]


def test_request_duration_is_logged_at_debug_level(
    cloud: FakeCloud, stopwatch: Stopwatch, caplog: pytest.LogCaptureFixture
) -> None:
    cloud.respond("GET", "/it", stopwatch.at_arrival(Reply(body={})))
    with caplog.at_level(logging.DEBUG, logger="cloudconsole"):
        send(cloud.address, token=TOKEN, params={"q": "secret"})
    [record] = [record for record in caplog.records if record.name.endswith(".openstack.client")]
    assert record.__dict__["fields"] == {"call": f"GET {cloud.address}/it", "ms": 7.0}
