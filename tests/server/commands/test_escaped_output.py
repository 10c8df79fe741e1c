"""Control characters in stored text are escaped on output; JSON preserves them."""

import json
from pathlib import Path

import pytest
from sqlalchemy import update

from cloudconsole.spec.text_escaping import escape, format_cell
from cloudconsole.store.tables import news, operator_audit
from tests.server.commands.conftest import Run
from tests.stores import database_flags, write_transaction
from tests.terminal import Terminal

UNSAFE_TEXT = "a\x1b[2J\u202egnp\u2066.exe\x07\x9b1m\nb\tc"
ESCAPED_TEXT = r"a\x1b[2J\u202egnp\u2066.exe\x07\x9b1m\nb\tc"


@pytest.fixture
def nasty(data: Path) -> Path:
    """A store with control characters, which another program wrote."""
    with write_transaction(data, "cloud") as connection:
        connection.execute(update(news).values(title=UNSAFE_TEXT))
        connection.execute(
            update(operator_audit).values(actor=UNSAFE_TEXT, after=json.dumps({UNSAFE_TEXT: UNSAFE_TEXT}))
        )
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


@pytest.mark.parametrize("value", [UNSAFE_TEXT, {"key": UNSAFE_TEXT}, [UNSAFE_TEXT]])
def test_table_cells_are_printable(value: object) -> None:
    assert format_cell(value).isprintable()


def test_list_has_one_line_per_record(cloudconsole: Run, nasty: Path) -> None:
    heading, *lines = cloudconsole("admin", "news", "list", "--data", nasty).out.splitlines()
    assert all(line.count("\t") == heading.count("\t") and ESCAPED_TEXT in line for line in lines)
    assert lines


def test_show_and_audit_escape_control_characters(cloudconsole: Run, nasty: Path) -> None:
    for arguments in (["news", "show", "1"], ["audit"]):
        done = cloudconsole("admin", *arguments, "--data", nasty)
        assert ESCAPED_TEXT in done.out
        assert all(character.isprintable() or character in "\t\n" for character in done.out)


def test_json_preserves_control_characters_as_escapes(cloudconsole: Run, nasty: Path) -> None:
    listed = json.loads(cloudconsole("admin", "news", "list", "--json", "--data", nasty).out)
    assert {item["title"] for item in listed} == {UNSAFE_TEXT}
    shown = json.loads(cloudconsole("admin", "news", "show", "1", "--json", "--data", nasty).out)
    assert shown["title"] == UNSAFE_TEXT
    out = cloudconsole("admin", "news", "show", "1", "--json", "--data", nasty).out
    assert all(character.isprintable() or character == "\n" for character in out)


def test_table_on_a_terminal_escapes_control_characters(nasty: Path) -> None:
    terminal = Terminal(nasty.parent, "admin", "news", "show", "1", "--data", str(nasty), *database_flags(nasty))
    assert terminal.end() == 0
    assert r"\x1b[2J\u202egnp" in terminal.shown
    assert "\x1b[2J" not in terminal.shown


def test_error_message_escapes_the_name(cloudconsole: Run, data: Path) -> None:
    done = cloudconsole("admin", "tenant", "show", "a\x1b[2Jb", "--data", data)
    assert done.code == 1
    assert "\x1b" not in done.err


def test_import_error_escapes_the_name(cloudconsole: Run, data: Path) -> None:
    text = '{"tenant": "a\\u001b[2Jb", "id": "k", "kind": "keypair", "name": "k", "started": "2026-01-01"}\n'
    done = cloudconsole("admin", "import", "-", "--data", data, stdin=text.encode())
    assert done.code == 1
    assert "\x1b" not in done.err
