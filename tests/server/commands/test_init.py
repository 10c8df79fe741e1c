"""`cloudconsole init`: create an empty store and its first operator, with a hidden password."""

import json
from pathlib import Path

import pytest

from cloudconsole.server.app import Console
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.tables import accounts, operator_audit, tenants
from tests.harness import ApiClient, InProcessTransport
from tests.server.commands.conftest import Run
from tests.server.http.helpers import rows

pytestmark = pytest.mark.embedded_only


def can_log_in(data: Path, username: str, password: str) -> bool:
    transport = InProcessTransport(Console(Settings(data=data)))
    status = ApiClient(transport).login(username, password).status
    transport.close()
    return status == 200


def stored_accounts(data: Path) -> list[tuple[str, str, str]]:
    names = {row.id: row.name for row in rows(data, tenants)}
    return [(row.username, row.role, names[row.tenant_id]) for row in rows(data, accounts)]


def test_init_creates_a_store_with_an_operator(cloudconsole: Run, tmp_path: Path) -> None:
    done = cloudconsole("init", "--data", tmp_path / "new", "--password-stdin", stdin=b"a very good one\n")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"created a store in {tmp_path / 'new'} with operator operator (tenant provider)\n")
    assert f"cloudconsole serve --data {tmp_path / 'new'}" in done.out
    assert stored_accounts(tmp_path / "new") == [("operator", "operator", "provider")]
    assert can_log_in(tmp_path / "new", "operator", "a very good one")


def test_suggested_commands_have_the_same_settings(cloudconsole: Run, tmp_path: Path) -> None:
    file = tmp_path / "my console.toml"
    file.write_text(f'data = "{tmp_path / "new"}"\n')
    done = cloudconsole("init", "--config", file, "--password-stdin", stdin=b"a very good one\n")
    for command in ("serve", "doctor"):
        assert f"  cloudconsole {command} --config '{file}'\n" in done.out


def test_init_as_json(cloudconsole: Run, tmp_path: Path) -> None:
    done = cloudconsole("init", "--data", tmp_path / "new", "--password-stdin", "--json", stdin=b"long enough, too\n")
    assert json.loads(done.out) == {"store": str(tmp_path / "new"), "username": "operator", "tenant": "provider"}


def test_names_and_password_file_can_be_specified(cloudconsole: Run, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("password from a file\r\n")
    options = ("--username", "ann", "--tenant", "ops", "--password-file", tmp_path / "secret")
    assert cloudconsole("init", "--data", tmp_path / "new", *options).code == 0
    assert stored_accounts(tmp_path / "new") == [("ann", "operator", "ops")]
    assert can_log_in(tmp_path / "new", "ann", "password from a file")


def test_init_is_audited_without_the_password(cloudconsole: Run, tmp_path: Path) -> None:
    cloudconsole("init", "--data", tmp_path, "--password-stdin", stdin=b"hush-hush-hush")
    entries = rows(tmp_path, operator_audit)
    assert [(entry.change, entry.subject) for entry in entries] == [
        ("tenant.add", "provider"),
        ("account.add", "operator"),
    ]
    assert "hush" not in str(entries)
    assert "argon2" not in str(entries)


def test_store_with_accounts_is_rejected_and_unchanged(cloudconsole: Run, data: Path) -> None:
    before = (data / "cloud.db").read_bytes()
    done = cloudconsole("init", "--data", data, "--password-stdin", stdin=b"long enough, too")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "cloudconsole: the store already has accounts; nothing was changed: use cloudconsole admin to add more\n"
    )
    assert (data / "cloud.db").read_bytes() == before


def test_store_without_accounts_gets_an_operator(cloudconsole: Run, tmp_path: Path) -> None:
    (tmp_path / "cloud.yaml").write_text("version: 1\ntenants: [{name: provider}]\n")
    assert cloudconsole("admin", "load", tmp_path / "cloud.yaml", "--data", tmp_path / "new").code == 0
    assert cloudconsole("init", "--data", tmp_path / "new", "--password-stdin", stdin=b"long enough, too").code == 0
    assert stored_accounts(tmp_path / "new") == [("operator", "operator", "provider")]


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        ((), b"", "no terminal for the password prompt: pass --password-stdin or --password-file\n"),
        (("--password-stdin",), b"", "an operator's password must have 12 to 1024 characters\n"),
        (("--password-stdin",), b"\xff", "the password on standard input must be UTF-8 text"),
        (("--password-stdin",), b"x" * 1025, "an operator's password must have 12 to 1024 characters\n"),
        (("--password-file", "missing"), b"", "missing cannot be read: No such file or directory"),
        (("--password-file", "."), b"", ". is not a file"),
        (("--username", "", "--password-stdin"), b"x", "--username: must not be empty"),
        (("--tenant", "x" * 256, "--password-stdin"), b"x", "--tenant: must have at most 255 characters"),
    ],
)
def test_rejected_init_creates_nothing(
    cloudconsole: Run, tmp_path: Path, arguments: tuple[str, ...], stdin: bytes, message: str
) -> None:
    done = cloudconsole("init", "--data", tmp_path / "new", *arguments, stdin=stdin)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"cloudconsole: {message}")
    assert not (tmp_path / "new").exists()


def test_password_cannot_be_an_argument(cloudconsole: Run, tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        cloudconsole("init", "--data", tmp_path / "new", "--password", "x")
    assert not (tmp_path / "new").exists()
