"""`cloudconsole admin` on a real terminal: hidden password prompts and tables."""

import re
from pathlib import Path

import pytest

from cloudconsole.store.passwords import password_matches
from cloudconsole.store.tables import accounts
from tests.server.commands.conftest import Run
from tests.server.http.helpers import rows
from tests.stores import database_flags
from tests.terminal import Terminal

KEYPAIR = '{"tenant": "demo", "id": "k-%d", "kind": "keypair", "name": "key", "started": "2026-02-01T00:00:00Z"}\n'


def admin(data: Path, *arguments: str, **environment: str) -> Terminal:
    return Terminal(data.parent, "admin", *arguments, "--data", str(data), *database_flags(data), **environment)


def shown(terminal: Terminal) -> str:
    """Return the output of a successful command without colours."""
    assert terminal.end() == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", terminal.shown)


def stored_hash(data: Path) -> str:
    return next(str(row.password_hash) for row in rows(data, accounts) if row.username == "demo")


def test_password_is_typed_twice_and_hidden(data: Path) -> None:
    terminal = admin(data, "account", "password", "demo")
    terminal.type_password("quite secret", again="quite secret")
    assert "account demo: password changed" in shown(terminal)
    assert "quite secret" not in terminal.shown
    assert password_matches(stored_hash(data), "quite secret")


def test_mismatched_passwords_change_nothing(data: Path) -> None:
    before = stored_hash(data)
    terminal = admin(data, "account", "password", "demo")
    terminal.type_password("quite secret", again="quite different")
    assert terminal.end() == 1
    assert "cloudconsole: passwords do not match" in terminal.shown
    assert stored_hash(data) == before


@pytest.mark.parametrize(("arguments", "listed"), [((), 100), (("--limit", "101"), 101)])
def test_only_lists_on_a_terminal_are_limited_by_default(
    cloudconsole: Run, data: Path, arguments: tuple[str, ...], listed: int
) -> None:
    many = "".join(KEYPAIR % number for number in range(101))
    assert cloudconsole("admin", "import", "-", "--data", data, "--force", stdin=many.encode()).code == 0
    command = ("resource", "list", "--kind", "keypair")
    assert len(re.findall(r"\bkeypair\b", shown(admin(data, *command, *arguments)))) == listed
    assert cloudconsole("admin", *command, "--data", data).out.count("keypair") == 101 + 3  # of the sample


def test_list_is_a_table_as_long_as_it_fits(data: Path) -> None:
    def lines(columns: int) -> list[str]:
        return shown(admin(data, "resource", "list", "--kind", "floating_ip", COLUMNS=str(columns))).splitlines()

    heading, first, *rest = wide = lines(120)
    assert heading.split() == ["tenant", "id", "kind", "name", "node", "started"]
    assert first.index("floating_ip") == heading.index("kind")
    assert "\t" not in "".join(wide)
    width = max(map(len, [heading, first, *rest]))
    assert lines(width) == wide
    records = [line.split() for line in lines(width - 1)]
    assert ["tenant", "demo"] in records
    assert all(len(record) in (0, 2) for record in records)


def test_only_the_last_column_is_wrapped(data: Path) -> None:
    output = shown(admin(data, "audit", COLUMNS="80"))
    assert re.search(r"\b2026-\d\d-\d\dT\d\d:\d\d:\d\dZ\b", output)
    assert all(len(line.rstrip()) <= 80 for line in output.splitlines())
