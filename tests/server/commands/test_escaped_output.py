"""What someone wrote into a field does not control the terminal of who reads it; JSON has it as it is."""

import json
from pathlib import Path

import pytest
from sqlalchemy import update

from cloudconsole.spec.text import escape, format_cell
from cloudconsole.store.tables import news, operator_audit
from tests.server.commands.conftest import Run
from tests.stores import changing, flags_of
from tests.terminal import Terminal

NASTY = "a\x1b[2J\u202egnp\u2066.exe\x07\x9b1m\nb\tc"
SHOWN = r"a\x1b[2J\u202egnp\u2066.exe\x07\x9b1m\nb\tc"


@pytest.fixture
def nasty(data: Path) -> Path:
    """A store into which something else than this program has written."""
    with changing(data, "cloud") as connection:
        connection.execute(update(news).values(title=NASTY))
        connection.execute(update(operator_audit).values(actor=NASTY, after=json.dumps({NASTY: NASTY})))
    return data


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, 上线\u3000了 \u00a0é 🙂", "plain, 上线\u3000了 \u00a0é 🙂"),
        (NASTY, SHOWN),
        ("\u2028\u200f\u061c\ufeff\U000e0041", r"\u2028\u200f\u061c\ufeff\U000e0041"),
        ("\udc80", r"\udc80"),
        ("\r\x00\x7f", r"\r\x00\x7f"),
    ],
)
def test_what_a_terminal_would_obey_is_written_out(text: str, shown: str) -> None:
    assert escape(text) == shown
    assert escape(shown) == shown


@pytest.mark.parametrize("value", [NASTY, {"key": NASTY}, [NASTY]])
def test_no_cell_controls_a_terminal(value: object) -> None:
    assert format_cell(value).isprintable()


def test_a_line_of_a_list_stays_one_line(cloudconsole: Run, nasty: Path) -> None:
    heading, *lines = cloudconsole("admin", "news", "list", "--data", nasty).out.splitlines()
    assert all(line.count("\t") == heading.count("\t") and SHOWN in line for line in lines)
    assert lines


def test_a_record_and_the_trail_show_it_too(cloudconsole: Run, nasty: Path) -> None:
    for arguments in (["news", "show", "1"], ["audit"]):
        done = cloudconsole("admin", *arguments, "--data", nasty)
        assert SHOWN in done.out
        assert all(character.isprintable() or character in "\t\n" for character in done.out)


def test_json_has_it_as_escapes(cloudconsole: Run, nasty: Path) -> None:
    listed = json.loads(cloudconsole("admin", "news", "list", "--json", "--data", nasty).out)
    assert {item["title"] for item in listed} == {NASTY}
    shown = json.loads(cloudconsole("admin", "news", "show", "1", "--json", "--data", nasty).out)
    assert shown["title"] == NASTY
    out = cloudconsole("admin", "news", "show", "1", "--json", "--data", nasty).out
    assert all(character.isprintable() or character == "\n" for character in out)


def test_a_table_on_a_terminal_shows_it(nasty: Path) -> None:
    terminal = Terminal(nasty.parent, "admin", "news", "show", "1", "--data", str(nasty), *flags_of(nasty))
    assert terminal.end() == 0
    assert r"\x1b[2J\u202egnp" in terminal.shown
    assert "\x1b[2J" not in terminal.shown


def test_a_refusal_does_not_obey_what_it_names(cloudconsole: Run, data: Path) -> None:
    done = cloudconsole("admin", "tenant", "show", "a\x1b[2Jb", "--data", data)
    assert done.code == 1
    assert "\x1b" not in done.err


def test_a_problem_of_a_file_does_not_obey_what_it_names(cloudconsole: Run, data: Path) -> None:
    text = '{"tenant": "a\\u001b[2Jb", "id": "k", "kind": "keypair", "name": "k", "started": "2026-01-01"}\n'
    done = cloudconsole("admin", "import", "-", "--data", data, stdin=text.encode())
    assert done.code == 1
    assert "\x1b" not in done.err
