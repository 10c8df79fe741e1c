"""Which tenant a project of an OpenStack is."""

from cloudconsole.core.hosts import normalise_project
from cloudconsole.store.reader import Reading

_TENANT = "SELECT id, disabled FROM tenants WHERE project = ?"


async def tenant_of_project(reader: Reading, project: str) -> tuple[int, bool] | None:
    """The id of the tenant that is this project, and whether it is disabled; None where there is none yet."""
    row = await reader.one(_TENANT, (normalise_project(project),))
    return None if row is None else (row[0], bool(row[1]))
