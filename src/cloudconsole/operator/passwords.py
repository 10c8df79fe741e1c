"""Passwords as operators hand them over: how long one may be, and how it is read from a file."""

import stat
from pathlib import Path
from typing import IO, Final

LONGEST: Final = 1024


def read_password_file(file: Path) -> str:
    """The password in a file; a ValueError says what is wrong with the file, without its name."""
    try:
        # Opening a pipe or a device could wait for ever.
        if not stat.S_ISREG(file.stat().st_mode):
            raise ValueError("is not a file")
        with file.open("rb") as opened:
            password = read_password(opened)
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError("must be a file of UTF-8 text") from None
    if not is_fit(password):
        raise ValueError(f"must be a file with a password of 1 to {LONGEST} characters in it")
    return password


def read_password(source: IO[bytes]) -> str:
    """All that a source holds, without a final line break; no more of it than could be a password."""
    content = source.read(4 * LONGEST + 3)
    return content.decode("utf-8").removesuffix("\n").removesuffix("\r")


def is_fit(password: str) -> bool:
    return 1 <= len(password) <= LONGEST
