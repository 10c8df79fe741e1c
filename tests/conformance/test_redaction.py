"""Quoted server output is one printable line without secrets in any encoding."""

import json
from html import escape
from urllib.parse import quote_plus

import pytest

from cloudconsole.conformance.redaction import MAX_LENGTH, Secrets, json_line, redact

SECRET = 'p"ä s&word<1>'


@pytest.mark.parametrize(
    "text", [SECRET, quote_plus(SECRET), json.dumps(SECRET), json.dumps(SECRET, ensure_ascii=False), escape(SECRET)]
)
def test_secret_is_redacted_in_every_encoding(text: str) -> None:
    line = redact(f"it said {text}!", Secrets([SECRET]))
    assert "[secret]" in line
    assert "word" not in line


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
