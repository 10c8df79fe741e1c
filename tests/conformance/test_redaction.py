"""Quoted server output is one printable line without passwords or cookies, however a server encodes them."""

import json
from collections.abc import Callable
from html import escape
from urllib.parse import quote, urlencode

import pytest

from cloudconsole.conformance.redaction import MAX_LENGTH, Secrets, json_line, redact
from cloudconsole.conformance.responses import RawResponse, quoted
from tests.conformance.conftest import DEMO, FaultyServer, run_kit, target_at
from tests.conformance.faulty_console import Exchange, Fault
from tests.conformance.raw_servers import HEAD, raw_server, send_bytes

CORE = "s3cr3tw0rd"
PASSWORDS = [CORE, f'"{CORE}\\', f"ä{CORE}中", f"%C3{CORE}+/= &<>'", f"\x7f{CORE}\u202e"]
Encoding = Callable[[dict[str, str]], bytes]
ENCODINGS: dict[str, Encoding] = {
    "plain": lambda fields: fields["password"].encode(),
    "JSON": lambda fields: json.dumps({"debug": fields}).encode(),
    "JSON, not ASCII": lambda fields: json.dumps({"debug": fields}, ensure_ascii=False).encode(),
    "JSON in JSON": lambda fields: json.dumps({"debug": json.dumps(fields)}).encode(),
    "a field": lambda fields: json.dumps({"code": 401, fields["password"]: 1}).encode(),
    "a form": lambda fields: urlencode(fields).encode(),
    "a form in lower case": lambda fields: urlencode(fields).lower().encode(),
    "a path": lambda fields: quote(fields["password"]).encode(),
    "a page": lambda fields: f"<p>{escape(fields['password'])}</p>".encode(),
    "Latin-1": lambda fields: fields["password"].encode("latin-1", "replace"),
}


def assert_no_secret_in(text: str) -> None:
    assert CORE not in "".join(text.lower().split())


@pytest.mark.parametrize("password", PASSWORDS, ids=ascii)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_password_is_redacted_in_every_encoding(encoding: str, password: str) -> None:
    echoed = ENCODINGS[encoding]({"password": password})
    text = echoed.decode("utf-8", "backslashreplace")
    for shown in (json_line(echoed), json_line({"message": text}), text):
        line = redact(shown, Secrets([password]))
        assert_no_secret_in(line)
        assert "[secret]" in line


def test_secret_at_the_truncation_point_is_redacted() -> None:
    line = redact("x" * (MAX_LENGTH - 5) + "abcdefghijklmnop", Secrets(["abcdefghijklmnop"]))
    assert "abc" not in line


def test_secret_that_contains_another_is_redacted_completely() -> None:
    assert redact("abcd abcdefgh", Secrets(["abcd", "abcdefgh"])) == "[secret] [secret]"


def test_text_is_one_printable_line_of_limited_length() -> None:
    line = redact("\x1b[2J\r\n\u202e\ud800 中文" + "x" * 1_000_000, Secrets(()))
    assert line.startswith(r"\x1b[2J\r\n\u202e\ud800 中文xxx")
    assert len(line) == MAX_LENGTH + 1
    assert line.isprintable()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("中文", '"中文"'),
        ("\x1b中", r'"\u001b中"'),
        ("\u202e中", r'"\u202e\u4e2d"'),
        ("\x7f", r'"\u007f"'),
        (b"\xff<", r'"\\xff<"'),
        (None, "null"),
        ({"b", "a"}, '["a", "b"]'),
        (1.0, "1.0"),
    ],
)
def test_values_are_shown_as_json(value: object, text: str) -> None:
    assert json_line(value) == text


@pytest.mark.parametrize(("is_login", "shown"), [(False, True), (True, False)])
def test_value_of_a_login_response_is_hidden(is_login: bool, shown: bool) -> None:
    assert (CORE in quoted(RawResponse(200, (), b"", is_login), CORE)) is shown


def echo(encoding: Encoding, *, everywhere: bool = False) -> Fault:
    """Echo the login form in the response to the login, and optionally in all later ones."""

    def change(exchange: Exchange) -> None:
        if exchange.is_login and exchange.fields.get("username") == "demo":
            exchange.memory["echoed"] = encoding(exchange.fields)
        if exchange.is_login or everywhere:
            exchange.status, exchange.content = 401, exchange.memory.get("echoed", b"")

    return Fault("echo", "", change)


@pytest.mark.parametrize(
    "fault",
    [
        # No pattern finds this one: the response to a login is never quoted.
        echo(lambda fields: " ".join(fields["password"]).encode()),
        echo(lambda fields: json.dumps({"code": fields["password"], "error": fields["password"]}).encode()),
        echo(ENCODINGS["JSON in JSON"], everywhere=True),
    ],
    ids=["spaced", "code", "everywhere"],
)
def test_note_contains_no_password(faulty_server: FaultyServer, fault: Fault) -> None:
    run = faulty_server.run_kit(fault, "all", account=DEMO._replace(password=PASSWORDS[-1]))
    notes = [result.note for result in run.results.values()]
    assert any("HTTP 401" in note for note in notes)
    for note in notes:
        assert_no_secret_in(note)


def test_a_cookie_in_a_broken_head_is_not_quoted() -> None:
    head = HEAD + b"Set-Cookie: csrftoken=abcdefghijklmnop\0\r\nContent-Length: 0\r\n\r\n"
    with raw_server(send_bytes(head)) as base:
        note = (
            run_kit(target_at(base), only=["session.opens", "connection.answered"]).results["connection.answered"].note
        )
    assert note == "GET /api/ (in session.opens): the response is not HTTP or is incomplete"
