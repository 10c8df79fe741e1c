"""Tenants that the console makes itself: of projects of an OpenStack whose people log in for the first time."""

from collections.abc import Iterator
from itertools import count
from typing import Final

from sqlalchemy import Connection, Engine, select

from cloudconsole.core.hosts import normalise_project
from cloudconsole.operator.entities import TENANTS
from cloudconsole.operator.names import name_problem, truncated_name
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.store.tables import tenants

CONSOLE: Final = "console:login"
"""Whom the trail names: no user of an operating system has a colon in the name, and operators are `web:` and theirs."""

_LONGEST: Final = 255
_NAMELESS: Final = "project"


def provision_tenant(engine: Engine, project: str, name: str, now: int) -> int:
    """The id of the tenant that is this project, which is made where there is none; one that is disabled stays so.

    A new one is called as the project is, or nearly so where that name is taken or is none: it never joins a tenant
    that is there. The transaction takes the write lock before it looks, so the same again, or at once, finds it.
    """
    project = normalise_project(project)
    with operator_transaction(engine, actor=CONSOLE, now=now) as tx:
        known = _tenant_of(tx.connection, project)
        if known is not None:
            return known
        free = next(each for each in _names(name, project) if not _is_taken(tx.connection, each))
        TENANTS.add(tx, {"name": free, "project": project})
        made = _tenant_of(tx.connection, project)
        assert made is not None  # noqa: S101 - it was added just now
        return made


def _tenant_of(connection: Connection, project: str) -> int | None:
    return connection.scalar(select(tenants.c.id).where(tenants.c.project == project))


def _is_taken(connection: Connection, name: str) -> bool:
    return connection.scalar(select(tenants.c.id).where(tenants.c.name == name)) is not None


def _names(name: str, project: str) -> Iterator[str]:
    """What the tenant may be called, best first, without an end."""
    if 0 < len(name) <= _LONGEST and name_problem(name) is None:
        yield name
    project_id = project.partition("@")[0]
    base = truncated_name(name) or _NAMELESS
    numbered = (f"-{project_id}-{number}" for number in count(2))
    for suffixes in ((f"-{project_id[:8]}", f"-{project_id}"), numbered):
        for suffix in suffixes:
            yield base[: _LONGEST - len(suffix)].rstrip() + suffix
