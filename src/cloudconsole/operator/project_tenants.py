"""Tenants created for OpenStack projects at their users' first login."""

from collections.abc import Iterator
from itertools import count
from typing import Final

from sqlalchemy import Connection, Engine, select

from cloudconsole.core.identity_urls_and_projects import normalise_project
from cloudconsole.operator.entities import TENANTS
from cloudconsole.operator.new_and_existing_names import name_problem, truncated_name
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.store.tables import tenants

CONSOLE: Final = "console:login"
"""Actor in the audit log; OS usernames have no colon, and admin UI users have the prefix `web:`."""

_MAX_NAME_LENGTH: Final = 255
_DEFAULT_NAME: Final = "project"


def provision_tenant(engine: Engine, project: str, name: str, now: int) -> int:
    """Return the id of a project's tenant, creating the tenant if needed; a disabled one stays disabled.

    A new tenant gets the project's name, with a suffix if the name is invalid or taken: it never joins an existing
    tenant. The transaction takes the write lock before it reads, so concurrent calls create one tenant.
    """
    project = normalise_project(project)
    with operator_transaction(engine, actor=CONSOLE, now=now) as tx:
        known = _tenant_of(tx.connection, project)
        if known is not None:
            return known
        free = next(each for each in _names(name, project) if not _exists(tx.connection, each))
        TENANTS.add(tx, {"name": free, "project": project})
        created = _tenant_of(tx.connection, project)
        assert created is not None  # noqa: S101 - it was added just now
        return created


def _tenant_of(connection: Connection, project: str) -> int | None:
    return connection.scalar(select(tenants.c.id).where(tenants.c.project == project))


def _exists(connection: Connection, name: str) -> bool:
    return connection.scalar(select(tenants.c.id).where(tenants.c.name == name)) is not None


def _names(name: str, project: str) -> Iterator[str]:
    """Yield candidate tenant names, best first, without end."""
    if 0 < len(name) <= _MAX_NAME_LENGTH and name_problem(name) is None:
        yield name
    project_id = project.partition("@")[0]
    base = truncated_name(name) or _DEFAULT_NAME
    numbered = (f"-{project_id}-{number}" for number in count(2))
    for suffixes in ((f"-{project_id[:8]}", f"-{project_id}"), numbered):
        for suffix in suffixes:
            yield base[: _MAX_NAME_LENGTH - len(suffix)].rstrip() + suffix
