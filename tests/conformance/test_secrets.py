"""No password and no cookie gets into a note, however a server sends it back."""

import json
from collections.abc import Callable
from html import escape
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import pytest

from cloudconsole.conformance.redaction import Secrets, quote_value, redact
from tests.conformance.listening import DEMO, examine, listening, subject_at
from tests.conformance.raw_servers import HEAD, raw_server, say

CORE = "s3cr3tw0rd"
PASSWORDS = [CORE, f'"{CORE}\\', f"ä{CORE}中", f"%C3{CORE}+/= &<>'", f"\x7f{CORE}\u202e"]
Disguise = Callable[[dict[str, str]], bytes]
DISGUISES: dict[str, Disguise] = {
    "plain": lambda fields: fields["password"].encode(),
    "JSON": lambda fields: json.dumps({"debug": fields}).encode(),
    "JSON, not ASCII": lambda fields: json.dumps({"debug": fields}, ensure_ascii=False).encode(),
    "JSON in JSON": lambda fields: json.dumps({"debug": json.dumps(fields)}).encode(),
    "an envelope": lambda fields: json.dumps({"code": 401, "message": fields["password"], "data": fields}).encode(),
    "a code": lambda fields: json.dumps({"code": fields["password"], "error": fields["password"]}).encode(),
    "a field": lambda fields: json.dumps({"code": 401, fields["password"]: 1}).encode(),
    "a form": lambda fields: urlencode(fields).encode(),
    "a form in small letters": lambda fields: urlencode(fields).lower().encode(),
    "a path": lambda fields: quote(fields["password"]).encode(),
    "a page": lambda fields: f"<p>{escape(fields['password'])}</p>".encode(),
    "Latin-1": lambda fields: fields["password"].encode("latin-1", "replace"),
    "spelt": lambda fields: " ".join(fields["password"]).encode(),
}
COOKIES = (
    (b"set-cookie", b"csrftoken=abcdefghijklmnop; Max-Age=9; Path=/"),
    (b"set-cookie", b"sessionid=qrstuvwxyzabcdef; HttpOnly; Path=/"),
)


class Echo:
    """Answers a login with what it was sent, and everything else, from then on, likewise."""

    def __init__(self, disguise: Disguise, *, everywhere: bool) -> None:
        self._disguise = disguise
        self._everywhere = everywhere
        self._said = b""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        sent = (await receive()).get("body", b"").decode("utf-8", "replace")
        said = self._said if self._everywhere else b""
        if scope["path"] == "/auth/login/":
            fields = dict(parse_qsl(sent))
            said = self._said = self._disguise(fields) if fields.get("username") == "demo" else b""
        await send({"type": "http.response.start", "status": 401, "headers": [*COOKIES, (b"x-said", b"")]})
        await send({"type": "http.response.body", "body": said})


@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=DISGUISES)
def test_nothing_of_an_answer_to_a_login_is_quoted(disguise: Disguise) -> None:
    with listening(Echo(disguise, everywhere=False)) as base:
        hold_nothing_told(base, "all")


def test_what_comes_back_later_is_hidden() -> None:
    with listening(Echo(DISGUISES["JSON in JSON"], everywhere=True)) as base:
        hold_nothing_told(base, "interface")


def hold_nothing_told(base: str, profile: str) -> None:
    seen = examine(subject_at(base, account=DEMO._replace(password=PASSWORDS[-1])), profile)
    told = [result.note for result in seen.results.values()]
    assert any("HTTP 401" in note for note in told)
    for note in told:
        hold_nothing_in(note)


@pytest.mark.parametrize("password", PASSWORDS, ids=ascii)
@pytest.mark.parametrize("disguise", [name for name in DISGUISES if name != "spelt"])
def test_a_password_is_hidden_in_every_form(disguise: str, password: str) -> None:
    said = DISGUISES[disguise]({"password": password})
    text = said.decode("utf-8", "backslashreplace")
    for quoted in (quote_value(said), quote_value({"message": text}), text):
        line = redact(quoted, Secrets([password]))
        hold_nothing_in(line)
        assert "[secret]" in line


def hold_nothing_in(text: str) -> None:
    assert CORE not in "".join(text.lower().split())


def test_a_cookie_in_a_broken_head_is_not_quoted() -> None:
    head = HEAD + b"Set-Cookie: csrftoken=abcdefghijklmnop\0\r\nContent-Length: 0\r\n\r\n"
    with raw_server(say(head)) as base:
        note = examine(subject_at(base), only=["session.opens"]).results["session.opens"].note
    assert note == "the response is not HTTP or is incomplete"
