"""The sessions that commands keep for one another, in a file that only its user can read.

Whoever has the file is logged in. So it is made with mode 0600 in a folder with 0700, replaced as a whole, and not
used where somebody else could have read or written it: then it is made anew with the next login.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from cloudconsole.cli import texts
from cloudconsole.cli.problems import Problem
from cloudconsole.cli.speaking import say
from cloudconsole.client import Session

_MOST: Final = 50
"""So many are kept; the oldest go first."""
_OTHERS: Final = 0o077


class Kept(msgspec.Struct, frozen=True):
    sessions: tuple[Session, ...] = ()
    """Newest first."""
    last_login: tuple[str, str, str | None] | None = None
    """Address, username and region of the last `cloudconsole login`."""

    def find(self, url: str, username: str | None, region: str | None) -> Session | None:
        return next((each for each in self.sessions if _of(each) == (url, username, region)), None)


def read_kept(file: Path) -> Kept:
    """What is kept; nothing where there is no file, or a damaged one. A Problem says why it must not be used."""
    try:
        with suppress(FileNotFoundError, NotADirectoryError), _held(file.parent, to_write=False) as folder:
            return _read(file, folder)
    except OSError as problem:
        raise Problem(say(texts.CANNOT_READ_SESSIONS, file=file, why=problem.strerror)) from None
    return Kept()


def keep(file: Path, session: Session, *, is_login: bool) -> None:
    """Keep a session in the place of an older one of the same account."""
    with _changing(file) as (kept, folder):
        others = [each for each in kept.sessions if _of(each) != _of(session)]
        last_login = _of(session) if is_login else kept.last_login
        _write(file, folder, Kept((session, *others[: _MOST - 1]), last_login))


def forget(file: Path, session: Session) -> None:
    with _changing(file) as (kept, folder):
        others = tuple(each for each in kept.sessions if _of(each) != _of(session))
        last_login = kept.last_login if kept.last_login != _of(session) else None
        _write(file, folder, Kept(others, last_login))


def _of(session: Session) -> tuple[str, str, str | None]:
    return session.base_url, session.username, session.region


@contextmanager
def _changing(file: Path) -> Iterator[tuple[Kept, int]]:
    try:
        file.parent.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            file.parent.mkdir(mode=0o700)
        with _held(file.parent, to_write=True) as folder:
            try:
                kept = _read(file, folder)
            except Problem:
                kept = Kept()
            yield kept, folder
    except OSError as problem:
        raise Problem(say(texts.CANNOT_KEEP_SESSION, file=file, why=problem.strerror)) from None


@contextmanager
def _held(path: Path, *, to_write: bool) -> Iterator[int]:
    """The folder, open; to write, for one command at a time."""
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except NotADirectoryError:
        if not path.is_symlink():
            raise
        raise Problem(say(texts.FOLDER_IS_LINK, folder=path)) from None
    try:
        status = os.fstat(folder)
        if status.st_uid != os.geteuid():
            raise Problem(say(texts.FOLDER_OF_ANOTHER, folder=path))
        if to_write:
            if stat.S_IMODE(status.st_mode) & _OTHERS:
                os.fchmod(folder, 0o700)
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield folder
    finally:
        os.close(folder)


def _read(file: Path, folder: int) -> Kept:
    try:
        handle = os.open(file.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except FileNotFoundError:
        return Kept()
    except OSError as problem:
        if problem.errno != errno.ELOOP:
            raise
        raise Problem(say(texts.SESSIONS_NOT_OURS, file=file)) from None
    with os.fdopen(handle, "rb") as opened:
        status = os.fstat(handle)
        is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if not is_ours or stat.S_IMODE(status.st_mode) & _OTHERS:
            raise Problem(say(texts.SESSIONS_NOT_OURS, file=file))
        try:
            return msgspec.json.decode(opened.read(), type=Kept)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return Kept()


def _write(file: Path, folder: int, kept: Kept) -> None:
    """Written beside it and put in its place, so that a reader sees the old or the new."""
    beside = f".{file.name}.new"
    with suppress(FileNotFoundError):
        os.unlink(beside, dir_fd=folder)
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    with os.fdopen(handle, "wb") as opened:
        opened.write(msgspec.json.encode(kept))
    os.replace(beside, file.name, src_dir_fd=folder, dst_dir_fd=folder)
