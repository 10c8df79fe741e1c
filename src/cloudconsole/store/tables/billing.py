"""Tables of the billing record: what has run, prices, closed months, and readings of OpenStack projects."""

from sqlalchemy import BigInteger, Column, Index, Integer, Table, literal_column

from cloudconsole.store.tables.cloud import CLOUD
from cloudconsole.store.tables.types import TEXT, bigint_id

BILLED_AMOUNTS = ("items", "vcpus", "ram_gb", "size_gb")

billing_entries = Table(
    "billing_entries",
    CLOUD,
    # Append-only: what has run, as signed changes. OpenStack projects, and tenants and nodes that were removed, have a
    # negative id (`record_names`).
    bigint_id(),
    Column("tenant_id", Integer, nullable=False),
    Column("resource_id", TEXT, nullable=False),
    Column("name", TEXT, nullable=False),
    Column("event", TEXT, nullable=False),
    # When it happened, and from when on it counts: an entry for a closed month counts from the open one on, and has the
    # cost of the closed hours as correction, in billionths.
    Column("at", BigInteger, nullable=False),
    Column("counts_from", BigInteger, nullable=False),
    Column("correction", TEXT, nullable=False),
    Column("recorded_at", BigInteger, nullable=False),
    # 1 for an end, and if it counts from the hour after `counts_from` on.
    Column("is_end", Integer, nullable=False),
    Column("skips_hour", Integer, nullable=False),
    Column("kind", TEXT, nullable=False),
    Column("node_id", Integer),
    Column("type", TEXT),
    *(Column(name, BigInteger, nullable=False) for name in BILLED_AMOUNTS),
    Index(None, "tenant_id", "counts_from"),
    # All that counting the resources of a tenant needs.
    Index(
        "ix_billing_entries_resources",
        *("tenant_id", "resource_id", "kind", "node_id", "items", "counts_from", "skips_hour"),
    ),
)
is_removal = billing_entries.c.event == literal_column("'remove'")
"""A literal: SQLite uses a partial index only for the same text."""
Index(
    "ix_billing_entries_removals", billing_entries.c.resource_id, sqlite_where=is_removal, postgresql_where=is_removal
)
_has_correction = billing_entries.c.correction != "0"
Index(
    "ix_billing_entries_corrections",
    # Both columns: otherwise SQLite prefers the index above.
    billing_entries.c.tenant_id,
    billing_entries.c.counts_from,
    sqlite_where=_has_correction,
    postgresql_where=_has_correction,
)

price_entries = Table(
    "price_entries",
    CLOUD,
    # Append-only: from when on each price applies, and until when if it was removed. Of entries with the same start the
    # last one counts.
    Column("id", Integer, primary_key=True),
    Column("kind", TEXT, nullable=False),
    Column("unit", TEXT, nullable=False),
    Column("node_id", Integer),
    Column("type", TEXT),
    Column("start", BigInteger, nullable=False),
    Column("billionths", BigInteger, nullable=False),
    Column("until", BigInteger),
    # From when on it is known: months that were closed before do not have it.
    Column("known_from", BigInteger, nullable=False),
)

billing_state = Table(
    "billing_state",
    CLOUD,
    # One row.
    Column("id", Integer, primary_key=True),
    # Hours before are unknown; 0 for a store that has recorded everything.
    Column("complete_since", BigInteger, nullable=False),
    Column("recording_since", BigInteger, nullable=False),
    # Of the open months and their sums.
    Column("time_zone", TEXT, nullable=False),
)

billing_closings = Table(
    "billing_closings",
    CLOUD,
    # Append-only: months that end until then, and after the closing before, were closed in this time zone.
    Column("until", BigInteger, primary_key=True, autoincrement=False),
    Column("time_zone", TEXT, nullable=False),
)

monthly_sums = Table(
    "monthly_sums",
    CLOUD,
    # Sums over the billing entries of a month, or of a part of it in which hours do not shift, so that reports need not
    # read them all: the changes, and the changes times the hours from `start` until they count.
    Column("tenant_id", Integer, primary_key=True, autoincrement=False),
    Column("start", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", TEXT, primary_key=True),
    # 0 and "" for none: no column of a primary key is NULL.
    Column("node_id", Integer, primary_key=True, autoincrement=False),
    Column("type", TEXT, primary_key=True),
    *(Column(f"{name}{suffix}", BigInteger, nullable=False) for suffix in ("", "_delay") for name in BILLED_AMOUNTS),
    sqlite_with_rowid=False,
)

record_names = Table(
    "record_names",
    CLOUD,
    # What the billing entries have a negative id for: a `tenant` or `node` that was removed, a `region` without a node
    # of its name, and a `project` of OpenStack as `ID@ADDRESS`.
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("thing", TEXT, nullable=False),
    Column("name", TEXT, nullable=False),
    Index(None, "thing", "name"),
)

reading_periods = Table(
    "reading_periods",
    CLOUD,
    # Periods in which the resources of an OpenStack project were read in every hour: from the hour of the first reading
    # to the last reading. What ran between the periods is unknown.
    Column("project_id", Integer, primary_key=True, autoincrement=False),
    Column("start", BigInteger, primary_key=True, autoincrement=False),
    Column("last_reading", BigInteger, nullable=False),
)

project_resources = Table(
    "project_resources",
    CLOUD,
    # Resources of OpenStack projects as the billing record has them, which the next reading is compared with; those
    # that have ended lately, too.
    Column("project_id", Integer, primary_key=True, autoincrement=False),
    Column("region", TEXT, primary_key=True),
    Column("kind", TEXT, primary_key=True),
    Column("resource_id", TEXT, primary_key=True),
    Column("node_id", Integer, nullable=False),
    Column("type", TEXT),
    Column("name", TEXT, nullable=False),
    *(Column(name, BigInteger, nullable=False) for name in BILLED_AMOUNTS),
    # The last moment that counts; NULL while it runs.
    Column("ended_at", BigInteger),
    # 1 if the cloud has reported the end.
    Column("is_deleted", Integer, nullable=False),
    sqlite_with_rowid=False,
)
