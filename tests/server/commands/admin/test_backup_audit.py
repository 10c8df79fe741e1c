"""Backups and dumps are recorded in the audit log; if that fails, they are still written."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cloudconsole.operator.transaction import os_user_name
from cloudconsole.store.sqlite import engine
from tests.server.commands.conftest import Run


def newest_entry(cloudconsole: Run, data: Path) -> dict[str, Any]:
    entry: dict[str, Any] = json.loads(cloudconsole("admin", "audit", "--data", data, "--json", "--limit", 1).out)[0]
    return entry


@pytest.mark.embedded_only
def test_backup_is_audited(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    made = json.loads(cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", data, "--json").out)
    entry = newest_entry(cloudconsole, data)
    assert (entry["actor"], entry["change"], entry["subject"]) == (os_user_name(), "backup", "b.tar")
    assert entry["after"] == {"made_at": made["made_at"], "bytes": made["bytes"]}


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_dump_is_audited(cloudconsole: Run, data: Path, arguments: list[str]) -> None:
    done = cloudconsole("admin", "dump", *arguments, "--data", data)
    assert (done.code, done.err) == (0, "")
    entry = newest_entry(cloudconsole, data)
    assert (entry["actor"], entry["change"], entry["subject"]) == (os_user_name(), "dump", "standard output")


def test_dump_to_a_file_is_audited(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    assert cloudconsole("admin", "dump", tmp_path / "d.yaml", "--data", data).code == 0
    assert newest_entry(cloudconsole, data)["subject"] == "d.yaml"


@pytest.mark.embedded_only
def test_rejected_dump_and_backup_are_not_audited(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    before = newest_entry(cloudconsole, data)
    assert cloudconsole("admin", "dump", tmp_path, "--data", data).code == 1
    assert cloudconsole("admin", "backup", tmp_path, "--data", data).code == 1
    assert newest_entry(cloudconsole, data) == before


@pytest.mark.embedded_only
def test_restore_reports_retained_audit_entries(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", data)
    cloudconsole("admin", "node", "add", "since", "--data", data)
    done = cloudconsole("admin", "restore", tmp_path / "b.tar", "--data", data, "--yes")
    # The entries of the backup itself and of the new node.
    assert "audit log entries retained that are not in the backup: 2\n" in done.out
    restored = json.loads(cloudconsole("admin", "restore", tmp_path / "b.tar", "--data", data, "--yes", "--json").out)
    assert restored["audit_entries_retained"] == 3
    entries = json.loads(cloudconsole("admin", "audit", "--data", data, "--json").out)
    changes = [entry["change"] for entry in entries]
    assert changes == ["restore", "restore", "node.add", "backup", "load"]


@pytest.mark.embedded_only
def test_locked_store_is_dumped_without_an_audit_entry(
    cloudconsole: Run, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "BUSY_SECONDS", 0)
    with closing(sqlite3.connect(data / "cloud.db", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        done = cloudconsole("admin", "dump", "--data", data)
    assert done.out.startswith("# A cloud in a file")
    message = "dump finished but not recorded in the audit log: database is locked"
    assert (done.code, done.err) == (0, f"cloudconsole: {message}\n")


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
@pytest.mark.embedded_only
def test_a_backup_is_not_written_to_standard_output(cloudconsole: Run, data: Path, name: str) -> None:
    done = cloudconsole("admin", "backup", name, "--data", data)
    message = f"{name}: a backup can only be written to a file: pass a file name"
    assert (done.code, done.out, done.err) == (1, "", f"cloudconsole: {message}\n")
