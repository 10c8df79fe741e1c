"""`cloudconsole admin load` and its rules, and the JSON output of commands for the whole store."""

import json
from pathlib import Path

import pytest

from tests.operator.clouds import HEAD
from tests.server.commands.conftest import Run

KEYPAIR = "{id: k, kind: keypair, name: k, started: 2026-01-01}"
OVER_QUOTA = f"{HEAD}tenants: [{{name: t, quotas: {{keypairs: 0}}, resources: [{KEYPAIR}]}}]"


@pytest.mark.embedded_only
def test_file_over_quota_is_rejected_and_leaves_no_store(cloudconsole: Run, tmp_path: Path) -> None:
    (tmp_path / "over.yaml").write_text(OVER_QUOTA)
    command = ("admin", "load", tmp_path / "over.yaml", "--data", tmp_path / "new")
    message = "the tenant t is over quota (keypairs: 0 of 0 in use, 1 more requested); use --force to override"
    for options in ((), ("--dry-run",)):
        done = cloudconsole(*command, *options)
        assert (done.code, done.out, done.err) == (1, "", f"cloudconsole: {message}\n")
        assert not (tmp_path / "new").exists()
    assert cloudconsole(*command, "--force").code == 0
    assert cloudconsole(*command).out == "nothing to change\n"


def test_file_without_an_operator_is_rejected(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    (tmp_path / "none.yaml").write_text("version: 1\n")
    done = cloudconsole("admin", "load", tmp_path / "none.yaml", "--data", data)
    message = "this leaves no operator who can log in (operator can now): keep one; use --force to override"
    assert (done.code, done.out, done.err) == (1, "", f"cloudconsole: {message}\n")
    assert cloudconsole("admin", "load", tmp_path / "none.yaml", "--data", data, "--force").code == 0


@pytest.mark.embedded_only
def test_audit_entry_names_the_file(cloudconsole: Run, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(HEAD)
    cloudconsole("admin", "load", tmp_path / "small.yaml", "--data", tmp_path / "new")
    (entry,) = json.loads(cloudconsole("admin", "audit", "--data", tmp_path / "new", "--json").out)
    assert (entry["change"], entry["subject"]) == ("load", "small.yaml")


@pytest.mark.embedded_only
def test_a_load_as_json(cloudconsole: Run, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text("version: 1\nnodes: [n]\n")
    command = ("admin", "load", tmp_path / "small.yaml", "--data", tmp_path / "new", "--json")
    changes = {"nodes": {"added": 1, "changed": 0, "removed": 0}}
    tried, done, again = (json.loads(cloudconsole(*command, *options).out) for options in (("--dry-run",), (), ()))
    assert tried == {"changes": changes, "dry_run": True, "new_store": None}
    assert done == {"changes": changes, "dry_run": False, "new_store": str(tmp_path / "new")}
    assert again == {"changes": {}, "dry_run": False, "new_store": None}


def test_init_as_json(cloudconsole: Run, tmp_path: Path) -> None:
    done = cloudconsole("init", "--data", tmp_path / "new", "--password-stdin", "--json", stdin=b"long enough, too\n")
    assert json.loads(done.out) == {"store": str(tmp_path / "new"), "username": "operator", "tenant": "provider"}


@pytest.mark.embedded_only
def test_backup_restore_and_recount_as_json(cloudconsole: Run, data: Path, tmp_path: Path) -> None:
    file = tmp_path / "b.tar"
    made = json.loads(cloudconsole("admin", "backup", file, "--data", data, "--json").out)
    assert made.keys() == {"file", "made_at", "bytes"}
    assert (made["file"], made["bytes"] > 0) == (str(file), True)
    restored = json.loads(cloudconsole("admin", "restore", file, "--data", data, "--yes", "--json").out)
    assert (restored["store"], restored["made_at"]) == (str(data), made["made_at"])
    assert (restored["tenants"], restored["accounts"], restored["sessions_ended"]) == (3, 3, True)
    assert json.loads(cloudconsole("admin", "recount", "--data", data, "--json").out) == {"corrected": 0}


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_a_load_from_standard_input(
    cloudconsole: Run, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_text("hello, operator\n")
    text = "version: 1\ntenants: [{name: t, accounts: [{username: u, role: operator, password_file: secret}]}]\n"
    done = cloudconsole("admin", "load", name, "--data", tmp_path / "new", stdin=text.encode())
    assert (done.code, done.err) == (0, "")
    (entry,) = json.loads(cloudconsole("admin", "audit", "--data", tmp_path / "new", "--json").out)
    assert (entry["change"], entry["subject"]) == ("load", "standard input")


def test_problems_in_standard_input_name_it(cloudconsole: Run, tmp_path: Path) -> None:
    done = cloudconsole("admin", "load", "-", "--data", tmp_path / "new", stdin=b"version: 2\n")
    assert done.code == 1
    assert done.err.startswith("standard input:1: version: ")
    assert not (tmp_path / "new").exists()
