"""Lookup of the tenant of an OpenStack project."""

from pathlib import Path

import pytest
from sqlalchemy import insert

from cloudconsole.store.base import Reader
from cloudconsole.store.observed_resources import tenant_of_project
from cloudconsole.store.tables import tenants
from tests.stores import opened, run


@pytest.fixture
def reader(folder: Path, reader: Reader) -> Reader:
    """Reader of a store with two projects, the second one disabled, and a tenant without a project."""
    with opened(folder, "cloud") as engine, engine.begin() as connection:
        projects = ("p@https://id.example.com", "q@https://id.example.com", None)
        rows = [{"id": number, "name": f"t{number}", "project": project} for number, project in enumerate(projects, 1)]
        connection.execute(insert(tenants), [row | {"disabled": row["id"] == 2} for row in rows])
    return reader


@pytest.mark.parametrize(
    ("project", "found"),
    [
        ("p@https://id.example.com", (1, False)),
        ("p@HTTPS://ID.example.com:443/v3/", (1, False)),
        ("q@https://id.example.com", (2, True)),
        ("P@https://id.example.com", None),
        ("p@https://other.example.com", None),
    ],
)
def test_project_is_mapped_to_its_tenant(reader: Reader, project: str, found: tuple[int, bool] | None) -> None:
    assert run(tenant_of_project(reader, project)) == found


def test_malformed_project_is_rejected(reader: Reader) -> None:
    with pytest.raises(ValueError, match="must be a project ID"):
        run(tenant_of_project(reader, "t3"))
