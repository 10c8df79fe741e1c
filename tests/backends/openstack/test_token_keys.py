"""Token encryption, and the key file: created once, rejected if unsafe, rotated atomically while the console runs."""

import fcntl
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography.fernet import Fernet

from cloudconsole.backends.openstack import token_encryption_and_keys as module
from cloudconsole.backends.openstack.secret_files import SecretFileError
from cloudconsole.backends.openstack.token_encryption_and_keys import TokenCipher, read_keys, rotate_keys

GOOD = b"BkFX5Jqe6Gp_gH1DNPKCMNsdTyMm2A8ToU5AcCFPbFw="


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "token-keys"


def write(file: Path, content: bytes, mode: int = 0o600) -> None:
    file.write_bytes(content)
    file.chmod(mode)


def test_new_file_has_one_key_and_is_private(file: Path) -> None:
    module.create_keys(file)
    [key] = read_keys(file)
    Fernet(key)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_bytes() == key + b"\n"


def test_concurrent_creation_yields_one_key_file(file: Path) -> None:
    def create_and_read(_: int) -> list[bytes]:
        module.create_keys(file)
        return read_keys(file)

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(create_and_read, range(64)))
    assert all(keys == found[0] for keys in found)
    assert list(file.parent.iterdir()) == [file]


def test_file_cannot_be_created_in_a_missing_directory(file: Path) -> None:
    with pytest.raises(SecretFileError, match="cannot be created: No such file"):
        module.create_keys(file / "token-keys")


UNSAFE = [(GOOD, mode, "chmod 600 .*token-keys") for mode in (0o604, 0o602, 0o601, 0o620)]
EMPTY = [(content, 0o600, "has no keys") for content in (b"", b" \t\n\n")]


@pytest.mark.parametrize(("content", "mode", "message"), [*UNSAFE, *EMPTY])
def test_unsafe_or_empty_file_is_rejected(file: Path, content: bytes, mode: int, message: str) -> None:
    write(file, content, mode)
    with pytest.raises(SecretFileError, match=message):
        read_keys(file)


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o640])
def test_file_may_be_group_readable(file: Path, mode: int) -> None:
    write(file, GOOD, mode)
    assert read_keys(file) == [GOOD]


def test_missing_file_or_directory_cannot_be_read(file: Path) -> None:
    for path, reason in ((file, "No such file"), (file.parent, "Is a directory")):
        with pytest.raises(SecretFileError, match=f"cannot be read: {reason}"):
            read_keys(path)


@pytest.mark.parametrize(
    "line", [b"secret", GOOD[:-2], GOOD + b"A", GOOD[:-1], b"\xff" * 44, b"#" + GOOD, b"\0" * 9, b"x" * (1 << 20)]
)
def test_malformed_key_is_rejected_and_not_quoted(file: Path, line: bytes) -> None:
    write(file, GOOD + b"\n" + line + b"\n")
    with pytest.raises(SecretFileError, match="key 2 in") as error:
        read_keys(file)
    assert line.decode("latin-1") not in str(error.value)


def test_rotation_adds_a_key_and_keeps_only_the_previous_one(file: Path) -> None:
    module.create_keys(file)
    [first] = read_keys(file)
    rotate_keys(file)
    second, *others = read_keys(file)
    assert (others, second == first) == ([first], False)
    rotate_keys(file)
    third, *others = read_keys(file)
    assert (others, third in (first, second)) == ([second], False)


def test_rotation_keeps_the_mode_and_leaves_no_files_behind(file: Path) -> None:
    write(file, GOOD, 0o640)
    rotate_keys(file)
    assert file.stat().st_mode & 0o777 == 0o640
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.skipif(
    os.geteuid() != 0 and os.environ.get("CI") != "true", reason="only root can change the owner of a file"
)
def test_rotation_keeps_the_owner(file: Path) -> None:
    write(file, GOOD)
    os.chown(file, 1234, 2345)
    rotate_keys(file)
    status = file.stat()
    assert (status.st_uid, status.st_gid) == (1234, 2345)


def test_rotation_follows_a_symlink(file: Path) -> None:
    module.create_keys(file)
    link = file.with_name("link")
    link.symlink_to(file)
    rotate_keys(link)
    assert link.is_symlink()
    assert len(read_keys(file)) == 2


def test_waiting_rotation_keeps_the_key_of_the_one_before(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is replaced while the rotation waits for the lock of the old one."""
    write(file, GOOD)
    other = tmp_path / "other"
    module.create_keys(other)
    (newest,) = read_keys(other)
    opened = threading.Event()

    def lock(handle: int, operation: int) -> None:
        opened.set()
        fcntl.flock(handle, operation)

    with file.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        monkeypatch.setattr(module, "fcntl", SimpleNamespace(flock=lock, LOCK_EX=fcntl.LOCK_EX))
        waiting = threading.Thread(target=rotate_keys, args=(file,))
        waiting.start()
        assert opened.wait(300)
        other.replace(file)
    waiting.join()
    assert read_keys(file)[1] == newest


def test_malformed_file_is_not_rotated(file: Path) -> None:
    write(file, b"garbled")
    with pytest.raises(SecretFileError):
        rotate_keys(file)
    assert file.read_bytes() == b"garbled"


def test_rotation_without_a_file_is_rejected(file: Path) -> None:
    with pytest.raises(SecretFileError, match="there are no token keys"):
        rotate_keys(file)
    assert not file.exists()


# Encryption


TOKEN = "gAAAA-the-token"


class FakeTimer:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_ciphertext_is_opaque_and_unique_and_can_be_decrypted(file: Path) -> None:
    cipher = TokenCipher(file)
    one, other = cipher.encrypt(TOKEN), cipher.encrypt(TOKEN)
    assert one != other
    assert TOKEN.encode() not in one
    assert cipher.decrypt(one) == TokenCipher(file).decrypt(other) == TOKEN


@pytest.mark.parametrize("encrypted", [b"", b"garbled", b"\xff\0"])
def test_garbage_decrypts_to_none(file: Path, encrypted: bytes) -> None:
    assert TokenCipher(file).decrypt(encrypted) is None


def test_invalid_key_file_is_rejected_at_start(file: Path) -> None:
    write(file, b"garbled")
    with pytest.raises(SecretFileError):
        TokenCipher(file)


def test_token_under_a_new_key_is_decrypted_immediately(file: Path) -> None:
    cipher = TokenCipher(file, FakeTimer())
    rotate_keys(file)
    encrypted = TokenCipher(file).encrypt(TOKEN)
    assert cipher.decrypt(encrypted) == TOKEN


@pytest.mark.parametrize(("seconds", "number"), [(0.9, 1), (1.0, 0)])
def test_new_key_is_used_after_one_second(file: Path, seconds: float, number: int) -> None:
    clock = FakeTimer()
    cipher = TokenCipher(file, clock)
    rotate_keys(file)
    clock.now += seconds
    assert Fernet(read_keys(file)[number]).decrypt(cipher.encrypt(TOKEN)) == TOKEN.encode()


def test_token_survives_one_rotation_but_not_two(file: Path) -> None:
    clock = FakeTimer()
    cipher = TokenCipher(file, clock)
    encrypted = cipher.encrypt(TOKEN)
    rotate_keys(file)
    assert TokenCipher(file).decrypt(encrypted) == TOKEN
    rotate_keys(file)
    clock.now += 1
    assert cipher.decrypt(encrypted) is None


@pytest.mark.parametrize(
    "break_file", [Path.unlink, lambda file: file.write_bytes(b"garbled"), lambda file: file.chmod(0o644)]
)
def test_broken_key_file_keeps_the_old_keys_and_is_logged(
    file: Path, break_file: object, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FakeTimer()
    cipher = TokenCipher(file, clock)
    encrypted = cipher.encrypt(TOKEN)
    assert callable(break_file)
    break_file(file)
    clock.now += 1
    assert cipher.decrypt(encrypted) == cipher.decrypt(cipher.encrypt(TOKEN)) == TOKEN
    clock.now += 1
    assert cipher.decrypt(encrypted) == TOKEN
    assert len(caplog.messages) == 1
