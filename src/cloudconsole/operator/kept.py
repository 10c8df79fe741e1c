"""Names that stand in a store: they may stay there, whatever is asked of new ones."""

from collections.abc import Container, Iterator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Engine, literal, or_, select

from cloudconsole.store import tables
from cloudconsole.store.base import Store, reading
from cloudconsole.store.migrations import current_revision

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
        self._engine = reading(engine)

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
def names_kept_in(store: Store) -> Iterator[Container[str]]:
    """The names of a store; none where there is no store."""
    if not store.is_there():
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
