"""No note contains a password or cookie, however a server echoes it."""

import json
from collections.abc import Callable
from html import escape
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import pytest

from cloudconsole.conformance.redaction import Secrets, json_line, redact
from tests.conformance.kit_harness import DEMO, run_kit, serving, target_at
from tests.conformance.raw_servers import HEAD, raw_server, send_bytes

CORE = "s3cr3tw0rd"
PASSWORDS = [CORE, f'"{CORE}\\', f"ä{CORE}中", f"%C3{CORE}+/= &<>'", f"\x7f{CORE}\u202e"]
Encoding = Callable[[dict[str, str]], bytes]
ENCODINGS: dict[str, Encoding] = {
    "plain": lambda fields: fields["password"].encode(),
    "JSON": lambda fields: json.dumps({"debug": fields}).encode(),
    "JSON, not ASCII": lambda fields: json.dumps({"debug": fields}, ensure_ascii=False).encode(),
    "JSON in JSON": lambda fields: json.dumps({"debug": json.dumps(fields)}).encode(),
    "an envelope": lambda fields: json.dumps({"code": 401, "message": fields["password"], "data": fields}).encode(),
    "a code": lambda fields: json.dumps({"code": fields["password"], "error": fields["password"]}).encode(),
    "a field": lambda fields: json.dumps({"code": 401, fields["password"]: 1}).encode(),
    "a form": lambda fields: urlencode(fields).encode(),
    "a form in lower case": lambda fields: urlencode(fields).lower().encode(),
    "a path": lambda fields: quote(fields["password"]).encode(),
    "a page": lambda fields: f"<p>{escape(fields['password'])}</p>".encode(),
    "Latin-1": lambda fields: fields["password"].encode("latin-1", "replace"),
    "spaced": lambda fields: " ".join(fields["password"]).encode(),
}
COOKIES = (
    (b"set-cookie", b"csrftoken=abcdefghijklmnop; Max-Age=9; Path=/"),
    (b"set-cookie", b"sessionid=qrstuvwxyzabcdef; HttpOnly; Path=/"),
)


class Echo:
    """Echoes the login form in the response, and optionally in all later responses."""

    def __init__(self, encoding: Encoding, *, everywhere: bool) -> None:
        self._encode = encoding
        self._everywhere = everywhere
        self._echoed = b""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        sent = (await receive()).get("body", b"").decode("utf-8", "replace")
        echoed = self._echoed if self._everywhere else b""
        if scope["path"] == "/auth/login/":
            fields = dict(parse_qsl(sent))
            echoed = self._echoed = self._encode(fields) if fields.get("username") == "demo" else b""
        await send({"type": "http.response.start", "status": 401, "headers": [*COOKIES, (b"x-said", b"")]})
        await send({"type": "http.response.body", "body": echoed})


@pytest.mark.parametrize("encoding", ENCODINGS.values(), ids=ENCODINGS)
def test_login_response_is_never_quoted(encoding: Encoding) -> None:
    with serving(Echo(encoding, everywhere=False)) as base:
        assert_no_secret_in_notes(base, "all")


def test_password_echoed_later_is_redacted() -> None:
    with serving(Echo(ENCODINGS["JSON in JSON"], everywhere=True)) as base:
        assert_no_secret_in_notes(base, "interface")


def assert_no_secret_in_notes(base: str, profile: str) -> None:
    run = run_kit(target_at(base, account=DEMO._replace(password=PASSWORDS[-1])), profile)
    notes = [result.note for result in run.results.values()]
    assert any("HTTP 401" in note for note in notes)
    for note in notes:
        assert_no_secret_in(note)


@pytest.mark.parametrize("password", PASSWORDS, ids=ascii)
@pytest.mark.parametrize("encoding", [name for name in ENCODINGS if name != "spaced"])
def test_password_is_redacted_in_every_encoding(encoding: str, password: str) -> None:
    echoed = ENCODINGS[encoding]({"password": password})
    text = echoed.decode("utf-8", "backslashreplace")
    for quoted in (json_line(echoed), json_line({"message": text}), text):
        line = redact(quoted, Secrets([password]))
        assert_no_secret_in(line)
        assert "[secret]" in line


def assert_no_secret_in(text: str) -> None:
    assert CORE not in "".join(text.lower().split())


def test_a_cookie_in_a_broken_head_is_not_quoted() -> None:
    head = HEAD + b"Set-Cookie: csrftoken=abcdefghijklmnop\0\r\nContent-Length: 0\r\n\r\n"
    with raw_server(send_bytes(head)) as base:
        note = run_kit(target_at(base), only=["session.opens"]).results["session.opens"].note
    assert note == "the response is not HTTP or is incomplete"
