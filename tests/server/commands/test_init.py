"""New stores: `cloudconsole init` with its hidden password, and the initial cloud that `serve` loads."""

import argparse
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from cloudconsole.server.app import Console
from cloudconsole.server.commands import serve
from cloudconsole.server.commands.serve import load_initial_cloud, read_initial_cloud
from cloudconsole.server.config.settings import Settings
from cloudconsole.store.sqlite.store import prepare
from cloudconsole.store.tables import accounts, operator_audit, tenants
from tests.conftest import SAMPLE_TIME
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


def test_names_and_password_file_can_be_specified(cloudconsole: Run, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("password from a file\r\n")
    options = ("--username", "ann", "--tenant", "ops", "--password-file", tmp_path / "secret")
    done = cloudconsole("init", "--data", tmp_path / "new", *options, "--json")
    assert json.loads(done.out) == {"store": str(tmp_path / "new"), "username": "ann", "tenant": "ops"}
    assert stored_accounts(tmp_path / "new") == [("ann", "operator", "ops")]
    assert can_log_in(tmp_path / "new", "ann", "password from a file")


def test_init_is_audited_without_the_password(cloudconsole: Run, tmp_path: Path) -> None:
    cloudconsole("init", "--data", tmp_path, "--password-stdin", stdin=b"hush-hush-hush")
    entries = rows(tmp_path, operator_audit)
    assert [(row.change, row.subject) for row in entries] == [("tenant.add", "provider"), ("account.add", "operator")]
    assert "hush" not in str(entries)
    assert "argon2" not in str(entries)


def test_store_with_accounts_is_rejected_and_unchanged(cloudconsole: Run, data: Path) -> None:
    before = (data / "cloud.db").read_bytes()
    done = cloudconsole("init", "--data", data, "--password-stdin", stdin=b"long enough, too")
    message = "the store already has accounts; nothing was changed: use cloudconsole admin to add more"
    assert (done.code, done.out, done.err) == (1, "", f"cloudconsole: {message}\n")
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
        (("--password-file", "."), b"", ". cannot be read: Is a directory"),
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


def test_password_file_that_everyone_can_write_is_rejected(cloudconsole: Run, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("long enough, too")
    (tmp_path / "secret").chmod(0o602)
    done = cloudconsole("init", "--data", tmp_path / "new", "--password-file", tmp_path / "secret")
    assert done.code == 1
    assert done.err.startswith(f"cloudconsole: {tmp_path / 'secret'} can be written by every user of this machine: ")
    assert not (tmp_path / "new").exists()


@pytest.fixture
def load_sample(tmp_path: Path) -> Callable[[], Settings]:
    """Load the sample into an empty store, as `serve` does."""
    prepare(tmp_path)
    settings = Settings(data=tmp_path)
    sample = read_initial_cloud(argparse.Namespace(sample=True, cloud=None), settings)
    assert sample is not None

    def load() -> Settings:
        load_initial_cloud(sample, settings, int(SAMPLE_TIME))
        return settings

    return load


def test_loading_the_initial_cloud_waits_for_replicas(
    load_sample: Callable[[], Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = list[Settings]()
    monkeypatch.setattr(serve, "wait_for_replicas", waits.append)
    assert [load_sample()] == waits


def test_concurrent_starts_load_the_sample_once(load_sample: Callable[[], Settings], tmp_path: Path) -> None:
    start = Barrier(4)

    def load(_number: int) -> None:
        start.wait()
        load_sample()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(load, range(4)))
    assert [entry.change for entry in rows(tmp_path, operator_audit)] == ["load"]
