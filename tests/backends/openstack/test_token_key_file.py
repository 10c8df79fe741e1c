"""The file of keys: made once, refused where it cannot be trusted, rotated whole."""

import fcntl
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from cloudconsole.backends.openstack.token_encryption import KeyFileError, create_keys, read_keys, rotate_keys


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "token-keys"


def write(file: Path, content: bytes, mode: int = 0o600) -> None:
    file.write_bytes(content)
    file.chmod(mode)


def test_it_is_made_with_one_key_for_its_owner_alone(file: Path) -> None:
    create_keys(file)
    [key] = read_keys(file)
    Fernet(key)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_bytes() == key + b"\n"


def test_a_file_that_is_there_is_not_made_again(file: Path) -> None:
    create_keys(file)
    keys = read_keys(file)
    create_keys(file)
    assert read_keys(file) == keys


def test_of_many_who_make_it_at_once_all_have_the_same(file: Path) -> None:
    def made(_: int) -> list[bytes]:
        create_keys(file)
        return read_keys(file)

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(made, range(64)))
    assert all(keys == found[0] for keys in found)
    assert list(file.parent.iterdir()) == [file]


def test_one_that_is_not_there_cannot_be_read(file: Path) -> None:
    with pytest.raises(KeyFileError, match="cannot be read: No such file"):
        read_keys(file)


def test_without_its_folder_it_cannot_be_made(file: Path) -> None:
    with pytest.raises(KeyFileError, match="cannot be created: No such file"):
        create_keys(file / "token-keys")


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o601, 0o644, 0o660, 0o620, 0o777])
def test_one_that_others_have_access_to_is_refused(file: Path, mode: int) -> None:
    write(file, Fernet.generate_key(), mode)
    with pytest.raises(KeyFileError, match=f"chmod 600 {file}"):
        read_keys(file)


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o640, 0o440])
def test_a_group_may_read_it(file: Path, mode: int) -> None:
    write(file, Fernet.generate_key(), mode)
    assert len(read_keys(file)) == 1


@pytest.mark.parametrize("content", [b"", b"\n\n", b"  \t"])
def test_an_empty_one_is_refused(file: Path, content: bytes) -> None:
    write(file, content)
    with pytest.raises(KeyFileError, match="has no keys"):
        read_keys(file)


GOOD = b"BkFX5Jqe6Gp_gH1DNPKCMNsdTyMm2A8ToU5AcCFPbFw="


@pytest.mark.parametrize("line", [b"secret", GOOD[:-2], GOOD + b"A", GOOD[:-1], b"\xff" * 44, b"#" + GOOD, b"\0" * 9])
def test_a_garbled_one_is_refused_and_not_quoted(file: Path, line: bytes) -> None:
    write(file, GOOD + b"\n" + line + b"\n")
    with pytest.raises(KeyFileError, match="key 2 in") as refusal:
        read_keys(file)
    assert line.decode("latin-1") not in str(refusal.value)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="cannot be read"):
        read_keys(tmp_path)


def test_a_huge_one_is_refused(file: Path) -> None:
    write(file, b"x" * (1 << 20))
    with pytest.raises(KeyFileError, match="key 1 in"):
        read_keys(file)


def test_a_rotation_puts_a_new_key_first_and_keeps_the_one_before(file: Path) -> None:
    create_keys(file)
    [first] = read_keys(file)
    rotate_keys(file)
    second, *others = read_keys(file)
    assert (others, second == first) == ([first], False)


def test_two_rotations_leave_nothing_of_the_first_key(file: Path) -> None:
    create_keys(file)
    [first] = read_keys(file)
    rotate_keys(file)
    rotate_keys(file)
    assert first not in read_keys(file)
    assert len(read_keys(file)) == 2


def test_a_rotation_keeps_the_mode_and_leaves_nothing_behind(file: Path) -> None:
    write(file, GOOD, 0o640)
    rotate_keys(file)
    assert file.stat().st_mode & 0o777 == 0o640
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.skipif(os.geteuid() != 0 and os.environ.get("CI") != "true", reason="only root can give files away")
def test_a_rotation_keeps_the_owner(file: Path) -> None:
    write(file, GOOD)
    os.chown(file, 1234, 2345)
    rotate_keys(file)
    status = file.stat()
    assert (status.st_uid, status.st_gid) == (1234, 2345)


def test_a_rotation_goes_through_a_link(file: Path) -> None:
    create_keys(file)
    link = file.with_name("link")
    link.symlink_to(file)
    rotate_keys(link)
    assert link.is_symlink()
    assert len(read_keys(file)) == 2


def test_rotations_at_once_come_one_after_the_other(file: Path) -> None:
    create_keys(file)
    seen: list[bytes] = []

    def turn(_: int) -> None:
        rotate_keys(file)
        seen.extend(read_keys(file))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(turn, range(16)))
    newest, before = read_keys(file)
    assert {newest, before} <= set(seen)
    assert len(set(seen) | {newest, before}) <= 17


def test_a_rotation_that_waited_for_another_keeps_what_that_one_left(file: Path, tmp_path: Path) -> None:
    create_keys(file)
    other = tmp_path / "other"
    create_keys(other)
    (newest,) = read_keys(other)
    with file.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        waiting = threading.Thread(target=rotate_keys, args=(file,))
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        other.replace(file)
    waiting.join()
    assert read_keys(file)[1] == newest


def test_a_garbled_file_is_not_rotated(file: Path) -> None:
    write(file, b"garbled")
    with pytest.raises(KeyFileError):
        rotate_keys(file)
    assert file.read_bytes() == b"garbled"


def test_without_a_file_there_is_nothing_to_rotate(file: Path) -> None:
    with pytest.raises(KeyFileError, match="there are no token keys"):
        rotate_keys(file)
    assert not file.exists()
