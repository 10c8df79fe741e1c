"""Stores as created by an earlier version."""

from contextlib import closing
from pathlib import Path
from sqlite3 import connect
from typing import Final

_DOWNGRADE: Final = {
    "cloud": (
        "DROP TABLE schema_revisions",
        "DROP TABLE usage",
        "DROP INDEX ix_resources_node_id_id_kind",
        "DROP INDEX ix_resources_kind_id",
        "DROP INDEX ix_resources_ended_at_id",
        "CREATE INDEX ix_resources_node_id ON resources (node_id)",
        *(f"DROP INDEX ix_operator_audit_{column}_id" for column in ("actor", "change", "subject")),
        "DROP INDEX uq_tenants_project",
        "ALTER TABLE tenants DROP COLUMN project",
        "ALTER TABLE tenants DROP COLUMN guests_ended_at",
        *(f"DROP INDEX uq_prices_{name}" for name in ("node_type", "type", "node", "every_node")),
        "ALTER TABLE prices DROP COLUMN type",
        "CREATE UNIQUE INDEX uq_prices_node ON prices (kind, unit, node_id, start)",
        "CREATE UNIQUE INDEX uq_prices_every_node ON prices (kind, unit, start) WHERE node_id IS NULL",
        *(f"DROP TABLE billing_{name}" for name in ("entries", "state", "closings")),
        *(
            f"DROP TABLE {name}"
            for name in ("monthly_sums", "price_entries", "project_resources", "reading_periods", "record_names")
        ),
        *(f"ALTER TABLE news DROP COLUMN {column}" for column in ("language", "pinned")),
        "DROP INDEX ix_domains_tenant_id_id",
        "CREATE INDEX ix_domains_tenant_id ON domains (tenant_id)",
    ),
    "activity": (
        "DROP TABLE schema_revisions",
        "DROP TABLE undeclared_proxies",
        "DROP TABLE guest_sessions",
        "DROP TABLE sightings",
        *(f"DROP INDEX ix_access_audit_{column}_id" for column in ("event", "username")),
    ),
}


def make_older(folder: Path) -> None:
    """Downgrade the store in a directory to revision 0002."""
    for part, statements in _DOWNGRADE.items():
        with closing(connect(folder / f"{part}.db")) as connection, connection:
            for statement in ("UPDATE alembic_version SET version_num = '0002'", *statements):
                connection.execute(statement)
