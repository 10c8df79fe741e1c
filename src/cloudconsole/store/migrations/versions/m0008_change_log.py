"""On PostgreSQL: signals of what was changed, written by triggers, for all replicas to see.

Revision ID: 0008
"""

from alembic import op

revision = "0008"
down_revision = "0007"

_SHARED = ("prices", "nodes", "flavors", "news")
"""What all tenants share: seldom changed, so a change is one of everything, and has a number."""
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
"""What a tenant has of its own, and the column that says whose it is; NULL: everyone's."""
_MOST = 1000
"""Tenants or sessions that are told one by one after a statement; more are one change of everything."""


def upgrade() -> None:
    # SQLite itself tells that something was committed.
    if op.get_bind().dialect.name != "postgresql":
        return
    # A signal of nobody in particular concerns all.
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
    # These are never emptied in the course of things; where it happens, everyone is told.
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
        # One signal for a statement, however many tenants it concerns: an import changes hundreds with each.
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
    # Of expired ones, too: whose clock says that they are is not to decide.
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
    # Whatever the path of whoever makes a change: signals go where the tables are. Temporary tables come last, which
    # are else looked for first.
    path = "SELECT quote_ident(current_schema()) || ', pg_temp'"
    op.execute(f"""
        CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql
        SET search_path = {op.get_bind().exec_driver_sql(path).scalar_one()} AS $$
        BEGIN
            {statements}
            RETURN NULL;
        END $$
    """)
