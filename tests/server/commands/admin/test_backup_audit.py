"""Who took a copy of everything is in the trail; where that cannot be, the copy is taken nevertheless."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cloudconsole.server.commands.common import user_name
from cloudconsole.store.sqlite import engine
from tests.server.commands.conftest import Run


def newest(cloudconsole: Run, data: Path) -> dict[str, Any]:
    line: dict[str, Any] = json.loads(cloudconsole("admin", "audit", "--data", data, "--json", "--limit", 1).out)[0]
    return line


@pytest.mark.embedded_only
def test_a_backup_is_in_the_trail(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    made = json.loads(cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", data, "--json").out)
    line = newest(cloudconsole, data)
    assert (line["actor"], line["change"], line["subject"]) == (user_name(), "backup", "b.tar")
    assert line["after"] == {"made_at": made["made_at"], "bytes": made["bytes"]}


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_a_dump_is_in_the_trail(cloudconsole: Run, data: Path, arguments: list[str]) -> None:
    done = cloudconsole("admin", "dump", *arguments, "--data", data)
    assert (done.code, done.err) == (0, "")
    line = newest(cloudconsole, data)
    assert (line["actor"], line["change"], line["subject"]) == (user_name(), "dump", "standard output")


def test_a_dump_to_a_file_is_in_the_trail(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    assert cloudconsole("admin", "dump", tmp_path / "d.yaml", "--data", data).code == 0
    assert newest(cloudconsole, data)["subject"] == "d.yaml"


@pytest.mark.embedded_only
def test_what_was_refused_is_not(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    before = newest(cloudconsole, data)
    assert cloudconsole("admin", "dump", tmp_path, "--data", data).code == 1
    assert cloudconsole("admin", "backup", tmp_path, "--data", data).code == 1
    assert newest(cloudconsole, data) == before


@pytest.mark.embedded_only
def test_a_restore_says_what_it_kept(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", data)
    cloudconsole("admin", "node", "add", "since", "--data", data)
    done = cloudconsole("admin", "restore", tmp_path / "b.tar", "--data", data, "--yes")
    # The lines of the backup itself and of the node.
    assert "audit log entries retained that are not in the backup: 2\n" in done.out
    restored = json.loads(cloudconsole("admin", "restore", tmp_path / "b.tar", "--data", data, "--yes", "--json").out)
    assert restored["audit_entries_retained"] == 3
    lines = json.loads(cloudconsole("admin", "audit", "--data", data, "--json").out)
    changes = [line["change"] for line in lines]
    assert changes == ["restore", "restore", "node.add", "backup", "load"]


@pytest.mark.embedded_only
def test_a_store_that_someone_keeps_writing_to_is_copied(
    cloudconsole: Run, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "BUSY_SECONDS", 0)
    with closing(sqlite3.connect(data / "cloud.db", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        done = cloudconsole("admin", "dump", "--data", data)
    assert done.out.startswith("# A cloud in a file")
    words = "dump finished but not recorded in the audit log: database is locked"
    assert (done.code, done.err) == (0, f"cloudconsole: {words}\n")


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
@pytest.mark.embedded_only
def test_a_backup_is_not_written_to_standard_output(cloudconsole: Run, data: Path, name: str) -> None:
    done = cloudconsole("admin", "backup", name, "--data", data)
    words = f"{name}: a backup can only be written to a file: pass a file name"
    assert (done.code, done.out, done.err) == (1, "", f"cloudconsole: {words}\n")
