"""Options of a client and of single calls: validation, time limits, retries, headers, request IDs and hooks."""

import threading
from typing import Any

import msgspec
import pytest

from cloudconsole import (
    ConnectionFailed,
    Console,
    ConsoleClosed,
    InvalidCredentials,
    NotFound,
    RequestEvent,
    ResponseEvent,
    ServerError,
)
from cloudconsole.client.options import CallOptions
from tests.client.conftest import ACCOUNT, Connect, RetryClock
from tests.client.scripted_server import LOST, OPENED, Canned, Script, ScriptedServer, envelope
from tests.harness import RunningServer

SUCCESS = envelope({"done": True})
BUSY = envelope({}, code=503, status=503)
CALLS = ["welcome", "login", "GetIt"]


async def async_hook(_: object) -> None:
    """A hook that nothing would await."""


@pytest.fixture
def any_client(connect: Connect, scripted: Script, retry_clock: RetryClock) -> Any:
    """A sync or async client of the scripted console."""
    return connect("http://console", **ACCOUNT, deadline=5.0, transport=scripted.transport)


INVALID = [
    *((name, value, "number of seconds") for name in ("timeout", "deadline") for value in (0, -1, True, "5")),
    *(("retries", value, "retries must be an integer of at least 0") for value in (-1, 1.5, True)),
    *(("headers", {name: "x"}, "not a header name") for name in ("", "a b", "a:", "é", "a\n")),
    *(("headers", {"X-A": value}, "printable ASCII") for value in ("a\r\nb", "é", " a", "a ", "\0")),
    *(
        ("headers", {name: "x"}, f"{name} cannot be set")
        for name in ("Cookie", "X-CSRFToken", "content-length", "HOST", "Transfer-Encoding", "Connection", "Origin")
    ),
    ("headers", {"Accept-Language": "zh"}, "use the option language"),
    ("headers", {"x-request-id": "1"}, "use the option request_id"),
    *(("headers", value, "both str") for value in ({"X-A": 1}, {1: "a"}, {"X-A": b"a"}, [1], "X-A: 1")),
]


@pytest.mark.parametrize(("name", "value", "problem"), INVALID)
def test_invalid_option_is_rejected_by_client_and_call(name: str, value: Any, problem: str) -> None:
    with pytest.raises((ValueError, TypeError), match=problem):
        Console("http://console", **{name: value})
    with Console("http://console") as console, pytest.raises((ValueError, TypeError), match=problem):
        console.with_options(**{name: value})


@pytest.mark.parametrize("request_id", ["", "a b", "a" * 65, "é", "a\n"])
def test_request_id_that_consoles_would_replace_is_rejected(any_client: Any, request_id: str) -> None:
    with pytest.raises(ValueError, match="request_id"):
        any_client.with_options(request_id=request_id)


@pytest.mark.parametrize("language", ["", "xx", "EN", "zh-CN", "en, zh", b"en", 1])
def test_unknown_language_is_rejected(connect: Connect, language: Any) -> None:
    with pytest.raises(ValueError, match="language must be one of: en, zh"):
        connect("http://console", language=language)


@pytest.mark.parametrize("name", ["on_request", "on_response"])
@pytest.mark.parametrize("hook", ["print", async_hook])
def test_hook_must_be_a_plain_function(connect: Connect, name: str, hook: Any) -> None:
    with pytest.raises(TypeError, match=f"{name} must be a function"):
        connect("http://console", **{name: hook})


def test_header_values_are_not_disclosed() -> None:
    with pytest.raises(ValueError, match="X-Key") as raised:
        Console("http://console", headers={"X-Key": "s3cret\n"})
    assert "s3cret" not in str(raised.value)
    assert "s3cret" not in repr(CallOptions(headers={"X-Key": "s3cret"}))


class TestRetries:
    @pytest.mark.parametrize(("retries", "failure"), [(0, BUSY), (0, LOST), (2, BUSY)])
    def test_retries_limit_the_repeated_requests_of_a_call(
        self, any_client: Any, scripted: Script, retries: int, failure: Canned
    ) -> None:
        any_client.login()
        scripted.actions = [failure]
        with pytest.raises((ServerError, ConnectionFailed)):
            any_client.with_options(retries=retries).call("GetIt")
        assert len(scripted.action_requests) == 1 + retries

    def test_other_calls_keep_the_options_of_the_client(self, any_client: Any, scripted: Script) -> None:
        any_client.with_options(retries=0).login()
        scripted.actions = [BUSY, SUCCESS]
        assert any_client.call("GetIt") == {"done": True}

    def test_options_of_options_add_up(self, any_client: Any, scripted: Script) -> None:
        scripted.actions = [BUSY]
        with pytest.raises(ServerError):
            any_client.with_options(retries=0).with_options(timeout=1).call("GetIt")
        assert len(scripted.action_requests) == 1


def test_timeout_of_a_call_ends_it(connect: Connect, scripted_server: ScriptedServer) -> None:
    client = connect(scripted_server.base, **ACCOUNT)
    client.login()
    is_over = threading.Event()
    scripted_server.actions = [Canned(after=is_over)]
    with pytest.raises(ConnectionFailed, match="in time"):
        client.with_options(timeout=0.05).call("DoIt")
    is_over.set()


def test_deadline_of_a_call_bounds_its_retries(any_client: Any, scripted: Script, retry_clock: RetryClock) -> None:
    scripted.actions = [BUSY]
    with pytest.raises(ServerError):
        any_client.with_options(deadline=1.0).call("GetIt")
    assert sum(retry_clock.pauses) < 1


class TestHeaders:
    def test_every_request_has_those_of_client_and_call(self, connect: Connect, scripted: Script) -> None:
        client = connect(
            "http://console", **ACCOUNT, headers={"X-A": "client", "X-B": "client"}, transport=scripted.transport
        )
        client.with_options(headers={"x-a": "call", "User-Agent": "mine"}, request_id="r-1").call("GetIt")
        assert len(scripted.requests) == 3
        for request in scripted.requests:
            assert request.headers.get_list("X-A") == ["call"]
            assert request.headers["X-B"] == "client"
            assert request.headers.get_list("User-Agent") == ["mine"]
            assert request.headers["X-Request-ID"] == "r-1"
        client.call("GetIt")
        assert scripted.requests[-1].headers["X-A"] == "client"
        assert "X-Request-ID" not in scripted.requests[-1].headers

    def test_request_id_is_in_the_console_s_log(self, demo: Any, server: RunningServer) -> None:
        with pytest.raises(NotFound, match="no domain") as raised:
            demo.with_options(request_id="my-call-7").domain("1")
        assert raised.value.request_id == "my-call-7"
        assert "my-call-7" in server.log()


def test_clients_with_options_share_the_session(any_client: Any, scripted: Script) -> None:
    other = any_client.with_options(timeout=1)
    other.call("GetIt")
    any_client.call("GetIt")
    assert len(scripted.logins) == 1
    assert other.session == any_client.session is not None


def test_closed_client_rejects_calls_of_all_options(scripted: Script) -> None:
    with Console("http://console", **ACCOUNT, transport=scripted.transport) as client:
        other = client.with_options(timeout=1)
        client.about()
        assert client.about()
    for call in (client.login, client.logout, client.about, client.news, lambda: other.call("GetIt")):
        with pytest.raises(ConsoleClosed, match="closed"):
            call()


def test_client_closed_during_a_call_is_an_error_of_its_own(scripted: Script) -> None:
    def close_first(_: RequestEvent) -> None:
        client.close()

    client = Console("http://console", **ACCOUNT, transport=scripted.transport, on_request=close_first)
    with pytest.raises(ConsoleClosed):
        client.login()


class TestHooks:
    @pytest.fixture
    def events(self) -> list[Any]:
        return []

    @pytest.fixture
    def observed(self, connect: Connect, scripted: Script, retry_clock: RetryClock, events: list[Any]) -> Any:
        return connect(
            "http://console/path/api/",
            **ACCOUNT,
            transport=scripted.transport,
            headers={"Authorization": "s3cret", "X-A": "1"},
            on_request=events.append,
            on_response=events.append,
        )

    @pytest.fixture(autouse=True)
    def mounted(self, scripted: Script) -> None:
        """Serve the scripted console below /path, too."""
        respond = scripted.respond
        scripted.respond = lambda request: respond(  # type: ignore[method-assign]
            type(request)(request.method, request.path.removeprefix("/path"), request.headers, request.body)
        )

    def test_each_request_and_response_is_reported(self, observed: Any, scripted: Script, events: list[Any]) -> None:
        scripted.actions = [BUSY, SUCCESS]
        observed.call("GetIt", id="1")
        requests = [event for event in events if isinstance(event, RequestEvent)]
        responses = [event for event in events if isinstance(event, ResponseEvent)]
        assert [event.call for event in requests] == [*CALLS, "GetIt"]
        assert [event.attempt for event in requests] == [1, 1, 1, 2]
        assert [response.request for response in responses] == requests
        assert [response.status for response in responses] == [200, 200, 503, 200]
        assert (requests[-1].method, requests[-1].url) == ("POST", "http://console/path/api/")
        assert requests[-1].headers["X-A"] == "1"
        assert requests[-1].body == b'{"id":"1","action":"GetIt"}'
        assert responses[-1].body == SUCCESS.body
        assert all(response.error is None and response.seconds >= 0 for response in responses)

    def test_events_contain_no_secret(self, observed: Any, scripted: Script, events: list[Any]) -> None:
        scripted.opening = [Canned(headers=[*OPENED.headers, ("X-Served-By", "one")])]
        scripted.login = [Canned(headers=[("Set-Cookie", "sessionid=abcdef; Path=/")])]
        observed.call("GetIt")
        everything = repr(events)
        secrets = [ACCOUNT["password"], "s3cret", *scripted.requests[-1].cookies.values()]
        assert [secret for secret in secrets if secret in everything] == []
        assert "X-CSRFToken" in events[-1].request.headers
        assert events[1].headers["x-served-by"] == "one"
        assert b"username=guest" in events[2].body

    def test_secrets_that_a_response_returns_are_redacted(
        self, observed: Any, scripted: Script, events: list[Any]
    ) -> None:
        scripted.login = [Canned(headers=[("Set-Cookie", "sessionid=abcdefghijkl; Path=/")])]
        body = b'{"code": 200, "message": "", "data": {"a": "abcdefghijkl", "b": ["secret phrase"]}, "c": "words"}'
        scripted.actions = [Canned(body=body, headers=[("X-Echo", "id=abcdefghijkl")])]
        assert observed.call("GetIt") == {"a": "abcdefghijkl", "b": ["secret phrase"]}
        assert events[-1].body == body.replace(b"abcdefghijkl", b"[redacted]").replace(b"secret phrase", b"[redacted]")
        assert events[-1].headers["x-echo"] == "id=[redacted]"

    def test_secrets_that_an_error_quotes_are_redacted(self, observed: Any, scripted: Script) -> None:
        body = b'{"code": 401, "message": "secret phrase is wrong", "data": {}, "error": "invalid_credentials"}'
        scripted.login = [Canned(401, body)]
        with pytest.raises(InvalidCredentials) as raised:
            observed.login()
        assert (str(raised.value), raised.value.message) == ("[redacted] is wrong",) * 2

    @pytest.mark.parametrize("password", ["wrong", "Password", "username"])
    def test_ordinary_words_of_an_error_stay(self, scripted: Script, password: str) -> None:
        message = "The username or password is wrong."
        scripted.login = [Canned(401, msgspec.json.encode({"code": 401, "message": message, "data": {}}))]
        with (
            Console("http://console", **{**ACCOUNT, "password": password}, transport=scripted.transport) as client,
            pytest.raises(InvalidCredentials) as raised,
        ):
            client.login()
        assert str(raised.value) == message

    def test_failure_without_a_response_is_reported(self, observed: Any, scripted: Script, events: list[Any]) -> None:
        observed.login()
        scripted.actions = [LOST]
        with pytest.raises(ConnectionFailed) as raised:
            observed.call("DoIt")
        assert (events[-1].status, events[-1].error) == (None, raised.value)

    def test_error_in_a_hook_ends_the_call(self, scripted: Script) -> None:
        def fail(_: object) -> None:
            raise LookupError("hook")

        with (
            Console("http://console", **ACCOUNT, transport=scripted.transport, on_response=fail) as client,
            pytest.raises(LookupError, match="hook"),
        ):
            client.about()
