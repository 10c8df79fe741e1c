"""Fernet encryption of stored tokens; the key file and its rotation."""

import fcntl
import logging
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from cloudconsole.backends.openstack.secret_files import SecretFileError, read_secret_file
from cloudconsole.spec.i18n import Text


def read_keys(file: Path) -> list[bytes]:
    """Return the keys, newest first; raise `SecretFileError` if they cannot be used."""
    keys = read_secret_file(file, Text("token keys", "令牌密钥")).split()
    if not keys:
        raise SecretFileError(
            f"{file} has no keys: restore the file, or remove it, which ends all federated sessions",
            f"{file} 中没有密钥：请恢复该文件，或将其删除（会结束所有联合登录会话）",
        )
    for number, key in enumerate(keys, start=1):
        if not _is_key(key):
            # Not the key itself: it may be valid except for one character.
            raise SecretFileError(
                f"key {number} in {file} is not a valid Fernet key: restore the file, or remove that line",
                f"{file} 中的第 {number} 个密钥不是有效的 Fernet 密钥：请恢复该文件，或删除该行",
            )
    return keys


def create_keys(file: Path) -> None:
    """Create the file with one new key; an existing file, or one created concurrently, stays."""
    try:
        with _written_beside(file, [Fernet.generate_key()]) as beside:
            # Unlike a rename, a link never replaces a file.
            os.link(beside, file)
    except FileExistsError:
        return
    except OSError as problem:
        raise SecretFileError(
            f"the token keys in {file} cannot be created: {problem.strerror}",
            f"无法创建令牌密钥文件 {file}：{problem.strerror}",
        ) from problem


def rotate_keys(file: Path) -> None:
    """Add a new key and retain only the previous one: tokens encrypted with older keys become unreadable."""
    file = file.resolve()
    try:
        with _locked(file) as status:
            keys = [Fernet.generate_key(), read_keys(file)[0]]
            with _written_beside(file, keys, like=status) as beside:
                beside.replace(file)
    except FileNotFoundError as problem:
        raise SecretFileError(
            f"there are no token keys in {file}: a console with a Keystone endpoint creates them at start",
            f"{file} 中没有令牌密钥：配置了 Keystone 认证地址的控制台会在启动时创建",
        ) from problem
    except OSError as problem:
        raise SecretFileError(
            f"the token keys in {file} cannot be rotated: {problem.strerror}",
            f"无法轮换 {file} 中的令牌密钥：{problem.strerror}",
        ) from problem


def _is_key(key: bytes) -> bool:
    try:
        Fernet(key)
    except ValueError:
        return False
    return len(key) == len(Fernet.generate_key())


@contextmanager
def _locked(file: Path) -> Iterator[os.stat_result]:
    """Lock the current file against concurrent rotation, not one that has been replaced."""
    while True:
        handle = os.open(file, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            status = os.fstat(handle)
            if os.path.samestat(status, file.stat()):
                yield status
                return
        finally:
            os.close(handle)


@contextmanager
def _written_beside(file: Path, keys: list[bytes], like: os.stat_result | None = None) -> Iterator[Path]:
    """Write a temporary file in the same directory, private or with the owner and mode of another."""
    beside = file.with_name(f".{file.name}-{secrets.token_hex(8)}")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(b"".join(key + b"\n" for key in keys))
            opened.flush()
            if like is not None:
                os.fchown(handle, like.st_uid, like.st_gid)
                os.fchmod(handle, stat.S_IMODE(like.st_mode))
            os.fsync(handle)
        yield beside
    finally:
        beside.unlink(missing_ok=True)
    directory = os.open(file.parent, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


log = logging.getLogger(__name__)

CHECK_SECONDS: Final = 1.0
"""Minimum interval between checks of the key file, unless a token cannot be decrypted."""

Stamp = tuple[int, int]


class TokenCipher:
    """Encrypts with the newest key, decrypts with all, and reloads the key file when it changes."""

    def __init__(self, file: Path, seconds: Callable[[], float] = time.monotonic) -> None:
        """Create the keys if there are none; raise `SecretFileError` if they cannot be used."""
        self._file = file
        self._seconds = seconds
        self._checked_at = seconds()
        self._stamp = _stamp(file)
        if self._stamp is None:
            create_keys(file)
            self._stamp = _stamp(file)
        self._keys = _fernet(read_keys(file))

    def encrypt(self, token: str) -> bytes:
        if self._seconds() - self._checked_at >= CHECK_SECONDS:
            self._check_file()
        return self._keys.encrypt(token.encode())

    def decrypt(self, encrypted: bytes) -> str | None:
        """Return the token, or None if its key has been removed."""
        if self._seconds() - self._checked_at >= CHECK_SECONDS:
            self._check_file()
        try:
            return self._keys.decrypt(encrypted).decode()
        except InvalidToken:
            # Another process may have just encrypted it with a new key.
            if not self._check_file():
                return None
        try:
            return self._keys.decrypt(encrypted).decode()
        except InvalidToken:
            return None

    def _check_file(self) -> bool:
        """Reload changed keys and return whether there are new ones; keep the current keys if the file is unusable."""
        self._checked_at = self._seconds()
        stamp = _stamp(self._file)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            self._keys = _fernet(read_keys(self._file))
        except (SecretFileError, OSError) as problem:
            log.warning("keeping the previous token keys: %s", problem)
            return False
        return True


def _stamp(file: Path) -> Stamp | None:
    """Return a value that changes with the file, or None if it cannot be read."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_ctime_ns


def _fernet(keys: list[bytes]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])
