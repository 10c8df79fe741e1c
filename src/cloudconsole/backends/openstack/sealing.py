"""Tokens are kept sealed: whoever reads the store without the file of keys can do nothing with them."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from cloudconsole.backends.openstack.key_file import KeyFileError, make_keys, read_keys

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 1.0
"""The file of keys is looked at again at most this often, unless there is a reason."""

Stamp = tuple[int, int]


class Seals:
    """Seals under the newest key and opens under all; notices by itself when the keys were changed."""

    def __init__(self, file: Path, seconds: Callable[[], float] = time.monotonic) -> None:
        """The keys are made where there are none; raises `KeyFileError` where they cannot be used."""
        self._file = file
        self._seconds = seconds
        self._looked_at = seconds()
        self._stamp = _stamp(file)
        if self._stamp is None:
            make_keys(file)
            self._stamp = _stamp(file)
        self._keys = _opener(read_keys(file))

    def seal(self, token: str) -> bytes:
        if self._seconds() - self._looked_at >= LOOK_SECONDS:
            self._look()
        return self._keys.encrypt(token.encode())

    def open(self, sealed: bytes) -> str | None:
        """The token, or None where it was sealed under a key that is no longer there."""
        if self._seconds() - self._looked_at >= LOOK_SECONDS:
            self._look()
        try:
            return self._keys.decrypt(sealed).decode()
        except InvalidToken:
            # Another process may have sealed it a moment ago, under a key that is new.
            if not self._look():
                return None
        try:
            return self._keys.decrypt(sealed).decode()
        except InvalidToken:
            return None

    def _look(self) -> bool:
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
