"""Control characters in stored text are escaped on output; JSON preserves them."""

import json
from pathlib import Path

import pytest
from sqlalchemy import update

from cloudconsole.spec.text_escaping import escape, format_cell
from cloudconsole.store.tables import news, operator_audit
from tests.server.commands.conftest import Run, admin_on_terminal
from tests.stores import write_transaction

UNSAFE_TEXT = "a\x1b[2J\u202egnp\u2066.exe\x07\x9b1m\nb\tc"
ESCAPED_TEXT = r"a\x1b[2J\u202egnp\u2066.exe\x07\x9b1m\nb\tc"


@pytest.fixture
def nasty(data: Path) -> Path:
    """A store with control characters, which another program wrote."""
    with write_transaction(data, "cloud") as connection:
        connection.execute(update(news).values(title=UNSAFE_TEXT))
        entry = {"actor": UNSAFE_TEXT, "after": json.dumps({UNSAFE_TEXT: UNSAFE_TEXT})}
        connection.execute(update(operator_audit).values(entry))
    return data


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, 上线\u3000了 \u00a0é 🙂", "plain, 上线\u3000了 \u00a0é 🙂"),
        (UNSAFE_TEXT, ESCAPED_TEXT),
        ("\u2028\u200f\u061c\ufeff\U000e0041", r"\u2028\u200f\u061c\ufeff\U000e0041"),
        ("\udc80", r"\udc80"),
        ("\r\x00\x7f", r"\r\x00\x7f"),
    ],
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert escape(text) == shown
    assert escape(shown) == shown


def test_table_cells_are_printable() -> None:
    assert all(format_cell(value).isprintable() for value in (UNSAFE_TEXT, {"key": UNSAFE_TEXT}, [UNSAFE_TEXT]))


@pytest.mark.usefixtures("nasty")
@pytest.mark.parametrize("command", [("news", "list"), ("news", "show", "1"), ("audit",)], ids=" ".join)
def test_text_output_escapes_control_characters(admin: Run, command: tuple[str, ...]) -> None:
    out = admin(*command).out
    assert ESCAPED_TEXT in out
    assert all(character.isprintable() or character in "\t\n" for character in out)


@pytest.mark.usefixtures("nasty")
def test_json_preserves_control_characters_as_escapes(admin: Run) -> None:
    listed = admin("news", "list", "--json").out
    shown = admin("news", "show", "1", "--json").out
    assert {item["title"] for item in json.loads(listed)} == {json.loads(shown)["title"]} == {UNSAFE_TEXT}
    assert all(character.isprintable() or character == "\n" for character in listed + shown)


def test_table_on_a_terminal_escapes_control_characters(nasty: Path) -> None:
    terminal = admin_on_terminal(nasty, "news", "show", "1")
    assert terminal.end() == 0
    assert r"\x1b[2J\u202egnp" in terminal.shown
    assert "\x1b[2J" not in terminal.shown


@pytest.mark.parametrize("command", [("tenant", "show", "a\x1b[2Jb"), ("import", "-")], ids=lambda words: words[0])
def test_error_message_escapes_the_name(admin: Run, command: tuple[str, ...]) -> None:
    done = admin(*command, stdin=b'{"a\\u001b[2Jb": 1}\n')
    assert done.code == 1
    assert r"a\x1b[2Jb" in done.err
    assert "\x1b" not in done.err
