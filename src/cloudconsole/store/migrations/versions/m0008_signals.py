"""On PostgreSQL: signals of what was changed, written by triggers, for all replicas to see.

Revision ID: 0008
"""

from alembic import op

revision = "0008"
down_revision = "0007"

_SHARED = ("prices", "nodes", "flavors", "news")
"""What all tenants share: seldom changed, so a change is one of everything."""
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


def upgrade() -> None:
    # SQLite itself tells that something was committed.
    if op.get_bind().dialect.name != "postgresql":
        return
    op.execute("""
        CREATE TABLE signals (
            id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_signals PRIMARY KEY,
            xact xid8 NOT NULL DEFAULT pg_current_xact_id(),
            at timestamptz NOT NULL DEFAULT now(),
            tenant_ids integer[],
            id_hash bytea
        )
    """)
    op.execute("CREATE INDEX ix_signals_xact ON signals (xact)")
    op.execute("CREATE INDEX ix_signals_at ON signals (at)")
    op.execute("CREATE TABLE shared_changes (number bigint NOT NULL)")
    op.execute("INSERT INTO shared_changes VALUES (1)")
    _signal_shared()
    _signal_tenants()
    _signal_sessions()


def _signal_shared() -> None:
    op.execute("""
        CREATE FUNCTION signal_shared() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE shared_changes SET number = number + 1;
            RETURN NULL;
        END $$
    """)
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
    _make_function("signal_added", "SELECT %1$I AS tenant_id FROM added")
    _make_function("signal_removed", "SELECT %1$I AS tenant_id FROM removed")
    _make_function("signal_changed", "SELECT %1$I AS tenant_id FROM added UNION ALL SELECT %1$I FROM removed")
    events = {
        "signal_added": "INSERT ON {table} REFERENCING NEW TABLE AS added",
        "signal_removed": "DELETE ON {table} REFERENCING OLD TABLE AS removed",
        "signal_changed": "UPDATE ON {table} REFERENCING OLD TABLE AS removed NEW TABLE AS added",
    }
    for table, column in _TENANTS.items():
        for name, event in events.items():
            op.execute(f"""
                CREATE TRIGGER {name} AFTER {event.format(table=table)}
                FOR EACH STATEMENT EXECUTE FUNCTION {name}('{column}')
            """)


def _make_function(name: str, concerned: str) -> None:
    # One signal for a statement, however many tenants it concerns: an import changes hundreds with each.
    op.execute(f"""
        CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            whoever boolean;
        BEGIN
            EXECUTE format(
                'WITH concerned AS ({concerned}),
                noted AS (
                    INSERT INTO signals (tenant_ids)
                    SELECT array_agg(DISTINCT tenant_id) FROM concerned WHERE tenant_id IS NOT NULL HAVING count(*) > 0
                )
                SELECT EXISTS (SELECT 1 FROM concerned WHERE tenant_id IS NULL)',
                TG_ARGV[0]
            ) INTO whoever;
            IF whoever THEN
                UPDATE shared_changes SET number = number + 1;
            END IF;
            RETURN NULL;
        END $$
    """)


def _signal_sessions() -> None:
    # Of expired ones, too: whose clock says that they are is not to decide.
    op.execute("""
        CREATE FUNCTION signal_ended() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO signals (id_hash)
            SELECT id_hash FROM ended;
            RETURN NULL;
        END $$
    """)
    op.execute("""
        CREATE TRIGGER signal_ended AFTER DELETE ON sessions REFERENCING OLD TABLE AS ended
        FOR EACH STATEMENT EXECUTE FUNCTION signal_ended()
    """)
