"""`cloudconsole admin load` and `dump`: flags, output, exit codes and audit entries."""

import json
import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cloudconsole.operator.transaction import os_user_name
from cloudconsole.store.sqlite import engine
from tests.fork_server import run_forked
from tests.harness import clean_environment
from tests.operator.clouds import HEAD
from tests.server.commands.conftest import Run

SMALL = "version: 1\nnodes: [hk-1]\nnews: [{id: 1, date: 2026-01-01, title: 上线, url: 'https://example.com/'}]\n"
KEYPAIR = "{id: k, kind: keypair, name: k, started: 2026-01-01}"
OVER_QUOTA = f"{HEAD}tenants: [{{name: t, quotas: {{keypairs: 0}}, resources: [{KEYPAIR}]}}]"


@pytest.fixture(autouse=True)
def in_own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cloud.yaml").write_text(SMALL, encoding="utf-8")


def newest_entry(admin: Run) -> dict[str, Any]:
    entry: dict[str, Any] = json.loads(admin("audit", "--json", "--limit", 1).out)[0]
    return entry


@pytest.mark.embedded_only
def test_load_creates_a_store_and_prints_a_summary(cloudconsole: Run) -> None:
    command = ("admin", "load", "cloud.yaml", "--data", "new")
    tried = cloudconsole(*command, "--dry-run")
    assert tried.out == "nodes: 1 added\nnews: 1 added\ndry run: nothing was changed\n"
    assert not Path("new").exists()
    done = cloudconsole(*command)
    summary = f"nodes: 1 added\nnews: 1 added\ncreated a new store in {Path('new').resolve()}\n"
    assert (done.code, done.out, done.err) == (0, summary, "")
    assert Path("new/cloud.db").is_file()


@pytest.mark.embedded_only
def test_a_load_as_json(cloudconsole: Run, tmp_path: Path) -> None:
    command = ("admin", "load", "cloud.yaml", "--data", "new", "--json")
    changes = {name: {"added": 1, "changed": 0, "removed": 0} for name in ("nodes", "news")}
    tried, done, again = (json.loads(cloudconsole(*command, *options).out) for options in (("--dry-run",), (), ()))
    assert tried == {"changes": changes, "dry_run": True, "new_store": None}
    assert done == {"changes": changes, "dry_run": False, "new_store": str(tmp_path / "new")}
    assert again == {"changes": {}, "dry_run": False, "new_store": None}


def test_dry_run_changes_nothing(admin: Run) -> None:
    before = admin("dump").out
    done = admin("load", "cloud.yaml", "--dry-run", "--force")
    assert done.out.endswith("dry run: nothing was changed\n")
    assert admin("dump").out == before


@pytest.mark.embedded_only
def test_rejected_file_leaves_no_store_and_can_be_forced(cloudconsole: Run) -> None:
    Path("over.yaml").write_text(OVER_QUOTA)
    command = ("admin", "load", "over.yaml", "--data", "new")
    message = "the tenant t is over quota (keypairs: 0 of 0 in use, 1 more requested); use --force to override"
    for options in ((), ("--dry-run",)):
        done = cloudconsole(*command, *options)
        assert (done.code, done.out, done.err) == (1, "", f"cloudconsole: {message}\n")
        assert not Path("new").exists()
    assert cloudconsole(*command, "--force").code == 0
    assert cloudconsole(*command).out == "nothing to change\n"


@pytest.mark.embedded_only
def test_flag_overrides_the_environment(cloudconsole: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUDCONSOLE_DATA", "named")
    monkeypatch.setenv("CLOUDCONSOLE_TIME_ZONE", "UTC")
    assert cloudconsole("admin", "load", "cloud.yaml", "--time-zone", "Asia/Shanghai").code == 0
    assert "date: 2025-12-31T16:00:00Z" in cloudconsole("admin", "dump", "--data", "named").out


def test_problems_are_listed_on_standard_error(admin: Run) -> None:
    Path("bad.yaml").write_text("version: 1\nnodes: [a, a]\nnews: 5\n")
    done = admin("load", "bad.yaml")
    assert (done.code, done.out) == (1, "")
    assert done.err == "bad.yaml:2: nodes[1]: duplicates nodes[0] on line 2\nbad.yaml:3: news: must be a list\n"


def test_problems_in_standard_input_name_it(cloudconsole: Run) -> None:
    done = cloudconsole("admin", "load", "-", "--data", "new", stdin=b"version: 2\n")
    assert done.code == 1
    assert done.err.startswith("standard input:1: version: ")
    assert not Path("new").exists()


@pytest.mark.parametrize(
    ("source", "subject"), [("cloud.yaml", "cloud.yaml"), ("-", "standard input"), ("/dev/stdin", "standard input")]
)
def test_audit_entry_names_the_source(cloudconsole: Run, source: str, subject: str) -> None:
    Path("secret").write_text("hello, operator\n")
    text = "version: 1\ntenants: [{name: t, accounts: [{username: u, role: operator, password_file: secret}]}]\n"
    Path("cloud.yaml").write_text(text)
    done = cloudconsole("admin", "load", source, "--data", "new", stdin=text.encode())
    assert (done.code, done.err) == (0, "")
    (entry,) = json.loads(cloudconsole("admin", "audit", "--data", "new", "--json").out)
    assert (entry["change"], entry["subject"]) == ("load", subject)


@pytest.mark.embedded_only
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("load missing.yaml", "missing.yaml cannot be read: No such file or directory"),
        ("load .", "cannot be read: Is a directory"),
        ("load cloud.yaml --data cloud.yaml", "--data: cloud.yaml is a file, not a directory"),
        ("load cloud.yaml --data /dev/null/x", "cannot be used"),
        ("load cloud.yaml --data broken", "file is not a database"),
        ("load cloud.yaml --time-zone Mars/Olympus", "--time-zone: must be a time zone name"),
        ("dump broken --data broken", "broken is not a regular file: choose another name"),
    ],
)
def test_failure_is_reported_in_one_line(cloudconsole: Run, arguments: str, message: str) -> None:
    Path("broken").mkdir()
    Path("broken/cloud.db").write_bytes(b"this is no database " * 100)
    done = cloudconsole("admin", *arguments.split())
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert done.err.startswith("cloudconsole: ")
    assert message in done.err


@pytest.mark.parametrize("arguments", [(), ("-",), ("/dev/stdout",), ("/dev/fd/1",)], ids=str)
def test_dump_to_standard_output_is_audited(admin: Run, arguments: tuple[str, ...]) -> None:
    before = sorted(Path().iterdir())
    done = admin("dump", *arguments)
    assert (done.code, done.err, done.out[:19]) == (0, "", "# A cloud in a file")
    assert sorted(Path().iterdir()) == before
    entry = newest_entry(admin)
    assert (entry["actor"], entry["change"], entry["subject"]) == (os_user_name(), "dump", "standard output")


@pytest.mark.parametrize("name", ["d.yaml", "./-"])
def test_dump_to_a_file_is_private_and_audited(admin: Run, name: str) -> None:
    done = admin("dump", name)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert Path(name).stat().st_mode & 0o777 == 0o600
    assert newest_entry(admin)["subject"] == Path(name).name
    assert Path(name).read_text(encoding="utf-8") == admin("dump").out


def test_dump_can_be_written_to_an_open_file(admin: Run) -> None:
    """A shell passes `>(command)` as /dev/fd/N."""
    with tempfile.TemporaryFile() as target:
        assert admin("dump", f"/dev/fd/{target.fileno()}").out == ""
        os.lseek(target.fileno(), 0, os.SEEK_SET)
        assert target.read().decode() == admin("dump").out


@pytest.mark.embedded_only
def test_dump_is_utf_8_regardless_of_the_locale(data: Path) -> None:
    done = run_forked(["admin", "dump", "--data", str(data)], clean_environment(PYTHONIOENCODING="ascii"))
    assert "上线" in done.stdout


@pytest.mark.embedded_only
def test_rejected_dump_and_backup_are_not_audited(admin: Run, tmp_path: Path) -> None:
    before = newest_entry(admin)
    assert admin("dump", tmp_path).code == 1
    assert admin("backup", tmp_path).code == 1
    assert newest_entry(admin) == before


@pytest.mark.embedded_only
def test_locked_store_is_dumped_without_an_audit_entry(admin: Run, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "BUSY_SECONDS", 0)
    with closing(sqlite3.connect(data / "cloud.db", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        done = admin("dump")
    assert done.out.startswith("# A cloud in a file")
    message = "dump finished but not recorded in the audit log: database is locked"
    assert (done.code, done.err) == (0, f"cloudconsole: {message}\n")
