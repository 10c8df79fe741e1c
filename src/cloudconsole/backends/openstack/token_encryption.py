"""Fernet encryption of stored tokens, key file, rotation."""

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

from cloudconsole.store.base import StoreError

MOST_BYTES: Final = 64 * 1024
FOR_OTHERS: Final = stat.S_IRWXO | stat.S_IWGRP
"""A group may read it: so do containers get their secrets."""


class KeyFileError(StoreError):
    """The file of keys cannot be used as it is; the text says why and what mends it."""


def read_keys(file: Path) -> list[bytes]:
    """The keys, newest first; raises `KeyFileError`."""
    try:
        with file.open("rb") as opened:
            status, content = os.fstat(opened.fileno()), opened.read(MOST_BYTES + 1)
    except OSError as problem:
        raise KeyFileError(f"the token keys in {file} cannot be read: {problem.strerror}") from problem
    if status.st_mode & FOR_OTHERS:
        raise KeyFileError(f"other users have access to the token keys in {file}: chmod 600 {file}")
    keys = content.split()
    if not keys:
        raise KeyFileError(f"there is no key in {file}: put the lost keys back, or remove it, which ends all sessions")
    for number, key in enumerate(keys, start=1):
        if not _is_key(key):
            # Not the key itself: it may be a good one but for a letter.
            raise KeyFileError(f"key {number} in {file} is none: put the file back as it was, or remove that line")
    return keys


def create_keys(file: Path) -> None:
    """Make the file with one new key; one that is there, or is made by another at the same time, stays."""
    try:
        with _written_beside(file, [Fernet.generate_key()]) as beside:
            # Unlike a renaming, it replaces nothing.
            os.link(beside, file)
    except FileExistsError:
        return
    except OSError as problem:
        raise KeyFileError(f"the token keys in {file} cannot be made: {problem.strerror}") from problem


def rotate_keys(file: Path) -> None:
    """Put a new key first, and keep the newest of the others: what older ones sealed cannot be opened again."""
    file = file.resolve()
    try:
        with _held(file) as status:
            keys = [Fernet.generate_key(), read_keys(file)[0]]
            with _written_beside(file, keys, like=status) as beside:
                beside.replace(file)
    except FileNotFoundError as problem:
        text = f"there are no token keys in {file}: they are made when a console with a Keystone behind it is started"
        raise KeyFileError(text) from problem
    except OSError as problem:
        raise KeyFileError(f"the token keys in {file} cannot be rotated: {problem.strerror}") from problem


def _is_key(key: bytes) -> bool:
    try:
        Fernet(key)
    except ValueError:
        return False
    return len(key) == len(Fernet.generate_key())


@contextmanager
def _held(file: Path) -> Iterator[os.stat_result]:
    """Nobody else rotates meanwhile: the lock is that of the file which is there now, not of one it has replaced."""
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
    """A complete file in the same folder, for its owner alone unless it shall be like another; gone at the end."""
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
    folder = os.open(file.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


log = logging.getLogger(__name__)

CHECK_SECONDS: Final = 1.0
"""The file of keys is looked at again at most this often, unless there is a reason."""

Stamp = tuple[int, int]


class TokenCipher:
    """Seals under the newest key and opens under all; notices by itself when the keys were changed."""

    def __init__(self, file: Path, seconds: Callable[[], float] = time.monotonic) -> None:
        """The keys are made where there are none; raises `KeyFileError` where they cannot be used."""
        self._file = file
        self._seconds = seconds
        self._looked_at = seconds()
        self._stamp = _stamp(file)
        if self._stamp is None:
            create_keys(file)
            self._stamp = _stamp(file)
        self._keys = _opener(read_keys(file))

    def encrypt(self, token: str) -> bytes:
        if self._seconds() - self._looked_at >= CHECK_SECONDS:
            self._check_file()
        return self._keys.encrypt(token.encode())

    def decrypt(self, sealed: bytes) -> str | None:
        """The token, or None where it was sealed under a key that is no longer there."""
        if self._seconds() - self._looked_at >= CHECK_SECONDS:
            self._check_file()
        try:
            return self._keys.decrypt(sealed).decode()
        except InvalidToken:
            # Another process may have sealed it a moment ago, under a key that is new.
            if not self._check_file():
                return None
        try:
            return self._keys.decrypt(sealed).decode()
        except InvalidToken:
            return None

    def _check_file(self) -> bool:
        """Whether there are other keys now; while the file is gone or cannot be used, those from before go on."""
        self._looked_at = self._seconds()
        stamp = _stamp(self._file)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            self._keys = _opener(read_keys(self._file))
        except (KeyFileError, OSError) as problem:
            log.warning("the token keys from before go on: %s", problem)
            return False
        return True


def _stamp(file: Path) -> Stamp | None:
    """What changes with every change of the file; None where it cannot be looked at."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_ctime_ns


def _opener(keys: list[bytes]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])
