"""Which names are allowed; existing names are grandfathered."""

import unicodedata
from collections.abc import Container, Iterator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Engine, literal, or_, select

from cloudconsole.core.usernames import INVISIBLE
from cloudconsole.operator.messages import Message
from cloudconsole.store import tables
from cloudconsole.store.base import Store, read_only_engine
from cloudconsole.store.migrations import current_revision

_BREAKS: Final = ("Cc", "Zl", "Zp")
_SPACES: Final = " \u3000"
"""The ASCII space and the ideographic space, which is visibly different."""
_MEANINGLESS: Final = ("Cn", "Co", "Cs")
CONTROL_CHARACTERS: Final = Message(
    "must not contain control characters, such as tabs or line breaks", "不能包含制表符、换行等控制字符"
)


def name_problem(text: str) -> Message | None:
    """Return why a text is not a valid name, or None; the length is validated elsewhere."""
    if text.isascii() and text.isprintable() and text == text.strip():
        return None
    if text and not text.strip():
        return Message("must not be blank", "不能只有空格")
    return _character_problem(text) or _form_problem(text)


def truncated_name(text: str) -> str:
    """Return the part of a text that is a valid name, or an empty string."""
    spaced = "".join(" " if character.isspace() and character not in _SPACES else character for character in text)
    seen = "".join(character for character in spaced if _character_problem(character) is None)
    composed = unicodedata.normalize("NFC", seen).strip()
    while composed and unicodedata.category(composed[0]).startswith("M"):
        composed = composed[1:].lstrip()
    return composed


def _character_problem(text: str) -> Message | None:
    for character in text:
        category = unicodedata.category(character)
        if category in _BREAKS:
            return CONTROL_CHARACTERS
        if category == "Cf" or INVISIBLE.match(character):
            return Message(
                "contains the invisible character {code}: remove it",
                "包含不可见字符 {code}，请删除",
                code=_code_point(character),
            )
        if category == "Zs" and character not in _SPACES:
            return Message(
                "contains {code}, which looks like a space: use a plain space",
                "包含看似空格的字符 {code}，请改用普通空格",
                code=_code_point(character),
            )
        if category in _MEANINGLESS:
            return Message(
                "contains {code}, which is private or unassigned: remove it",
                "包含私有或未分配的字符 {code}，请删除",
                code=_code_point(character),
            )
    return None


def _code_point(character: str) -> str:
    return f"U+{ord(character):04X}"


def _form_problem(text: str) -> Message | None:
    if unicodedata.category(text[0]).startswith("M"):
        return Message(
            "must not begin with a combining character: put it after a letter", "不能以组合字符开头，请将其放在字母之后"
        )
    if text != text.strip():
        return Message("must not begin or end with a space", "首尾不能有空格")
    if not unicodedata.is_normalized("NFC", text):
        return Message(
            "must be in Unicode's composed form (NFC): write each letter and its accents as one character",
            "必须使用 Unicode 组合形式（NFC）：字母与其重音符号应为一个字符",
        )
    return None


_NAMES: Final = (
    (tables.tenants, ("name",)),
    (tables.nodes, ("name",)),
    (tables.accounts, ("username",)),
    (tables.prices, ("type",)),
    (tables.flavors, ("name",)),
    (tables.news, ("title", "url")),
    (tables.urls, ("url",)),
    (tables.domains, ("name", "service_areas", "service_type", "cname", "status", "origin_domain_name")),
    (tables.resources, ("id",)),
    (tables.resources, ("name",)),
)
"""Columns with names; those of resources are separate so that each lookup uses its index."""


class StoredNames:
    """A live view of the names in a store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = read_only_engine(engine)

    def __contains__(self, text: object) -> bool:
        if isinstance(text, str) and "\0" in text:
            return False  # never a name, and PostgreSQL rejects NUL in parameters
        with self._engine.connect() as connection:
            for table, names in _NAMES:
                query = select(literal(1)).where(or_(*(table.c[name] == text for name in names))).limit(1)
                if connection.scalar(query) is not None:
                    return True
        return False


@contextmanager
def stored_names(store: Store) -> Iterator[Container[str]]:
    """Yield the names of a store; empty if it does not exist."""
    if not store.exists():
        yield ()
        return
    with store.opened("cloud") as engine:
        yield StoredNames(engine) if current_revision(engine) is not None else ()


def texts_in(value: Any) -> Iterator[str]:
    """Yield every string in a record."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from texts_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts_in(part)
