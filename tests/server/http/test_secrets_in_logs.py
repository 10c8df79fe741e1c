"""What the logs never hold, what a crash never tells, and the request id that ties a caller's answer to a log line."""

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from cloudconsole.backends.embedded.content import EmbeddedContent
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.logging import configure_logging, current_request_id
from tests.harness import JSON, Caller, HeldClock, InProcess, Reply
from tests.server.http.conftest import StartConsole
from tests.server.http.world import cookie_header, login_fields, post_action, post_login, settle
from tests.stores import forbid, open_engine, settings_over

PASSWORD: Final = "console-demo"
WRONG_PASSWORD: Final = "Tr0ub4dor-and-3"
TYPED_AS_NAME: Final = "correct-horse-battery"
MARKER: Final = "the-exceptions-own-words"


class Keeper(logging.Handler):
    """Keeps every record as all that could be made of it, with the request id in force."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.kept: list[tuple[str, str]] = []
        self._format = logging.Formatter("%(name)s %(levelname)s %(message)s")

    def emit(self, record: logging.LogRecord) -> None:
        whole = f"{self._format.format(record)} {record.args!r} {record.__dict__!r}"
        self.kept.append((current_request_id.get(), whole))

    @property
    def text(self) -> str:
        return "\n".join(whole for _, whole in self.kept)


@pytest.fixture
def settings(data: Path) -> Settings:
    """Everything that can be logged, is."""
    return settings_over(data, access_log=True, log_format="pretty")


@pytest.fixture
def logs(caplog: pytest.LogCaptureFixture) -> Iterator[Keeper]:
    caplog.set_level(logging.DEBUG)
    keeper = Keeper()
    root = logging.getLogger()
    root.addHandler(keeper)
    yield keeper
    root.removeHandler(keeper)


class Watched:
    """A caller whose every secret is remembered."""

    def __init__(self, wire: InProcess) -> None:
        self.caller = Caller(wire)
        self.secrets = {PASSWORD, WRONG_PASSWORD, TYPED_AS_NAME}

    def note(self, reply: Reply) -> Reply:
        self.secrets |= {value for value in self.caller.cookies.values() if value}
        return reply

    def login(self, username: str = "demo", password: str = PASSWORD, **changes: str) -> Reply:
        self.note(self.caller.open())
        return self.note(self.caller.login(username, password, **changes))


@pytest.fixture
def watched(wire: InProcess, logs: Keeper) -> Watched:
    return Watched(wire)


def assert_none_in(secrets: set[str], told: str) -> None:
    assert len(secrets) > 3
    for secret in secrets:
        assert secret not in told
        # Nor a part that would do: a token's or an id's random half.
        assert len(secret) < 40 or (secret[1:33] not in told and secret[-32:] not in told)


def test_a_session_from_login_to_logout_leaves_no_secret(watched: Watched, logs: Keeper) -> None:
    assert watched.login().status == 200
    for action in ("GetUsageLimits", "GetUrlList", "GetNews", "NoSuchAction"):
        watched.caller.call(action)
    watched.caller.call("GetDomainDetail", domainId="206813")
    assert watched.login().status == 200
    assert watched.note(watched.caller.logout()).status == 200
    assert len(logs.kept) > 5
    assert_none_in(watched.secrets, logs.text)


def test_refused_logins_leave_no_secret(watched: Watched, logs: Keeper) -> None:
    for _ in range(10):
        assert watched.login(password=WRONG_PASSWORD).error == "invalid_credentials"
    assert watched.login().error == "too_many_requests"
    assert watched.login(TYPED_AS_NAME, WRONG_PASSWORD).error == "invalid_credentials"
    assert watched.login(region=f"https://{WRONG_PASSWORD}.example").error == "unknown_region"
    assert watched.login(csrfmiddlewaretoken="0" * 64).error == "csrf_failed"
    assert_none_in(watched.secrets | {"0" * 64}, logs.text)


def test_a_known_users_refusal_names_it_and_an_unknown_ones_does_not(watched: Watched, logs: Keeper) -> None:
    watched.login(password=WRONG_PASSWORD)
    assert any("refused" in line and "demo" in line for _, line in logs.kept)
    logs.kept.clear()
    watched.login(TYPED_AS_NAME, WRONG_PASSWORD)
    assert any("refused" in line for _, line in logs.kept)
    assert TYPED_AS_NAME not in logs.text


@pytest.mark.parametrize(
    "cookie",
    [
        "sessionid=odd-secret-value",
        "a[b]=odd-secret-value",
        "odd-secret-value",
        "csrftoken=odd-secret-value\xff",
        "=x;;",
    ],
)
def test_odd_cookies_are_not_logged(wire: InProcess, logs: Keeper, cookie: str) -> None:
    headers = [("Cookie", cookie), ("X-CSRFToken", "odd-secret-value"), ("Authorization", "Bearer odd-secret-value")]
    wire.send("GET", "/api/", headers)
    post_login(wire, headers, login_fields(wire))
    post_action(wire, headers)
    wire.send("POST", "/auth/logout/", headers)
    assert logs.kept
    assert "odd-secret-value" not in logs.text


def test_bodies_are_not_logged(wire: InProcess, demo: Caller, logs: Keeper) -> None:
    headers = {"X-CSRFToken": demo.token, "Content-Type": JSON}
    for body in (b'{"action":"body-secret"}', b'{"action": body-secret', b"body-secret" * 10_000):
        assert demo.send("POST", "/api/", headers, body).status != 200
    assert logs.kept
    assert "body-secret" not in logs.text


def test_a_path_cannot_forge_a_log_line(wire: InProcess, logs: Keeper) -> None:
    wire.send("GET", "/nowhere\n2026-01-01T00:00:00Z INFO forged", [])
    messages = [line.partition(" (")[0] for _, line in logs.kept]
    assert any("forged" in message for message in messages)
    assert not any("\n" in message for message in messages)


def make_fail(data: Path, event: str) -> None:
    """Let the store refuse every such write from now on."""
    engine = open_engine(data, "activity")
    with engine.begin() as connection:
        forbid(connection, event, "disk-on-fire")
    engine.dispose()


# How SQLAlchemy ends an error's text, unless it is told not to: with the values that were being written.
SHOWN_VALUES: Final = "[parameters:"


@pytest.mark.parametrize(
    ("event", "password"), [("INSERT ON sessions", PASSWORD), ("INSERT ON login_failures", WRONG_PASSWORD)]
)
def test_a_store_that_fails_leaves_no_secret(
    watched: Watched, data: Path, logs: Keeper, event: str, password: str
) -> None:
    make_fail(data, event)
    reply = watched.login(password=password)
    assert (reply.status, reply.error, reply.header("Retry-After")) == (503, "unavailable", "1")
    assert b"disk-on-fire" not in reply.body
    assert any("unavailable" in line and "disk-on-fire" in line for _, line in logs.kept)
    assert SHOWN_VALUES not in logs.text
    assert_none_in(watched.secrets | {watched.caller.token[:32]}, logs.text)


def test_a_use_that_cannot_be_written_leaves_no_secret_and_breaks_no_call(
    wire: InProcess, watched: Watched, data: Path, logs: Keeper, clock: HeldClock
) -> None:
    watched.login()
    make_fail(data, "UPDATE ON sessions")
    clock.moment += 61
    assert watched.caller.call("GetUrlList").status == 200
    settle(wire)
    assert any("could not write" in line for _, line in logs.kept)
    assert SHOWN_VALUES not in logs.text
    assert_none_in(watched.secrets, logs.text)


# A crash.


@pytest.fixture
def crashing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def crash(*_args: Any) -> Any:
        raise RuntimeError(MARKER)

    monkeypatch.setattr(EmbeddedContent, "urls", crash)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.usefixtures("crashing")
def test_a_crash_is_an_envelope_with_the_request_id_and_nothing_of_the_exception(
    demo: Caller, logs: Keeper, language: str
) -> None:
    headers = {"X-CSRFToken": demo.token, "Content-Type": JSON, "Accept-Language": language}
    reply = demo.send("POST", "/api/", headers, b'{"action":"GetUrlList"}')
    request_id = reply.header("X-Request-ID")
    assert request_id is not None
    assert (reply.status, reply.error) == (500, "internal_error")
    assert request_id in reply.envelope["message"]
    told = reply.body.decode() + repr(reply.headers)
    for word in (MARKER, "RuntimeError", "Traceback", "EmbeddedContent", ".py"):
        assert word not in told


@pytest.mark.usefixtures("crashing")
def test_the_request_id_of_a_crash_is_the_one_in_the_log(demo: Caller, logs: Keeper) -> None:
    reply = demo.call("GetUrlList")
    crashes = [request_id for request_id, line in logs.kept if "Traceback" in line]
    assert crashes == [reply.header("X-Request-ID")]


@pytest.mark.usefixtures("crashing")
def test_a_crash_leaves_no_secret_in_the_log(wire: InProcess, logs: Keeper) -> None:
    watched = Watched(wire)
    watched.login()
    assert watched.caller.call("GetUrlList").status == 500
    assert_none_in(watched.secrets, logs.text)


@pytest.mark.usefixtures("crashing")
def test_after_a_crash_calls_go_on(demo: Caller) -> None:
    assert demo.call("GetUrlList").status == 500
    assert demo.call("GetNews").status == 200


def test_a_crash_at_login_tells_and_opens_nothing(
    wire: InProcess, visitor: Caller, logs: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_args: Any) -> Any:
        raise RuntimeError(MARKER)

    visitor.open()
    monkeypatch.setattr("cloudconsole.backends.embedded.identity.password_matches", crash)
    reply = visitor.login()
    assert (reply.status, reply.error, reply.set_cookies) == (500, "internal_error", {})
    assert MARKER not in reply.body.decode()
    assert PASSWORD not in logs.text


# The request id.


@pytest.mark.parametrize("given", ["1", "a" * 64, "Ab-9._Z", "0b9c8f3e-27f1-4c43-9a3e-3f0f3d1c2b1a", "...", "-"])
@pytest.mark.parametrize("path", ["/api/", "/nowhere"])
def test_a_callers_request_id_is_kept(wire: InProcess, given: str, path: str) -> None:
    assert wire.send("GET", path, [("X-Request-ID", given)]).header("X-Request-ID") == given


@pytest.mark.parametrize(
    "given", ["", " ", "a" * 65, "a b", "a/b", "ä", "a\n", "a\r\nSet-Cookie: x=y", "<b>", "a,b", "%61"]
)
def test_an_id_that_is_none_is_replaced(wire: InProcess, given: str) -> None:
    request_id = wire.send("GET", "/api/", [("X-Request-ID", given)]).header("X-Request-ID")
    assert request_id != given
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,64}", request_id or "")


def test_two_ids_are_none(wire: InProcess) -> None:
    reply = wire.send("GET", "/api/", [("X-Request-ID", "a"), ("X-Request-ID", "b")])
    assert reply.header("X-Request-ID") not in ("a", "b")
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,64}", reply.header("X-Request-ID") or "")


def test_every_call_without_an_id_gets_one_of_its_own(wire: InProcess) -> None:
    given = {wire.send("GET", "/api/", []).header("X-Request-ID") for _ in range(20)}
    assert len(given) == 20
    assert None not in given


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/", [], 200),
        ("GET", "/api/", [], 200),
        ("HEAD", "/api/", [], 200),
        ("GET", "/api", [], 308),
        ("OPTIONS", "/api/", [], 204),
        ("GET", "/nowhere", [], 404),
        ("DELETE", "/api/", [], 405),
        ("POST", "/api/", [], 415),
        ("POST", "/auth/logout/", [], 401),
        ("GET", "/api/", [("Host", "evil.example")], 400),
    ],
)
def test_every_answer_carries_the_id_and_a_log_line_the_same(
    wire: InProcess, logs: Keeper, method: str, path: str, headers: list[tuple[str, str]], status: int
) -> None:
    reply = wire.send(method, path, [*headers, ("X-Request-ID", "call-1")])
    assert (reply.status, reply.header("X-Request-ID")) == (status, "call-1")
    assert "call-1" in {request_id for request_id, _ in logs.kept}


def test_a_login_line_carries_the_id_of_its_call(wire: InProcess, visitor: Caller, logs: Keeper) -> None:
    visitor.open()
    reply = visitor.login()
    assert [request_id for request_id, line in logs.kept if "login of demo" in line] == [reply.header("X-Request-ID")]


def test_calls_at_once_keep_their_ids_apart(wire: InProcess, visitor: Caller, logs: Keeper) -> None:
    visitor.open()

    def attempt(number: int) -> Any:
        fields = login_fields(wire, f"user{number}", csrfmiddlewaretoken=visitor.token)
        body = "&".join(f"{name}={value}" for name, value in fields.items()).encode()
        headers = [("Content-Type", "application/x-www-form-urlencoded"), ("X-Request-ID", f"call-{number}")]
        return wire.asend("POST", "/auth/login/", [*headers, *cookie_header(csrftoken=visitor.token)], body)

    replies = wire.together(*(attempt(number) for number in range(8)))
    assert [reply.header("X-Request-ID") for reply in replies] == [f"call-{number}" for number in range(8)]
    refused = [request_id for request_id, line in logs.kept if "login rejected" in line]
    assert sorted(refused) == [f"call-{number}" for number in range(8)]


def test_no_line_for_every_call_is_the_default(data: Path, start_console: StartConsole, logs: Keeper) -> None:
    wire = start_console(settings_over(data))
    logs.kept.clear()
    wire.send("GET", "/api/", [])
    assert not any("cloudconsole.access" in line for _, line in logs.kept)


@pytest.fixture
def _root_logger_restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers, root.level = handlers, level


@pytest.mark.usefixtures("crashing", "_root_logger_restored")
def test_the_servers_own_log_lines_carry_the_id(
    demo: Caller, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging(settings)
    reply = demo.call("GetUrlList")
    lines = [line for line in capsys.readouterr().err.splitlines() if " cloudconsole." in line]
    assert len(lines) == 2
    assert all(f" {reply.header('X-Request-ID')} cloudconsole." in line for line in lines)
    assert all(
        re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}[.][0-9]{3}Z (INFO|ERROR) [0-9]+ ", line) for line in lines
    )
