"""Secrets stay out of logs, crashes reveal no details, and the request id links a response to its log records."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import pytest

from cloudconsole.backends.embedded.content import EmbeddedContent
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.logging import current_request_id
from tests.harness import FORM, JSON, ApiClient, FakeClock, InProcessTransport, Reply
from tests.server.http.conftest import StartConsole
from tests.server.http.helpers import cookie_header, drain_tasks, login_fields, post_action, post_login
from tests.stores import make_fail, open_engine, settings_for

PASSWORD: Final = "console-demo"
WRONG_PASSWORD: Final = "Tr0ub4dor-and-3"
TYPED_AS_NAME: Final = "correct-horse-battery"
MARKER: Final = "the-exceptions-own-words"


class RecordingHandler(logging.Handler):
    """Stores all contents of every record, with the current request id."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[tuple[str, str]] = []
        self._format = logging.Formatter("%(name)s %(levelname)s %(message)s")

    def emit(self, record: logging.LogRecord) -> None:
        text = f"{self._format.format(record)} {record.args!r} {record.__dict__!r}"
        self.records.append((current_request_id.get(), text))

    @property
    def text(self) -> str:
        return "\n".join(text for _, text in self.records)


@pytest.fixture
def settings(data: Path) -> Settings:
    """Log everything that can be logged."""
    return settings_for(data, access_log=True, log_format="pretty")


@pytest.fixture
def logs(caplog: pytest.LogCaptureFixture) -> Iterator[RecordingHandler]:
    caplog.set_level(logging.DEBUG)
    handler = RecordingHandler()
    root = logging.getLogger()
    root.addHandler(handler)
    yield handler
    root.removeHandler(handler)


class TrackedClient:
    """A client whose secrets are collected."""

    def __init__(self, transport: InProcessTransport) -> None:
        self.client = ApiClient(transport)
        self.secrets = {PASSWORD, WRONG_PASSWORD, TYPED_AS_NAME}

    def collect(self, reply: Reply) -> Reply:
        self.secrets |= {value for value in self.client.cookies.values() if value}
        return reply

    def login(self, username: str = "demo", password: str = PASSWORD, **changes: str) -> Reply:
        self.collect(self.client.open())
        return self.collect(self.client.login(username, password, **changes))


@pytest.fixture
def tracked(transport: InProcessTransport, logs: RecordingHandler) -> TrackedClient:
    return TrackedClient(transport)


def assert_no_secret_in(secrets: set[str], text: str) -> None:
    assert len(secrets) > 3
    for secret in secrets:
        assert secret not in text
        # Nor a usable part: the random half of a token or an id.
        assert len(secret) < 40 or (secret[1:33] not in text and secret[-32:] not in text)


def test_a_session_from_login_to_logout_logs_no_secret(tracked: TrackedClient, logs: RecordingHandler) -> None:
    assert tracked.login().status == 200
    for action in ("GetUsageLimits", "GetUrlList", "GetNews", "NoSuchAction"):
        tracked.client.call(action)
    tracked.client.call("GetDomainDetail", domainId="206813")
    assert tracked.login().status == 200
    assert tracked.collect(tracked.client.logout()).status == 200
    assert len(logs.records) > 5
    assert_no_secret_in(tracked.secrets, logs.text)


def test_rejected_logins_log_a_known_username_and_no_secret(tracked: TrackedClient, logs: RecordingHandler) -> None:
    for _ in range(10):
        assert tracked.login(password=WRONG_PASSWORD).error == "invalid_credentials"
    assert any("refused" in line and "demo" in line for _, line in logs.records)
    logs.records.clear()
    assert tracked.login().error == "too_many_requests"
    assert tracked.login(TYPED_AS_NAME, WRONG_PASSWORD).error == "invalid_credentials"
    assert any("refused" in line for _, line in logs.records)
    assert tracked.login(region=f"https://{WRONG_PASSWORD}.example").error == "unknown_region"
    assert tracked.login(csrfmiddlewaretoken="0" * 64).error == "csrf_failed"
    assert_no_secret_in(tracked.secrets | {"0" * 64}, logs.text)


@pytest.mark.parametrize("cookie", ["sessionid=odd-secret-value", "odd-secret-value", "csrftoken=odd-secret-value\xff"])
def test_malformed_cookies_are_not_logged(transport: InProcessTransport, logs: RecordingHandler, cookie: str) -> None:
    headers = [("Cookie", cookie), ("X-CSRFToken", "odd-secret-value"), ("Authorization", "Bearer odd-secret-value")]
    transport.send("GET", "/api/", headers)
    post_login(transport, headers, login_fields(transport))
    post_action(transport, headers)
    transport.send("POST", "/auth/logout/", headers)
    assert logs.records
    assert "odd-secret-value" not in logs.text


def test_bodies_are_not_logged(transport: InProcessTransport, demo: ApiClient, logs: RecordingHandler) -> None:
    headers = {"X-CSRFToken": demo.token, "Content-Type": JSON}
    for body in (b'{"action":"body-secret"}', b'{"action": body-secret', b"body-secret" * 10_000):
        assert demo.send("POST", "/api/", headers, body).status != 200
    assert logs.records
    assert "body-secret" not in logs.text


def test_a_path_cannot_forge_a_log_line(transport: InProcessTransport, logs: RecordingHandler) -> None:
    transport.send("GET", "/nowhere\n2026-01-01T00:00:00Z INFO forged", [])
    messages = [line.partition(" (")[0] for _, line in logs.records]
    assert any("forged" in message for message in messages)
    assert not any("\n" in message for message in messages)


def make_activity_fail(data: Path, event: str) -> None:
    """Make every such write to the store fail from now on."""
    engine = open_engine(data, "activity")
    with engine.begin() as connection:
        make_fail(connection, event, "disk-on-fire")
    engine.dispose()


# SQLAlchemy appends the values of a statement to its error messages, unless `hide_parameters` is set.
LOGGED_PARAMETERS: Final = "[parameters:"


@pytest.mark.parametrize(
    ("event", "password"), [("INSERT ON sessions", PASSWORD), ("INSERT ON login_failures", WRONG_PASSWORD)]
)
def test_a_store_failure_logs_no_secret(
    tracked: TrackedClient, data: Path, logs: RecordingHandler, event: str, password: str
) -> None:
    make_activity_fail(data, event)
    reply = tracked.login(password=password)
    assert (reply.status, reply.error, reply.header("Retry-After")) == (503, "unavailable", "1")
    assert b"disk-on-fire" not in reply.body
    assert any("unavailable" in line and "disk-on-fire" in line for _, line in logs.records)
    assert LOGGED_PARAMETERS not in logs.text
    assert_no_secret_in(tracked.secrets | {tracked.client.token[:32]}, logs.text)


def test_a_failed_session_touch_logs_no_secret_and_fails_no_request(
    transport: InProcessTransport, tracked: TrackedClient, data: Path, logs: RecordingHandler, clock: FakeClock
) -> None:
    tracked.login()
    make_activity_fail(data, "UPDATE ON sessions")
    clock.moment += 61
    assert tracked.client.call("GetUrlList").status == 200
    drain_tasks(transport)
    assert any("could not write" in line for _, line in logs.records)
    assert LOGGED_PARAMETERS not in logs.text
    assert_no_secret_in(tracked.secrets, logs.text)


# A crash.


def test_a_crash_is_logged_with_its_request_id_and_no_secret(
    tracked: TrackedClient, logs: RecordingHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def crash(*_args: Any) -> Any:
        raise RuntimeError(MARKER)

    monkeypatch.setattr(EmbeddedContent, "urls", crash)
    tracked.login()
    reply = tracked.client.call("GetUrlList")
    assert reply.error == "internal_error"
    crashes = [request_id for request_id, line in logs.records if "Traceback" in line]
    assert crashes == [reply.header("X-Request-ID")]
    assert_no_secret_in(tracked.secrets, logs.text)
    assert tracked.client.call("GetNews").status == 200


def test_a_crash_at_login_logs_no_password(
    anonymous_client: ApiClient, logs: RecordingHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_args: Any) -> Any:
        raise RuntimeError(MARKER)

    monkeypatch.setattr("cloudconsole.backends.embedded.identity.password_matches", crash)
    reply = anonymous_client.login()
    assert (reply.error, reply.set_cookies) == ("internal_error", {})
    assert MARKER in logs.text
    assert PASSWORD not in logs.text


# The request id.


def test_concurrent_requests_keep_their_ids_apart(
    transport: InProcessTransport, anonymous_client: ApiClient, logs: RecordingHandler
) -> None:
    anonymous_client.open()

    def attempt(number: int) -> Any:
        fields = login_fields(transport, f"user{number}", csrfmiddlewaretoken=anonymous_client.token)
        headers = [("Content-Type", FORM), ("X-Request-ID", f"call-{number}")]
        headers += cookie_header(csrftoken=anonymous_client.token)
        return transport.asend("POST", "/auth/login/", headers, urlencode(fields).encode())

    replies = transport.gather(*(attempt(number) for number in range(8)))
    names = [f"call-{number}" for number in range(8)]
    assert [reply.header("X-Request-ID") for reply in replies] == names
    assert sorted(request_id for request_id, line in logs.records if "login rejected" in line) == names


def test_the_access_log_is_off_by_default(data: Path, start_console: StartConsole, logs: RecordingHandler) -> None:
    transport = start_console(settings_for(data))
    logs.records.clear()
    transport.send("GET", "/api/", [])
    assert not any("cloudconsole.access" in line for _, line in logs.records)
