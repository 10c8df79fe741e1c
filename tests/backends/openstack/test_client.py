"""Calls to services behind us: what is sent, what is taken for an answer, and what one slow service does to others."""

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
from tests.backends.openstack.fake_cloud import CloudDouble, Reply
from tests.harness import CERTIFICATES, trusting_tests

TOKEN = "gAAAA-the-token"
CALLER = ClientInfo("203.0.113.7", "0123456789abcdef")


@asynccontextmanager
async def opened(
    manners: ClientLimits | None = None, trust: ssl.SSLContext | None = None, watcher: CallObserver | None = None
) -> AsyncIterator[OpenStackClient]:
    upstream = OpenStackClient(manners or ClientLimits(), trust or trusting_tests(), watcher)
    try:
        yield upstream
    finally:
        await upstream.close()


def ask(place: str, method: str = "GET", path: str = "/it", *, times: int = 1, **arguments: Any) -> UpstreamResponse:
    """The last answer of so many calls, one after the other."""

    async def calls() -> UpstreamResponse:
        async with opened() as upstream:
            for _ in range(times - 1):
                await upstream.request(place, method, path, client=CALLER, **arguments)
            return await upstream.request(place, method, path, client=CALLER, **arguments)

    return asyncio.run(calls())


def test_gives_the_status_the_headers_and_the_object(cloud: CloudDouble) -> None:
    cloud.answers("GET", "/it", Reply(203, {"a": [1]}, {"X-Subject-Token": "t"}))
    answer = ask(cloud.address)
    assert (answer.status, answer.headers["x-subject-token"], answer.body) == (203, "t", {"a": [1]})


def test_no_body_is_none(cloud: CloudDouble) -> None:
    cloud.answers("DELETE", "/it", Reply(204))
    assert ask(cloud.address, "DELETE").body is None


def test_sends_whose_call_it_is_and_nothing_of_its_own(cloud: CloudDouble) -> None:
    cloud.answers("GET", "/it", Reply(body={}))
    ask(cloud.address, token=TOKEN, headers={"X-Extra": "1"}, params={"limit": "10", "name": "é&"})
    [asked] = cloud.asked
    assert dict(asked.headers.items()) == {
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
    assert asked.query == {"limit": "10", "name": "é&"}


def test_without_a_token_sends_none(cloud: CloudDouble) -> None:
    cloud.answers("POST", "/it", Reply(201, {}))
    ask(cloud.address, "POST", body={"auth": "é"})
    [asked] = cloud.asked
    assert (asked.headers["X-Auth-Token"], asked.headers["Content-Type"]) == (None, "application/json")
    assert asked.body == {"auth": "é"}


def test_a_request_id_that_is_a_uuid_is_handed_on_as_it_is() -> None:
    number = uuid.uuid4()
    assert openstack_request_id(str(number)) == openstack_request_id(number.hex) == f"req-{number}"


def test_any_other_request_id_always_becomes_the_same_uuid() -> None:
    assert openstack_request_id("mine") == openstack_request_id("mine") != openstack_request_id("yours")
    uuid.UUID(openstack_request_id("mine").removeprefix("req-"))


def test_a_connection_is_used_again(cloud: CloudDouble) -> None:
    cloud.answers("GET", "/it", Reply(body={}))
    ask(cloud.address, times=3)
    assert {asked.connection for asked in cloud.asked} == {1}


def test_a_cookie_of_one_answer_goes_along_with_no_other_call(cloud: CloudDouble) -> None:
    cloud.answers("GET", "/it", Reply(body={}, headers={"Set-Cookie": "a=b; Path=/"}))
    ask(cloud.address, times=2)
    assert cloud.asked[1].headers["Cookie"] is None


def test_proxies_of_the_environment_are_not_asked(cloud: CloudDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    cloud.answers("GET", "/it", Reply(body={}))
    assert ask(cloud.address).status == 200


NONSENSE = {
    "a redirect": Reply(302, headers={"Location": "/elsewhere"}),
    "several choices": Reply(300, {"versions": {}}),
    "a refusal": Reply(403, {"error": {}}),
    "not there": Reply(404, {}),
    "too many": Reply(429, {}),
    "a fault": Reply(500, {}),
    "unavailable": Reply(503, {}),
    "a page": Reply(body=b"<html>"),
    "half an object": Reply(body=b'{"a": 1'),
    "a list": Reply(body=[1]),
    "a number": Reply(body=7),
    "not UTF-8": Reply(body=b'{"a": "\xff"}'),
    "nested too deep": Reply(body=b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "cut": Reply(body={"a": "b" * 100}, instead="cut"),
    "hung up": Reply(instead="hang up"),
    "reset": Reply(instead="reset"),
    "badly packed": Reply(body=b"{}", headers={"Content-Encoding": "gzip"}),
    "no HTTP": Reply(body={}, headers={"Content-Length": "many"}),
}


@pytest.mark.parametrize("reply", NONSENSE.values(), ids=NONSENSE)
def test_what_is_no_answer_is_the_clouds_failure(cloud: CloudDouble, reply: Reply) -> None:
    cloud.answers("GET", "/it", reply)
    with pytest.raises(UpstreamFailed):
        ask(cloud.address, token=TOKEN)


def test_a_redirect_is_not_followed(cloud: CloudDouble) -> None:
    cloud.answers("GET", "/it", Reply(307, headers={"Location": f"{cloud.address}/elsewhere"}))
    with pytest.raises(UpstreamFailed):
        ask(cloud.address, token=TOKEN)
    assert cloud.calls() == [("GET", "/it")]


def test_a_status_that_is_expected_is_an_answer(cloud: CloudDouble) -> None:
    cloud.answers("GET", "/it", Reply(404, {"a": 1}))
    answer = ask(cloud.address, expected=frozenset({404}))
    assert (answer.status, answer.body) == (404, {"a": 1})


def test_the_page_that_comes_with_an_expected_status_is_nothing(cloud: CloudDouble) -> None:
    cloud.answers("GET", "/it", Reply(404, b"<html>"))
    assert ask(cloud.address, expected=frozenset({404})).body is None


def test_an_answer_may_be_of_so_many_bytes_and_no_more(cloud: CloudDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud.answers("GET", "/it", Reply(body={"a": "b" * 1000}))
    monkeypatch.setattr(module, "MAX_RESPONSE_BYTES", 1009)
    assert ask(cloud.address).status == 200
    monkeypatch.setattr(module, "MAX_RESPONSE_BYTES", 1008)
    with pytest.raises(UpstreamFailed):
        ask(cloud.address)


def test_a_tenants_token_that_is_refused_is_named_but_not_told(
    cloud: CloudDouble, caplog: pytest.LogCaptureFixture
) -> None:
    cloud.answers("GET", "/it", Reply(401, {"error": {}}))
    with pytest.raises(TokenRejected) as refusal:
        ask(cloud.address, token=TOKEN)
    assert refusal.value.token == TOKEN
    assert TOKEN not in repr(refusal.value)
    assert f"rejected a token: GET {cloud.address}/it" in caplog.text
    assert TOKEN not in caplog.text


def test_a_401_without_a_token_is_the_clouds_failure(cloud: CloudDouble) -> None:
    cloud.answers("GET", "/it", Reply(401, {"error": {}}))
    with pytest.raises(UpstreamFailed):
        ask(cloud.address)


def test_a_gateway_that_waited_in_vain_is_a_timeout(cloud: CloudDouble) -> None:
    cloud.answers("GET", "/it", Reply(504))
    with pytest.raises(UpstreamTimeout):
        ask(cloud.address)


def test_nobody_listens() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        with pytest.raises(UpstreamFailed):
            ask(f"http://127.0.0.1:{bound.getsockname()[1]}")


@pytest.mark.parametrize(
    "place",
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
def test_an_address_that_is_none(place: str) -> None:
    with pytest.raises(UpstreamFailed):
        ask(place)


@pytest.mark.parametrize("token", ["secret\r\nX-Other: b", "secret\0", "secret\ud800"])
def test_a_token_that_fits_no_header_is_neither_sent_nor_told(
    cloud: CloudDouble, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(UpstreamFailed):
        ask(cloud.address, token=token)
    assert not cloud.asked
    assert "secret" not in caplog.text


def test_https_is_spoken_with_those_who_are_trusted() -> None:
    with CloudDouble(tls=True) as cloud:
        cloud.answers("GET", "/it", Reply(body={}))
        assert ask(cloud.address).status == 200


def test_https_with_anybody_else_sends_nothing() -> None:
    async def call(place: str) -> None:
        async with opened(trust=ssl.create_default_context()) as upstream:
            await upstream.request(place, "GET", "/it", client=CALLER, token=TOKEN)

    with CloudDouble(tls=True) as cloud:
        with pytest.raises(UpstreamFailed):
            asyncio.run(call(cloud.address))
        assert not cloud.asked


def test_who_wants_a_certificate_of_ours_is_the_clouds_failure(caplog: pytest.LogCaptureFixture) -> None:
    # With TLS 1.3 that is only told when the first answer is read.
    with CloudDouble(tls=True, wants_certificate=True) as cloud, pytest.raises(UpstreamFailed):
        ask(cloud.address)
    assert "CERTIFICATE_REQUIRED" in caplog.text


def test_a_file_says_whom_to_trust() -> None:
    async def call(place: str) -> UpstreamResponse:
        upstream = OpenStackClient(ClientLimits(), CERTIFICATES / "rsa.pem")
        answer = await upstream.request(place, "GET", "/it", client=CALLER)
        await upstream.close()
        return answer

    with CloudDouble(tls=True) as cloud:
        cloud.answers("GET", "/it", Reply(body={}))
        assert asyncio.run(call(cloud.address)).status == 200


@pytest.mark.parametrize("instead", ["hang up", "reset"])
def test_a_kept_connection_that_is_lost_in_use_is_replaced_once(cloud: CloudDouble, instead: Any) -> None:
    cloud.answers("GET", "/it", Reply(body={}), Reply(instead=instead), Reply(body={"second": True}))
    assert ask(cloud.address, times=2).body == {"second": True}
    assert len(cloud.asked) == 3


def test_what_is_lost_twice_is_not_asked_a_third_time(cloud: CloudDouble) -> None:
    cloud.answers("GET", "/it", Reply(instead="hang up"))
    with pytest.raises(UpstreamFailed):
        ask(cloud.address)
    assert len(cloud.asked) == 2


def test_what_changes_something_is_not_sent_again(cloud: CloudDouble) -> None:
    cloud.answers("POST", "/it", Reply(instead="hang up"))
    with pytest.raises(UpstreamFailed):
        ask(cloud.address, "POST", body={})
    assert len(cloud.asked) == 1


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_connection_that_was_closed_while_idle_fails_no_call(cloud: CloudDouble, method: str) -> None:
    cloud.answers(method, "/it", Reply(body={}, then="close"))

    async def calls() -> None:
        async with opened() as upstream:
            for _ in range(5):
                await upstream.request(cloud.address, method, "/it", client=CALLER)
                await asyncio.sleep(0.05)

    asyncio.run(calls())
    assert len(cloud.asked) == 5


def test_a_slow_answer_is_not_waited_for_longer_than_the_deadline(cloud: CloudDouble) -> None:
    cloud.answers("GET", "/it", Reply(instead="freeze"))

    async def call() -> None:
        async with opened(ClientLimits(call_seconds=0.05)) as upstream:
            await upstream.request(cloud.address, "GET", "/it", client=CALLER)

    with pytest.raises(UpstreamTimeout):
        asyncio.run(call())


def test_waiting_for_room_counts_towards_the_deadline(cloud: CloudDouble) -> None:
    cloud.answers("GET", "/it", Reply(instead="freeze"))

    async def calls() -> list[Any]:
        async with opened(ClientLimits(call_seconds=0.2, concurrency=1)) as upstream:
            several = (upstream.request(cloud.address, "GET", "/it", client=CALLER) for _ in range(20))
            return await asyncio.gather(*several, return_exceptions=True)

    assert [type(answer) for answer in asyncio.run(calls())] == [UpstreamTimeout] * 20
    # If it did not count, each would have its turn; one may still slip in between two deadlines.
    assert len(cloud.asked) < 10


def test_so_many_calls_to_a_service_at_once_and_no_more(cloud: CloudDouble) -> None:
    cloud.answers("GET", "/it", Reply(body={}, seconds=0.01))

    async def calls() -> None:
        async with opened(ClientLimits(concurrency=3)) as upstream:
            await asyncio.gather(*(upstream.request(cloud.address, "GET", "/it", client=CALLER) for _ in range(12)))

    asyncio.run(calls())
    assert cloud.most_at_once == 3


def test_a_frozen_service_takes_no_room_of_another(cloud: CloudDouble) -> None:
    cloud.answers("GET", "/volume/v3/p1/it", Reply(instead="freeze"))
    cloud.answers("GET", "/compute/v2.1/it", Reply(body={}))

    async def calls() -> int:
        async with opened(ClientLimits(concurrency=2)) as upstream:
            place = f"{cloud.address}/volume/v3/p1"
            frozen = [asyncio.create_task(upstream.request(place, "GET", "/it", client=CALLER)) for _ in range(4)]
            await asyncio.sleep(0.05)
            answer = await upstream.request(f"{cloud.address}/compute/v2.1", "GET", "/it", client=CALLER)
            for task in frozen:
                task.cancel()
            await asyncio.gather(*frozen, return_exceptions=True)
            return answer.status

    assert asyncio.run(calls()) == 200


def test_who_gives_up_leaves_the_room_to_others(cloud: CloudDouble) -> None:
    cloud.answers("GET", "/frozen", Reply(instead="freeze"))
    cloud.answers("GET", "/it", Reply(body={}))

    async def calls() -> int:
        async with opened(ClientLimits(concurrency=1)) as upstream:
            tasks = [
                asyncio.create_task(upstream.request(cloud.address, "GET", "/frozen", client=CALLER)) for _ in range(3)
            ]
            await asyncio.sleep(0.05)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            answer = await upstream.request(cloud.address, "GET", "/it", client=CALLER)
            return answer.status

    assert asyncio.run(calls()) == 200


@pytest.mark.parametrize(
    ("place", "service"),
    [
        ("http://h:8776/v3/0123abc", "http://h:8776"),
        ("https://h/volume/v3/0123abc", "https://h/volume"),
        ("https://h/compute/v2.1", "https://h/compute"),
        ("https://h/identity", "https://h/identity"),
        ("https://h/", "https://h"),
        ("https://h/v2ray/v2.0/", "https://h/v2ray"),
    ],
)
def test_all_tenants_of_a_service_share_its_room(place: str, service: str) -> None:
    assert service_of(place) == service


class Seen:
    """What a watcher was told, without the times."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def started(self, service: Service) -> None:
        self.told.append(f"begun {service}")

    def finished(self, service: Service, nanoseconds: int) -> None:
        assert nanoseconds > 0
        self.told.append(f"ended {service}")

    def failed(self, service: Service, *, was_slow: bool) -> None:
        self.told.append(f"{'slow' if was_slow else 'failed'} {service}")


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
def test_a_watcher_sees_every_call_and_which_failed(cloud: CloudDouble, reply: Reply, failure: list[str]) -> None:
    cloud.answers("GET", "/it", reply)
    seen = Seen()

    async def call() -> None:
        async with opened(ClientLimits(call_seconds=0.2), watcher=seen) as upstream:
            with suppress(ApiError, TokenRejected):
                await upstream.request(cloud.address, "GET", "/it", client=CALLER, service="volume", token=TOKEN)

    asyncio.run(call())
    assert seen.told == ["begun volume", *failure, "ended volume"]


def test_a_watcher_sees_who_gives_up_and_what_proves_to_be_nonsense(cloud: CloudDouble) -> None:
    cloud.answers("GET", "/frozen", Reply(instead="freeze"))
    cloud.answers("GET", "/it", Reply(body={}))
    seen = Seen()

    async def calls() -> None:
        async with opened(watcher=seen) as upstream:
            task = asyncio.create_task(upstream.request(cloud.address, "GET", "/frozen", client=CALLER))
            await asyncio.sleep(0.05)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            upstream.invalid_response(
                await upstream.request(cloud.address, "GET", "/it", client=CALLER, service="image"), "why"
            )

    asyncio.run(calls())
    assert seen.told == ["begun identity", "ended identity", "begun image", "ended image", "failed image"]


GARBLED = Reply(headers={"secret": "\0"})


@pytest.mark.parametrize("reply", [Reply(500, {"secret": 1}), Reply(body=b"secret"), Reply(instead="reset"), GARBLED])
def test_a_failure_is_logged_once_and_no_secret_with_it(
    cloud: CloudDouble, reply: Reply, caplog: pytest.LogCaptureFixture
) -> None:
    cloud.answers("POST", "/it", reply)
    with caplog.at_level(logging.INFO), pytest.raises(UpstreamFailed):
        ask(cloud.address, "POST", token=TOKEN, body={"password": "secret"}, params={"q": "secret"})
    [line] = caplog.messages
    assert f"POST {cloud.address}/it" in line
    assert "secret" not in line
    assert TOKEN not in line


def test_how_long_a_call_took_is_told_to_who_wants_it_all(cloud: CloudDouble, caplog: pytest.LogCaptureFixture) -> None:
    cloud.answers("GET", "/it", Reply(body={}))
    with caplog.at_level(logging.DEBUG, logger="cloudconsole"):
        ask(cloud.address, token=TOKEN, params={"q": "secret"})
    [record] = [record for record in caplog.records if record.name.endswith(".openstack.client")]
    fields = record.__dict__["fields"]
    assert fields["call"] == f"GET {cloud.address}/it"
    assert 0 < fields["ms"] < 60_000


class Shape(Struct):
    name: str


def read(body: object) -> Shape:
    with CloudDouble() as cloud:
        cloud.answers("GET", "/it", Reply(body=body))

        async def call() -> Shape:
            async with opened() as upstream:
                answer = await upstream.request(cloud.address, "GET", "/it", client=CALLER)
                return upstream.read(answer, Shape)

        return asyncio.run(call())


def test_a_body_is_read_as_what_is_needed_of_it() -> None:
    assert read({"name": "n", "more": [1]}) == Shape("n")


@pytest.mark.parametrize("body", [{}, {"name": None}, {"name": 1}, None])
def test_a_body_that_does_not_fit_is_the_clouds_failure(body: object, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(UpstreamFailed):
        read(body)
    assert len(caplog.messages) == 1
