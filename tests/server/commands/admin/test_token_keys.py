"""`cloudconsole admin token-keys rotate`; backups contain no keys."""

import json
import tarfile
from itertools import pairwise
from pathlib import Path
from shutil import copy2

import pytest

from cloudconsole.backends.openstack.token_encryption_and_keys import TokenCipher, create_keys, read_keys
from tests.server.commands.admin.test_backup_audit import newest_entry
from tests.server.commands.conftest import Run


@pytest.fixture
def keys(data: Path) -> Path:
    file = data / "token-keys"
    create_keys(file)
    return file


def test_rotation_prints_a_summary(cloudconsole: Run, data: Path, keys: Path) -> None:
    [before] = read_keys(keys)
    done = cloudconsole("admin", "token-keys", "rotate", "--data", data)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{keys}: tokens are now encrypted with a new key")
    assert read_keys(keys)[1:] == [before]
    assert before.decode() not in done.out


def test_rotation_is_audited(cloudconsole: Run, data: Path, keys: Path) -> None:
    cloudconsole("admin", "token-keys", "rotate", "--data", data)
    entry = newest_entry(cloudconsole, data)
    assert (entry["change"], entry["subject"]) == ("token-keys.rotate", "token-keys")


def test_a_rotation_as_json(cloudconsole: Run, data: Path, keys: Path) -> None:
    done = cloudconsole("admin", "token-keys", "rotate", "--data", data, "--json")
    assert json.loads(done.out) == {"file": str(keys), "keys": 2}


def test_key_file_can_be_configured(
    cloudconsole: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    create_keys(elsewhere)
    monkeypatch.setenv("CLOUDCONSOLE_TOKEN_KEYS", str(elsewhere))
    assert cloudconsole("admin", "token-keys", "rotate", "--data", data).code == 0
    assert len(read_keys(elsewhere)) == 2


def test_replicas_with_key_copies_rotate_in_two_steps(
    cloudconsole: Run, data: Path, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rotated, both = tmp_path / "new-keys", tmp_path / "both"
    copy2(keys, rotated)
    monkeypatch.setenv("CLOUDCONSOLE_TOKEN_KEYS", str(rotated))
    assert cloudconsole("admin", "token-keys", "rotate", "--data", data).code == 0
    new, old = read_keys(rotated)
    both.touch(mode=0o600)
    both.write_bytes(b"%s\n%s\n" % (old, new))
    steps = [TokenCipher(file) for file in (keys, both, rotated)]
    for before, after in pairwise(steps):
        assert (before.decrypt(after.encrypt("token")), after.decrypt(before.encrypt("token"))) == ("token", "token")
    assert steps[0].decrypt(steps[2].encrypt("token")) is None


def test_rotation_without_keys_creates_nothing(cloudconsole: Run, data: Path) -> None:
    done = cloudconsole("admin", "token-keys", "rotate", "--data", data)
    assert done.code == 1
    assert done.err.startswith(f"cloudconsole: there are no token keys in {data / 'token-keys'}: ")
    assert not (data / "token-keys").exists()


def test_invalid_keys_are_rejected_and_unchanged(cloudconsole: Run, data: Path, keys: Path) -> None:
    keys.write_bytes(b"garbled\n")
    done = cloudconsole("admin", "token-keys", "rotate", "--data", data)
    assert (done.code, keys.read_bytes()) == (1, b"garbled\n")
    assert done.err.startswith(f"cloudconsole: key 1 in {keys} is not a valid Fernet key: ")


def test_a_rotation_needs_a_store(cloudconsole: Run, tmp_path: Path) -> None:
    done = cloudconsole("admin", "token-keys", "rotate", "--data", tmp_path / "none")
    assert done.err == f"cloudconsole: no store in {tmp_path / 'none'}: pass its directory with --data\n"


@pytest.mark.embedded_only
def test_backup_contains_no_keys(cloudconsole: Run, data: Path, keys: Path, tmp_path: Path) -> None:
    file = tmp_path / "b.tar"
    assert cloudconsole("admin", "backup", file, "--data", data).code == 0
    with tarfile.open(file) as archive:
        assert sorted(archive.getnames()) == ["activity.db", "cloud.db", "manifest.json"]
    assert read_keys(keys)[0] not in file.read_bytes()


@pytest.mark.embedded_only
def test_restore_leaves_the_keys_unchanged(cloudconsole: Run, data: Path, keys: Path, tmp_path: Path) -> None:
    cloudconsole("admin", "backup", tmp_path / "b.tar", "--data", data)
    cloudconsole("admin", "token-keys", "rotate", "--data", data)
    before = keys.read_bytes()
    assert cloudconsole("admin", "restore", tmp_path / "b.tar", "--data", data, "--yes").code == 0
    assert keys.read_bytes() == before
