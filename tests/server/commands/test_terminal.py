"""`cloudconsole admin` on a real terminal: hidden password prompts and tables."""

import re
from pathlib import Path

import pytest

from cloudconsole.store.passwords import password_matches
from cloudconsole.store.tables import accounts
from tests.operator.clouds import by_name
from tests.server.commands.conftest import Run
from tests.stores import database_flags, opened
from tests.terminal import Terminal

COLOUR = re.compile(r"\x1b\[(3[0-9]|4[0-9]|9[0-9])[;0-9]*m")
KEYPAIR = '{"tenant": "demo", "id": "k-%d", "kind": "keypair", "name": "key", "started": "2026-02-01T00:00:00Z"}\n'


def admin(data: Path, *arguments: str, **environment: str) -> Terminal:
    return Terminal(data.parent, "admin", *arguments, "--data", str(data), *database_flags(data), **environment)


def stored_hash(data: Path) -> str:
    with opened(data, "cloud") as engine:
        return str(by_name(engine, accounts, "username")["demo"]["password_hash"])


def test_password_is_typed_twice_and_hidden(data: Path) -> None:
    terminal = admin(data, "account", "password", "demo")
    terminal.type_password("quite secret", again="quite secret")
    assert terminal.end() == 0
    assert "account demo: password changed" in terminal.shown
    assert "quite secret" not in terminal.shown
    assert password_matches(stored_hash(data), "quite secret")


def test_mismatched_passwords_change_nothing(data: Path) -> None:
    before = stored_hash(data)
    terminal = admin(data, "account", "password", "demo")
    terminal.type_password("quite secret", again="quite different")
    assert terminal.end() == 1
    assert "cloudconsole: passwords do not match" in terminal.shown
    assert stored_hash(data) == before


def test_unknown_account_is_rejected_before_the_password_prompt(data: Path) -> None:
    terminal = admin(data, "account", "password", "nobody")
    assert terminal.end() == 1
    assert "assword" not in terminal.shown


def test_a_list_is_a_table(data: Path) -> None:
    terminal = admin(data, "resource", "list", "--kind", "floating_ip")
    assert terminal.end() == 0
    heading, first, *_ = re.sub(r"\x1b\[[0-9;]*m", "", terminal.shown).splitlines()
    assert heading.split() == ["tenant", "id", "kind", "name", "node", "started"]
    assert first.index("floating_ip") == heading.index("kind")
    assert "\t" not in terminal.shown


@pytest.mark.parametrize(("arguments", "listed"), [((), 100), (("--limit", "101"), 101)])
def test_list_is_limited_to_100_records_by_default(
    cloudconsole: Run, data: Path, arguments: tuple[str, ...], listed: int
) -> None:
    many = data.parent / "many.jsonl"
    many.write_text("".join(KEYPAIR % number for number in range(101)))
    assert cloudconsole("admin", "import", many, "--data", data, "--force").code == 0
    terminal = admin(data, "resource", "list", "--kind", "keypair", *arguments)
    assert terminal.end() == 0
    assert len(re.findall(r"\bkeypair\b", terminal.shown)) == listed


def test_too_wide_table_is_shown_record_by_record(cloudconsole: Run, data: Path) -> None:
    assert cloudconsole("admin", "quota", "change", "demo", "--ram", "131072", "--data", data).code == 0
    terminal = admin(data, "quota", "list", COLUMNS="80")
    assert terminal.end() == 0
    lines = [line.split() for line in re.sub(r"\x1b\[[0-9;]*m", "", terminal.shown).splitlines()]
    assert ["tenant", "demo"] in lines
    assert ["ram", "131072"] in lines
    assert all(len(line) in (0, 2) for line in lines)


def test_table_is_used_as_long_as_it_fits(data: Path) -> None:
    def shown(columns: int) -> list[str]:
        terminal = admin(data, "resource", "list", "--kind", "floating_ip", COLUMNS=str(columns))
        assert terminal.end() == 0
        return re.sub(r"\x1b\[[0-9;]*m", "", terminal.shown).splitlines()

    wide = shown(120)
    width = max(map(len, wide))
    assert shown(width) == wide
    assert all(len(line.split()) in (0, 2) for line in shown(width - 1))


def test_only_the_last_column_is_wrapped(data: Path) -> None:
    terminal = admin(data, "audit", COLUMNS="80")
    assert terminal.end() == 0
    shown = re.sub(r"\x1b\[[0-9;]*m", "", terminal.shown)
    assert re.search(r"\b2026-\d\d-\d\dT\d\d:\d\d:\d\dZ\b", shown)
    assert all(len(line.rstrip()) <= 80 for line in shown.splitlines())


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_disabled(data: Path, environment: dict[str, str]) -> None:
    terminal = admin(data, "tenant", "list", **environment)
    assert terminal.end() == 0
    assert "demo" in terminal.shown
    assert not COLOUR.search(terminal.shown)
