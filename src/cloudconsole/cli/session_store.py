"""Sessions saved between commands, in a file that only its user can read.

The file grants access to the account. It is created with mode 0600 in a directory with mode 0700, replaced atomically,
and ignored if another user could have read or written it; the next login recreates it.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from cloudconsole.cli import messages
from cloudconsole.cli.errors import CommandError, system_error
from cloudconsole.cli.i18n import translate
from cloudconsole.client import Session
from cloudconsole.spec.console_url import normalise_base_url

_MAX_SESSIONS: Final = 50
"""The oldest are dropped first."""
_GROUP_AND_OTHERS: Final = 0o077


class Owner(NamedTuple):
    """Whose session it is."""

    url: str
    username: str
    region: str | None
    project: str | None = None


class SavedSessions(msgspec.Struct, frozen=True):
    sessions: tuple[Session, ...] = ()
    """Newest first."""
    last_login: Owner | None = None
    """Account of the last `cloudconsole login`."""
    ca_file: str | None = None
    """CA file that this login used."""

    def ca_file_for(self, url: str) -> Path | None:
        return Path(self.ca_file) if self.ca_file and self.last_login and self.last_login.url == url else None

    def find(self, url: str, username: str | None, region: str | None, project: str | None = None) -> Session | None:
        return next((each for each in self.sessions if owner(each) == (url, username, region, project)), None)


def load_sessions(file: Path) -> SavedSessions:
    """Load the saved sessions; a missing or damaged file has none. Raise CommandError if the file cannot be trusted."""
    try:
        with suppress(FileNotFoundError, NotADirectoryError), _open_directory(file.parent, to_write=False) as directory:
            return _read(file, directory)
    except OSError as problem:
        raise CommandError(translate(messages.CANNOT_READ_SESSIONS, file=file, why=system_error(problem))) from None
    return SavedSessions()


def save_session(file: Path, session: Session, *, is_login: bool, ca_file: Path | None = None) -> None:
    """Save a session, replacing an older one of the same account; a login also saves its CA file."""
    with _update(file) as (saved, directory):
        others = [each for each in saved.sessions if owner(each) != owner(session)]
        login = (owner(session), str(ca_file) if ca_file else None) if is_login else (saved.last_login, saved.ca_file)
        _write(file, directory, SavedSessions((session, *others[: _MAX_SESSIONS - 1]), *login))


def delete_session(file: Path, session: Session) -> None:
    with _update(file) as (saved, directory):
        others = tuple(each for each in saved.sessions if owner(each) != owner(session))
        login = (saved.last_login, saved.ca_file) if saved.last_login != owner(session) else ()
        _write(file, directory, SavedSessions(others, *login))


def owner(session: Session) -> Owner:
    return Owner(session.base_url, session.username, session.region, session.project)


@contextmanager
def _update(file: Path) -> Iterator[tuple[SavedSessions, int]]:
    try:
        # Parents too: the XDG specification asks for mode 0700.
        for path in [path for path in reversed(file.parents) if not path.exists()]:
            with suppress(FileExistsError):
                path.mkdir(mode=0o700)
        with _open_directory(file.parent, to_write=True) as directory:
            try:
                saved = _read(file, directory)
            except CommandError:
                saved = SavedSessions()
            yield saved, directory
    except OSError as problem:
        raise CommandError(translate(messages.CANNOT_SAVE_SESSION, file=file, why=system_error(problem))) from None


@contextmanager
def _open_directory(path: Path, *, to_write: bool) -> Iterator[int]:
    """Open the directory; lock it for writing."""
    try:
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except NotADirectoryError:
        if not path.is_symlink():
            raise
        raise CommandError(translate(messages.DIRECTORY_IS_SYMLINK, directory=path)) from None
    try:
        status = os.fstat(directory)
        if status.st_uid != os.geteuid():
            raise CommandError(translate(messages.DIRECTORY_OF_ANOTHER_USER, directory=path))
        if to_write:
            if stat.S_IMODE(status.st_mode) & _GROUP_AND_OTHERS:
                os.fchmod(directory, 0o700)
            fcntl.flock(directory, fcntl.LOCK_EX)
        yield directory
    finally:
        os.close(directory)


def _read(file: Path, directory: int) -> SavedSessions:
    try:
        handle = os.open(file.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    except FileNotFoundError:
        return SavedSessions()
    except OSError as problem:
        if problem.errno != errno.ELOOP:
            raise
        raise CommandError(translate(messages.SESSIONS_NOT_PRIVATE, file=file)) from None
    with os.fdopen(handle, "rb") as opened:
        status = os.fstat(handle)
        is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if not is_ours or stat.S_IMODE(status.st_mode) & _GROUP_AND_OTHERS:
            raise CommandError(translate(messages.SESSIONS_NOT_PRIVATE, file=file))
        try:
            saved = msgspec.json.decode(opened.read(), type=SavedSessions)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return SavedSessions()
    is_usable = (
        saved.last_login is not None and _is_normalised(saved.last_login.url) and "\0" not in (saved.ca_file or "")
    )
    login = (saved.last_login, saved.ca_file) if is_usable else ()
    return SavedSessions(tuple(filter(_is_sendable, saved.sessions)), *login)


def _is_sendable(session: Session) -> bool:
    """Whether it can be sent unchanged."""
    texts_sent = (text for cookie in session.cookies for text in (cookie.name, cookie.value, cookie.path))
    return _is_normalised(session.base_url) and all(text.isascii() and text.isprintable() for text in texts_sent)


def _is_normalised(url: str) -> bool:
    try:
        return normalise_base_url(url) == url
    except ValueError:
        return False


def _write(file: Path, directory: int, saved: SavedSessions) -> None:
    """Write a temporary file and rename it, so that readers see the old or the new content."""
    temporary = f".{file.name}.new"
    with suppress(FileNotFoundError):
        os.unlink(temporary, dir_fd=directory)
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=directory)
    with os.fdopen(handle, "wb") as opened:
        opened.write(msgspec.json.encode(saved))
    os.replace(temporary, file.name, src_dir_fd=directory, dst_dir_fd=directory)
