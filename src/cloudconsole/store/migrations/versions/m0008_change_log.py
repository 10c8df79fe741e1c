"""PostgreSQL: the change log (table `signals`), written by triggers and polled by all replicas.

Revision ID: 0008
"""

from alembic import op

revision = "0008"
down_revision = "0007"

_SHARED = ("prices", "nodes", "flavors", "news")
"""Tables shared by all tenants: rarely changed, so a change increments a number and invalidates everything."""
_TENANTS = {
    "tenants": "id",
    "accounts": "tenant_id",
    "quotas": "tenant_id",
    "resources": "tenant_id",
    "totals": "tenant_id",
    "usage": "tenant_id",
    "urls": "tenant_id",
    "domains": "tenant_id",
}
"""Tables with rows of single tenants, and the column with the tenant's id; NULL means all tenants."""
_MOST = 1000
"""Maximum number of tenants or sessions logged individually per statement; beyond it, everything is invalidated."""


def upgrade() -> None:
    # SQLite itself reports commits.
    if op.get_bind().dialect.name != "postgresql":
        return
    # An entry without tenant or session concerns all of them.
    op.execute("""
        CREATE TABLE signals (
            xact xid8 NOT NULL DEFAULT pg_current_xact_id(),
            tenant_ids integer[],
            id_hash bytea
        )
    """)
    op.execute("CREATE INDEX ix_signals_xact ON signals (xact)")
    op.execute("CREATE TABLE shared_changes (number bigint NOT NULL)")
    op.execute("INSERT INTO shared_changes VALUES (1)")
    _signal_shared()
    _signal_tenants()
    _signal_sessions()


def _signal_shared() -> None:
    _make_function("signal_shared", "UPDATE shared_changes SET number = number + 1;")
    for table in _SHARED:
        op.execute(f"""
            CREATE TRIGGER signal_shared AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON {table}
            FOR EACH STATEMENT EXECUTE FUNCTION signal_shared()
        """)
    # These tables are never truncated in normal operation; if one is, everything is invalidated.
    for table in (*_TENANTS, "sessions"):
        op.execute(f"""
            CREATE TRIGGER signal_emptied AFTER TRUNCATE ON {table}
            FOR EACH STATEMENT EXECUTE FUNCTION signal_shared()
        """)


def _signal_tenants() -> None:
    events = {
        "signal_added": ("INSERT ON {table} REFERENCING NEW TABLE AS added", ["added"]),
        "signal_removed": ("DELETE ON {table} REFERENCING OLD TABLE AS removed", ["removed"]),
        "signal_changed": (
            "UPDATE ON {table} REFERENCING OLD TABLE AS removed NEW TABLE AS added",
            ["added", "removed"],
        ),
    }
    for name, (event, rows) in events.items():
        concerned = " UNION ALL ".join(f"SELECT %1$I AS tenant_id FROM {each}" for each in rows)
        # One entry per statement, even for many tenants: each statement of an import changes hundreds.
        _make_function(
            name,
            f"""
            EXECUTE format(
                'INSERT INTO signals (tenant_ids)
                SELECT CASE WHEN count(tenant_id) = count(*) AND count(*) <= {_MOST} THEN array_agg(tenant_id) END
                FROM (SELECT DISTINCT tenant_id FROM ({concerned}) AS concerned LIMIT {_MOST + 1}) AS few
                HAVING count(*) > 0',
                TG_ARGV[0]
            );
            """,
        )
        for table, column in _TENANTS.items():
            op.execute(f"""
                CREATE TRIGGER {name} AFTER {event.format(table=table)}
                FOR EACH STATEMENT EXECUTE FUNCTION {name}('{column}')
            """)


def _signal_sessions() -> None:
    # Expired sessions are logged, too: whether one has expired depends on the clock of each replica.
    _make_function(
        "signal_ended",
        f"""
        IF (SELECT count(*) FROM (SELECT 1 FROM ended LIMIT {_MOST + 1}) AS few) <= {_MOST} THEN
            INSERT INTO signals (id_hash) SELECT id_hash FROM ended;
        ELSE
            INSERT INTO signals DEFAULT VALUES;
        END IF;
        """,
    )
    op.execute("""
        CREATE TRIGGER signal_ended AFTER DELETE ON sessions REFERENCING OLD TABLE AS ended
        FOR EACH STATEMENT EXECUTE FUNCTION signal_ended()
    """)


def _make_function(name: str, statements: str) -> None:
    # A fixed search path, so that entries go to the schema of the tables, whatever the path of the session that makes a
    # change. Temporary tables come last; by default they come first.
    path = "SELECT quote_ident(current_schema()) || ', pg_temp'"
    op.execute(f"""
        CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql
        SET search_path = {op.get_bind().exec_driver_sql(path).scalar_one()} AS $$
        BEGIN
            {statements}
            RETURN NULL;
        END $$
    """)
