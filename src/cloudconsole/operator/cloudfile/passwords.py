"""The files that accounts name for their passwords."""

import stat
from pathlib import Path as FilePath

from cloudconsole.operator.cloudfile.document import Document
from cloudconsole.operator.cloudfile.gaps import UNUSABLE
from cloudconsole.operator.cloudfile.model import CloudFile
from cloudconsole.operator.cloudfile.problems import Problem, path_text
from cloudconsole.operator.cloudfile.shape import items_of_tenants

_LONGEST = 1024


def read_passwords(model: CloudFile, folder: FilePath, document: Document) -> tuple[dict[str, str], list[Problem]]:
    """The passwords by username; the files' paths are relative to the folder."""
    passwords: dict[str, str] = {}
    problems: list[Problem] = []
    for account_path, account in items_of_tenants(model, "accounts"):
        if account.password_file in (None, UNUSABLE):
            continue
        try:
            passwords[account.username] = _read(folder / account.password_file)
        except ValueError as error:
            path = (*account_path, "password_file")
            problems.append(Problem(document.line_of(path), path_text(path), str(error)))
    return passwords, problems


def _read(file: FilePath) -> str:
    try:
        # Opening a pipe or a device could wait for ever.
        if not stat.S_ISREG(file.stat().st_mode):
            raise ValueError("is not a file")
        with file.open("rb") as opened:
            content = opened.read(4 * _LONGEST + 3)
        password = content.decode("utf-8")
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError("must be a file of UTF-8 text") from None
    password = password.removesuffix("\n").removesuffix("\r")
    if not 1 <= len(password) <= _LONGEST:
        raise ValueError(f"must be a file with a password of 1 to {_LONGEST} characters in it")
    return password
