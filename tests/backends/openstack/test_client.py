"""Requests to OpenStack services: headers, invalid responses, retries, timeouts, concurrency and logging."""

import asyncio
import logging
import socket
import ssl
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from msgspec import Struct

from cloudconsole._version import __version__
from cloudconsole.backends.openstack import client as module
from cloudconsole.backends.openstack.client import (
    CallObserver,
    OpenStackClient,
    TokenRejected,
    UpstreamResponse,
    openstack_request_id,
    service_of,
)
from cloudconsole.backends.openstack.config import ClientLimits, Service
from cloudconsole.core.ports import ClientInfo
from cloudconsole.spec.errors import ApiError, UpstreamFailed, UpstreamTimeout
from tests.backends.openstack.fake_cloud import FakeCloud, Reply
from tests.harness import CERTIFICATES, client_ssl_context

TOKEN = "gAAAA-the-token"
CLIENT = ClientInfo("203.0.113.7", "0123456789abcdef")


@asynccontextmanager
async def open_client(
    limits: ClientLimits | None = None, trust: ssl.SSLContext | None = None, observer: CallObserver | None = None
) -> AsyncIterator[OpenStackClient]:
    client = OpenStackClient(limits or ClientLimits(), trust or client_ssl_context(), observer)
    try:
        yield client
    finally:
        await client.close()


def send(
    base_url: str, method: str = "GET", path: str = "/it", *, times: int = 1, **arguments: Any
) -> UpstreamResponse:
    """Send a request `times` times in sequence and return the last response."""

    async def run() -> UpstreamResponse:
        async with open_client() as client:
            for _ in range(times - 1):
                await client.request(base_url, method, path, client=CLIENT, **arguments)
            return await client.request(base_url, method, path, client=CLIENT, **arguments)

    return asyncio.run(run())


def test_response_has_status_headers_and_json_body(cloud: FakeCloud) -> None:
    cloud.respond("GET", "/it", Reply(203, {"a": [1]}, {"X-Subject-Token": "t"}))
    response = send(cloud.address)
    assert (response.status, response.headers["x-subject-token"], response.body) == (203, "t", {"a": [1]})


def test_empty_body_is_none(cloud: FakeCloud) -> None:
    cloud.respond("DELETE", "/it", Reply(204))
    assert send(cloud.address, "DELETE").body is None


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
        "X-OpenStack-Request-ID": openstack_request_id("0123456789abcdef"),
    }
    assert request.query == {"limit": "10", "name": "é&"}


def test_request_without_a_token_has_no_token_header(cloud: FakeCloud) -> None:
    cloud.respond("POST", "/it", Reply(201, {}))
    send(cloud.address, "POST", body={"auth": "é"})
    [request] = cloud.requests
    assert (request.headers["X-Auth-Token"], request.headers["Content-Type"]) == (None, "application/json")
    assert request.body == {"auth": "é"}


def test_uuid_request_id_is_forwarded_unchanged() -> None:
    number = uuid.uuid4()
    assert openstack_request_id(str(number)) == openstack_request_id(number.hex) == f"req-{number}"


def test_other_request_id_maps_to_a_stable_uuid() -> None:
    assert openstack_request_id("mine") == openstack_request_id("mine") != openstack_request_id("yours")
    uuid.UUID(openstack_request_id("mine").removeprefix("req-"))


def test_connection_is_reused(cloud: FakeCloud) -> None:
    cloud.respond("GET", "/it", Reply(body={}))
    send(cloud.address, times=3)
    assert {request.connection for request in cloud.requests} == {1}


def test_response_cookies_are_not_sent_back(cloud: FakeCloud) -> None:
    cloud.respond("GET", "/it", Reply(body={}, headers={"Set-Cookie": "a=b; Path=/"}))
    send(cloud.address, times=2)
    assert cloud.requests[1].headers["Cookie"] is None


def test_proxy_environment_variables_are_ignored(cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    cloud.respond("GET", "/it", Reply(body={}))
    assert send(cloud.address).status == 200


INVALID = {
    "redirect": Reply(302, headers={"Location": "/elsewhere"}),
    "multiple choices": Reply(300, {"versions": {}}),
    "forbidden": Reply(403, {"error": {}}),
    "not found": Reply(404, {}),
    "too many requests": Reply(429, {}),
    "server error": Reply(500, {}),
    "unavailable": Reply(503, {}),
    "HTML": Reply(body=b"<html>"),
    "truncated JSON": Reply(body=b'{"a": 1'),
    "list": Reply(body=[1]),
    "number": Reply(body=7),
    "not UTF-8": Reply(body=b'{"a": "\xff"}'),
    "nested too deeply": Reply(body=b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "cut off": Reply(body={"a": "b" * 100}, instead="cut"),
    "connection closed": Reply(instead="hang up"),
    "connection reset": Reply(instead="reset"),
    "invalid gzip": Reply(body=b"{}", headers={"Content-Encoding": "gzip"}),
    "invalid HTTP": Reply(body={}, headers={"Content-Length": "many"}),
}


@pytest.mark.parametrize("reply", INVALID.values(), ids=INVALID)
def test_invalid_response_is_an_upstream_failure(cloud: FakeCloud, reply: Reply) -> None:
    cloud.respond("GET", "/it", reply)
    with pytest.raises(UpstreamFailed):
        send(cloud.address, token=TOKEN)


def test_a_redirect_is_not_followed(cloud: FakeCloud) -> None:
    cloud.respond("GET", "/it", Reply(307, headers={"Location": f"{cloud.address}/elsewhere"}))
    with pytest.raises(UpstreamFailed):
        send(cloud.address, token=TOKEN)
    assert cloud.request_lines() == [("GET", "/it")]


def test_expected_error_status_is_returned(cloud: FakeCloud) -> None:
    cloud.respond("GET", "/it", Reply(404, {"a": 1}))
    response = send(cloud.address, expected=frozenset({404}))
    assert (response.status, response.body) == (404, {"a": 1})


def test_html_body_of_an_expected_status_is_ignored(cloud: FakeCloud) -> None:
    cloud.respond("GET", "/it", Reply(404, b"<html>"))
    assert send(cloud.address, expected=frozenset({404})).body is None


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


def test_401_without_a_token_is_an_upstream_failure(cloud: FakeCloud) -> None:
    cloud.respond("GET", "/it", Reply(401, {"error": {}}))
    with pytest.raises(UpstreamFailed):
        send(cloud.address)


def test_gateway_timeout_is_an_upstream_timeout(cloud: FakeCloud) -> None:
    cloud.respond("GET", "/it", Reply(504))
    with pytest.raises(UpstreamTimeout):
        send(cloud.address)


def test_refused_connection_is_an_upstream_failure() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        with pytest.raises(UpstreamFailed):
            send(f"http://127.0.0.1:{bound.getsockname()[1]}")


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
        "http://a..example",
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


def test_https_works_with_a_trusted_certificate() -> None:
    with FakeCloud(tls=True) as cloud:
        cloud.respond("GET", "/it", Reply(body={}))
        assert send(cloud.address).status == 200


def test_nothing_is_sent_to_an_untrusted_https_server() -> None:
    async def run(base_url: str) -> None:
        async with open_client(trust=ssl.create_default_context()) as client:
            await client.request(base_url, "GET", "/it", client=CLIENT, token=TOKEN)

    with FakeCloud(tls=True) as cloud:
        with pytest.raises(UpstreamFailed):
            asyncio.run(run(cloud.address))
        assert not cloud.requests


def test_required_client_certificate_is_an_upstream_failure(caplog: pytest.LogCaptureFixture) -> None:
    # With TLS 1.3 the client learns this only when it reads the first response.
    with FakeCloud(tls=True, requires_client_certificate=True) as cloud, pytest.raises(UpstreamFailed):
        send(cloud.address)
    assert "CERTIFICATE_REQUIRED" in caplog.text


def test_ca_file_is_trusted() -> None:
    async def run(base_url: str) -> UpstreamResponse:
        client = OpenStackClient(ClientLimits(), CERTIFICATES / "rsa.pem")
        response = await client.request(base_url, "GET", "/it", client=CLIENT)
        await client.close()
        return response

    with FakeCloud(tls=True) as cloud:
        cloud.respond("GET", "/it", Reply(body={}))
        assert asyncio.run(run(cloud.address)).status == 200


@pytest.mark.parametrize("instead", ["hang up", "reset"])
def test_request_is_retried_once_when_its_connection_is_lost(cloud: FakeCloud, instead: Any) -> None:
    cloud.respond("GET", "/it", Reply(body={}), Reply(instead=instead), Reply(body={"second": True}))
    assert send(cloud.address, times=2).body == {"second": True}
    assert len(cloud.requests) == 3


def test_request_is_not_retried_twice(cloud: FakeCloud) -> None:
    cloud.respond("GET", "/it", Reply(instead="hang up"))
    with pytest.raises(UpstreamFailed):
        send(cloud.address)
    assert len(cloud.requests) == 2


def test_post_is_not_retried(cloud: FakeCloud) -> None:
    cloud.respond("POST", "/it", Reply(instead="hang up"))
    with pytest.raises(UpstreamFailed):
        send(cloud.address, "POST", body={})
    assert len(cloud.requests) == 1


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_connection_closed_while_idle_fails_no_request(cloud: FakeCloud, method: str) -> None:
    cloud.respond(method, "/it", Reply(body={}, then="close"))

    async def run() -> None:
        async with open_client() as client:
            for _ in range(5):
                await client.request(cloud.address, method, "/it", client=CLIENT)
                await asyncio.sleep(0.05)

    asyncio.run(run())
    assert len(cloud.requests) == 5


def test_slow_response_times_out_at_the_deadline(cloud: FakeCloud) -> None:
    cloud.respond("GET", "/it", Reply(instead="freeze"))

    async def run() -> None:
        async with open_client(ClientLimits(call_seconds=0.05)) as client:
            await client.request(cloud.address, "GET", "/it", client=CLIENT)

    with pytest.raises(UpstreamTimeout):
        asyncio.run(run())


def test_waiting_for_a_slot_counts_towards_the_deadline(cloud: FakeCloud) -> None:
    cloud.respond("GET", "/it", Reply(instead="freeze"))

    async def run() -> list[Any]:
        async with open_client(ClientLimits(call_seconds=0.2, concurrency=1)) as client:
            several = (client.request(cloud.address, "GET", "/it", client=CLIENT) for _ in range(20))
            return await asyncio.gather(*several, return_exceptions=True)

    assert [type(response) for response in asyncio.run(run())] == [UpstreamTimeout] * 20
    # If it did not count, each would get the slot; a few may still get it between two deadlines.
    assert len(cloud.requests) < 10


def test_concurrency_per_service_is_limited(cloud: FakeCloud) -> None:
    cloud.respond("GET", "/it", Reply(body={}, seconds=0.01))

    async def run() -> None:
        async with open_client(ClientLimits(concurrency=3)) as client:
            await asyncio.gather(*(client.request(cloud.address, "GET", "/it", client=CLIENT) for _ in range(12)))

    asyncio.run(run())
    assert cloud.max_concurrent == 3


def test_frozen_service_takes_no_slots_of_another(cloud: FakeCloud) -> None:
    cloud.respond("GET", "/volume/v3/p1/it", Reply(instead="freeze"))
    cloud.respond("GET", "/compute/v2.1/it", Reply(body={}))

    async def run() -> int:
        async with open_client(ClientLimits(concurrency=2)) as client:
            base_url = f"{cloud.address}/volume/v3/p1"
            frozen = [asyncio.create_task(client.request(base_url, "GET", "/it", client=CLIENT)) for _ in range(4)]
            await asyncio.sleep(0.05)
            response = await client.request(f"{cloud.address}/compute/v2.1", "GET", "/it", client=CLIENT)
            for task in frozen:
                task.cancel()
            await asyncio.gather(*frozen, return_exceptions=True)
            return response.status

    assert asyncio.run(run()) == 200


def test_cancelled_request_releases_its_slot(cloud: FakeCloud) -> None:
    cloud.respond("GET", "/frozen", Reply(instead="freeze"))
    cloud.respond("GET", "/it", Reply(body={}))

    async def run() -> int:
        async with open_client(ClientLimits(concurrency=1)) as client:
            tasks = [
                asyncio.create_task(client.request(cloud.address, "GET", "/frozen", client=CLIENT)) for _ in range(3)
            ]
            await asyncio.sleep(0.05)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            response = await client.request(cloud.address, "GET", "/it", client=CLIENT)
            return response.status

    assert asyncio.run(run()) == 200


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
    assert service_of(base_url) == service


class RecordingObserver:
    """Records its events, without the times."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def started(self, service: Service) -> None:
        self.events.append(f"begun {service}")

    def finished(self, service: Service, nanoseconds: int) -> None:
        assert nanoseconds > 0
        self.events.append(f"ended {service}")

    def failed(self, service: Service, *, was_slow: bool) -> None:
        self.events.append(f"{'slow' if was_slow else 'failed'} {service}")


@pytest.mark.parametrize(
    ("reply", "failure"),
    [
        (Reply(body={}), []),
        (Reply(401), []),
        (Reply(500), ["failed volume"]),
        (Reply(504), ["slow volume"]),
        (Reply(body=b"{"), ["failed volume"]),
        (Reply(instead="hang up"), ["failed volume"]),
        (Reply(instead="freeze"), ["slow volume"]),
    ],
)
def test_observer_sees_every_request_and_failure(cloud: FakeCloud, reply: Reply, failure: list[str]) -> None:
    cloud.respond("GET", "/it", reply)
    observer = RecordingObserver()

    async def run() -> None:
        async with open_client(ClientLimits(call_seconds=0.2), observer=observer) as client:
            with suppress(ApiError, TokenRejected):
                await client.request(cloud.address, "GET", "/it", client=CLIENT, service="volume", token=TOKEN)

    asyncio.run(run())
    assert observer.events == ["begun volume", *failure, "ended volume"]


def test_observer_sees_cancelled_and_invalid_requests(cloud: FakeCloud) -> None:
    cloud.respond("GET", "/frozen", Reply(instead="freeze"))
    cloud.respond("GET", "/it", Reply(body={}))
    observer = RecordingObserver()

    async def run() -> None:
        async with open_client(observer=observer) as client:
            task = asyncio.create_task(client.request(cloud.address, "GET", "/frozen", client=CLIENT))
            await asyncio.sleep(0.05)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            client.invalid_response(
                await client.request(cloud.address, "GET", "/it", client=CLIENT, service="image"), "why"
            )

    asyncio.run(run())
    assert observer.events == ["begun identity", "ended identity", "begun image", "ended image", "failed image"]


GARBLED = Reply(headers={"secret": "\0"})


@pytest.mark.parametrize("reply", [Reply(500, {"secret": 1}), Reply(body=b"secret"), Reply(instead="reset"), GARBLED])
def test_failure_is_logged_once_without_secrets(
    cloud: FakeCloud, reply: Reply, caplog: pytest.LogCaptureFixture
) -> None:
    cloud.respond("POST", "/it", reply)
    with caplog.at_level(logging.INFO), pytest.raises(UpstreamFailed):
        send(cloud.address, "POST", token=TOKEN, body={"password": "secret"}, params={"q": "secret"})
    [message] = caplog.messages
    assert f"POST {cloud.address}/it" in message
    assert "secret" not in message
    assert TOKEN not in message


def test_request_duration_is_logged_at_debug_level(cloud: FakeCloud, caplog: pytest.LogCaptureFixture) -> None:
    cloud.respond("GET", "/it", Reply(body={}))
    with caplog.at_level(logging.DEBUG, logger="cloudconsole"):
        send(cloud.address, token=TOKEN, params={"q": "secret"})
    [record] = [record for record in caplog.records if record.name.endswith(".openstack.client")]
    fields = record.__dict__["fields"]
    assert fields["call"] == f"GET {cloud.address}/it"
    assert 0 < fields["ms"] < 60_000


class Named(Struct):
    name: str


def read_body(body: object) -> Named:
    with FakeCloud() as cloud:
        cloud.respond("GET", "/it", Reply(body=body))

        async def run() -> Named:
            async with open_client() as client:
                response = await client.request(cloud.address, "GET", "/it", client=CLIENT)
                return client.read(response, Named)

        return asyncio.run(run())


def test_body_is_decoded_ignoring_unknown_fields() -> None:
    assert read_body({"name": "n", "more": [1]}) == Named("n")


@pytest.mark.parametrize("body", [{}, {"name": None}, {"name": 1}, None])
def test_body_of_the_wrong_shape_is_an_upstream_failure(body: object, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(UpstreamFailed):
        read_body(body)
    assert len(caplog.messages) == 1
