"""Which names are allowed; existing names are grandfathered."""

import unicodedata
from collections.abc import Container, Iterator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Engine, literal, or_, select

from cloudconsole.core.usernames import INVISIBLE
from cloudconsole.store import tables
from cloudconsole.store.base import Store, read_only
from cloudconsole.store.migrations import current_revision

_BREAKS: Final = ("Cc", "Zl", "Zp")
_SPACES: Final = " \u3000"
"""The space, and that of Chinese text, which is seen to be another."""
_MEANINGLESS: Final = ("Cn", "Co", "Cs")
CONTROL_CHARACTERS: Final = "must not have control characters, such as a tab or a line break"


def name_problem(text: str) -> str | None:
    """Why this cannot be a name, if so; an empty one is for others to judge."""
    if text.isascii() and text.isprintable() and text == text.strip():
        return None
    if text and not text.strip():
        return "must not be blank"
    return _character_problem(text) or _form_problem(text)


def truncated_name(text: str) -> str:
    """As much of a text as can be a name; nothing where none of it can."""
    spaced = "".join(" " if character.isspace() and character not in _SPACES else character for character in text)
    seen = "".join(character for character in spaced if _character_problem(character) is None)
    composed = unicodedata.normalize("NFC", seen).strip()
    while composed and unicodedata.category(composed[0]).startswith("M"):
        composed = composed[1:].lstrip()
    return composed


def _character_problem(text: str) -> str | None:
    for character in text:
        category = unicodedata.category(character)
        if category in _BREAKS:
            return CONTROL_CHARACTERS
        if category == "Cf" or INVISIBLE.match(character):
            return f"has the invisible character U+{ord(character):04X}: take it out"
        if category == "Zs" and character not in _SPACES:
            return f"has U+{ord(character):04X}, which looks like a space: write a space"
        if category in _MEANINGLESS:
            return f"has U+{ord(character):04X}, which is no character to all: take it out"
    return None


def _form_problem(text: str) -> str | None:
    if unicodedata.category(text[0]).startswith("M"):
        return "must not begin with an accent: put it behind a letter"
    if text != text.strip():
        return "must not begin or end with a space: take it away"
    if not unicodedata.is_normalized("NFC", text):
        return "must be in Unicode's composed form (NFC): write each letter and its accents as one character"
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
"""Where names are; the two of resources apart, so that each is found by its index."""


class StoredNames:
    """The names of a store as it is whenever one is asked for."""

    def __init__(self, engine: Engine) -> None:
        self._engine = read_only(engine)

    def __contains__(self, text: object) -> bool:
        if isinstance(text, str) and "\0" in text:
            return False  # no name ever was, and PostgreSQL cannot even be asked for it
        with self._engine.connect() as connection:
            for table, names in _NAMES:
                found = select(literal(1)).where(or_(*(table.c[name] == text for name in names))).limit(1)
                if connection.scalar(found) is not None:
                    return True
        return False


@contextmanager
def stored_names(store: Store) -> Iterator[Container[str]]:
    """The names of a store; none where there is no store."""
    if not store.exists():
        yield ()
        return
    with store.opened("cloud") as engine:
        yield StoredNames(engine) if current_revision(engine) is not None else ()


def texts_in(value: Any) -> Iterator[str]:
    """Every text of a record."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from texts_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts_in(part)
