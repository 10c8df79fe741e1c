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

from cloudconsole.cli import messages
from cloudconsole.cli.errors import CommandError
from cloudconsole.cli.i18n import translate
from cloudconsole.client import Session
from cloudconsole.spec.urls import normalise_base_url

_MOST: Final = 50
"""So many are kept; the oldest go first."""
_OTHERS: Final = 0o077

Owner = tuple[str, str, str | None]
"""Whose a session is: address, username and region."""


class SavedSessions(msgspec.Struct, frozen=True):
    sessions: tuple[Session, ...] = ()
    """Newest first."""
    last_login: Owner | None = None
    """Of the last `cloudconsole login`."""
    ca_file: str | None = None
    """Whose certificates that login trusted."""

    def ca_file_for(self, url: str) -> Path | None:
        return Path(self.ca_file) if self.ca_file and self.last_login and self.last_login[0] == url else None

    def find(self, url: str, username: str | None, region: str | None) -> Session | None:
        return next((each for each in self.sessions if owner(each) == (url, username, region)), None)


def load_sessions(file: Path) -> SavedSessions:
    """What is kept; nothing where there is no file, or a damaged one. A Problem says why it must not be used."""
    try:
        with suppress(FileNotFoundError, NotADirectoryError), _held(file.parent, to_write=False) as folder:
            return _read(file, folder)
    except OSError as problem:
        raise CommandError(translate(messages.CANNOT_READ_SESSIONS, file=file, why=problem.strerror)) from None
    return SavedSessions()


def save_session(file: Path, session: Session, *, is_login: bool, ca_file: Path | None = None) -> None:
    """Keep a session in the place of an older one of the same account; of a login also what it trusted."""
    with _changing(file) as (kept, folder):
        others = [each for each in kept.sessions if owner(each) != owner(session)]
        of_login = (owner(session), str(ca_file) if ca_file else None) if is_login else (kept.last_login, kept.ca_file)
        _write(file, folder, SavedSessions((session, *others[: _MOST - 1]), *of_login))


def delete_session(file: Path, session: Session) -> None:
    with _changing(file) as (kept, folder):
        others = tuple(each for each in kept.sessions if owner(each) != owner(session))
        of_login = (kept.last_login, kept.ca_file) if kept.last_login != owner(session) else ()
        _write(file, folder, SavedSessions(others, *of_login))


def owner(session: Session) -> Owner:
    return session.base_url, session.username, session.region


@contextmanager
def _changing(file: Path) -> Iterator[tuple[SavedSessions, int]]:
    try:
        # Those above it, too: the desktop's rules say so.
        for path in [path for path in reversed(file.parents) if not path.exists()]:
            with suppress(FileExistsError):
                path.mkdir(mode=0o700)
        with _held(file.parent, to_write=True) as folder:
            try:
                kept = _read(file, folder)
            except CommandError:
                kept = SavedSessions()
            yield kept, folder
    except OSError as problem:
        raise CommandError(translate(messages.CANNOT_KEEP_SESSION, file=file, why=problem.strerror)) from None


@contextmanager
def _held(path: Path, *, to_write: bool) -> Iterator[int]:
    """The folder, open; to write, for one command at a time."""
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except NotADirectoryError:
        if not path.is_symlink():
            raise
        raise CommandError(translate(messages.FOLDER_IS_LINK, folder=path)) from None
    try:
        status = os.fstat(folder)
        if status.st_uid != os.geteuid():
            raise CommandError(translate(messages.FOLDER_OF_ANOTHER, folder=path))
        if to_write:
            if stat.S_IMODE(status.st_mode) & _OTHERS:
                os.fchmod(folder, 0o700)
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield folder
    finally:
        os.close(folder)


def _read(file: Path, folder: int) -> SavedSessions:
    try:
        handle = os.open(file.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except FileNotFoundError:
        return SavedSessions()
    except OSError as problem:
        if problem.errno != errno.ELOOP:
            raise
        raise CommandError(translate(messages.SESSIONS_NOT_OURS, file=file)) from None
    with os.fdopen(handle, "rb") as opened:
        status = os.fstat(handle)
        is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if not is_ours or stat.S_IMODE(status.st_mode) & _OTHERS:
            raise CommandError(translate(messages.SESSIONS_NOT_OURS, file=file))
        try:
            kept = msgspec.json.decode(opened.read(), type=SavedSessions)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return SavedSessions()
    is_usable = kept.last_login is not None and _is_clean(kept.last_login[0]) and "\0" not in (kept.ca_file or "")
    of_login = (kept.last_login, kept.ca_file) if is_usable else ()
    return SavedSessions(tuple(filter(_is_sound, kept.sessions)), *of_login)


def _is_sound(session: Session) -> bool:
    """Whether it can be sent as it is."""
    texts_sent = (text for cookie in session.cookies for text in (cookie.name, cookie.value, cookie.path))
    return _is_clean(session.base_url) and all(text.isascii() and text.isprintable() for text in texts_sent)


def _is_clean(address: str) -> bool:
    try:
        return normalise_base_url(address) == address
    except ValueError:
        return False


def _write(file: Path, folder: int, kept: SavedSessions) -> None:
    """Written beside it and put in its place, so that a reader sees the old or the new."""
    beside = f".{file.name}.new"
    with suppress(FileNotFoundError):
        os.unlink(beside, dir_fd=folder)
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    with os.fdopen(handle, "wb") as opened:
        opened.write(msgspec.json.encode(kept))
    os.replace(beside, file.name, src_dir_fd=folder, dst_dir_fd=folder)
