"""Files with secrets: the keys of stored tokens, and application credentials."""

import os
import stat
from pathlib import Path
from typing import Final, NamedTuple

from cloudconsole.spec.i18n import Text
from cloudconsole.store.base import StoreError

MAX_BYTES: Final = 64 * 1024
FOR_OTHERS: Final = stat.S_IRWXO | stat.S_IWGRP
"""A group may read the file, as is common for container secrets."""


class SecretFileError(StoreError):
    """A file with secrets cannot be used; the message says why and how to fix it."""


def read_secret_file(file: Path, contents: Text) -> bytes:
    """Return the beginning of a file that others cannot read; `contents` names what it has."""
    try:
        with file.open("rb") as opened:
            status, content = os.fstat(opened.fileno()), opened.read(MAX_BYTES + 1)
    except OSError as problem:
        raise SecretFileError(
            f"the {contents.en} in {file} cannot be read: {problem.strerror}",
            f"无法读取 {file} 中的{contents.zh}：{problem.strerror}",
        ) from problem
    if status.st_mode & FOR_OTHERS:
        raise SecretFileError(
            f"other users have access to the {contents.en} in {file}: chmod 600 {file}",
            f"其他用户可以访问 {file} 中的{contents.zh}：chmod 600 {file}",
        )
    return content


class ApplicationCredential(NamedTuple):
    id: str
    secret: str
    line: int = 0
    """In the file; named in messages instead of the ID, which may be a secret by mistake."""


def read_application_credentials(file: Path) -> list[ApplicationCredential]:
    """Return the credentials of a file with an ID and a secret per line; raise `SecretFileError`."""
    content = read_secret_file(file, Text("application credentials", "应用凭据"))
    if len(content) > MAX_BYTES:
        raise SecretFileError(f"{file} has more than {MAX_BYTES // 1024} KiB")
    found = []
    for number, line in enumerate(content.splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith(b"#"):
            continue
        if len(words) != 2 or not line.isascii():
            # Not the line itself: it may have a secret.
            raise SecretFileError(f"line {number} of {file} is not an ID and a secret, separated by a space")
        found.append(ApplicationCredential(words[0].decode(), words[1].decode(), number))
    return found
