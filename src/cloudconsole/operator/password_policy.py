"""Password policy, common passwords, and password files."""

import os
import stat
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import IO, Final

from cloudconsole.core.resources import Role
from cloudconsole.operator.messages import Message
from cloudconsole.spec.i18n import Text
from cloudconsole.store.file_permissions import reason_for_distrust

LONGEST: Final = 1024
MIN_DISTINCT_CHARACTERS: Final = 4
MINIMUM_LENGTHS: Final[dict[Role, int]] = {"tenant": 8, "operator": 12}


@dataclass(frozen=True)
class PasswordPolicy:
    """Requirements for new passwords: a minimum length per role, and no common password.

    Existing passwords stay valid; only their hashes are stored, so they cannot be checked.
    """

    min_length: int = MINIMUM_LENGTHS["tenant"]
    """The operator's setting; it can only raise the built-in minimum of a role."""

    def problem(self, password: str, role: Role) -> Message | None:
        """Say what is wrong with a new password; the text never contains it."""
        shortest = max(self.min_length, MINIMUM_LENGTHS[role])
        if not shortest <= len(password) <= LONGEST:
            lengths = {"shortest": shortest, "longest": LONGEST}
            if role == "operator":
                return Message(
                    "an operator's password must have {shortest} to {longest} characters",
                    "管理员密码长度必须为 {shortest} 至 {longest} 个字符",
                    **lengths,
                )
            return Message(
                "a password must have {shortest} to {longest} characters",
                "密码长度必须为 {shortest} 至 {longest} 个字符",
                **lengths,
            )
        if len(set(password)) < MIN_DISTINCT_CHARACTERS:
            return Message(
                "a password must have at least {least} different characters",
                "密码至少要包含 {least} 个不同的字符",
                least=MIN_DISTINCT_CHARACTERS,
            )
        if password.strip().casefold() in _common_passwords():
            return Message("this is one of the most common passwords: choose another one", "该密码过于常见，请更换")
        return None


DEFAULT_POLICY: Final = PasswordPolicy()


@cache
def _common_passwords() -> frozenset[str]:
    """Return the thousand most common passwords of at least 8 characters, and further common ones of at least 12.

    From the frequency list of zxcvbn (MIT licence), which was compiled from public leaks.
    """
    text = files("cloudconsole.operator").joinpath("common_passwords.txt").read_text("utf-8")
    return frozenset(text.split())


def read_password_file(file: Path) -> str:
    """Read a password file; the message of a ValueError does not name the file."""
    try:
        with open(file, "rb", opener=_open_without_waiting) as opened:
            status = os.fstat(opened.fileno())
            is_regular = stat.S_ISREG(status.st_mode)
            reason = reason_for_distrust(status) if is_regular else Text("is not a regular file", "不是普通文件")
            password = "" if reason else read_password(opened)
    except OSError as error:
        raise ValueError(Message("cannot be read: {reason}", "无法读取：{reason}", reason=error.strerror)) from None
    except UnicodeDecodeError:
        raise ValueError(Message("must be a file of UTF-8 text", "必须是 UTF-8 文本文件")) from None
    if reason:
        raise ValueError(Message(*reason))
    if not is_acceptable_password(password):
        raise ValueError(
            Message(
                "must be a file with a password of 1 to {longest} characters in it",
                "文件中必须是 1 至 {longest} 个字符的密码",
                longest=LONGEST,
            )
        )
    return password


def _open_without_waiting(file: str, flags: int) -> int:
    # A pipe or a device could block forever.
    return os.open(file, flags | os.O_NONBLOCK)


def read_password(source: IO[bytes]) -> str:
    """Read a password without its final line break, and no more than the maximum length."""
    content = source.read(4 * LONGEST + 3)
    return content.decode("utf-8").removesuffix("\n").removesuffix("\r")


def is_acceptable_password(password: str) -> bool:
    return 1 <= len(password) <= LONGEST
