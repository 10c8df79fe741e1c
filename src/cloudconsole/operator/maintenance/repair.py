"""Recomputation of counters and revocation of all sessions."""

from datetime import tzinfo

from sqlalchemy import Connection, Engine, delete

from cloudconsole.operator.audit import record_change
from cloudconsole.operator.transaction import OperatorTransaction, operator_transaction
from cloudconsole.store import counters
from cloudconsole.store.tables import sessions


def recount(engine: Engine, *, actor: str, now: int, zone: tzinfo) -> int:
    """Recompute all counters if any is wrong; return the number of wrong ones."""
    with operator_transaction(engine, actor=actor, now=now, zone=zone) as tx:
        wrong = counters.incorrect_counters(tx.connection)
        if wrong:
            counters.recount_all(tx.connection)
            record_change(tx, "recount", "totals", None, {"wrong": len(wrong)})
    return len(wrong)


def end_all_sessions(tx: OperatorTransaction, activity: Connection) -> int:
    """End every session, those of the admin UI included; return their number.

    Commit `activity` after `tx`: a crash between the two leaves an extra audit entry, never a missing one.
    """
    ended = activity.execute(delete(sessions)).rowcount
    record_change(tx, "end-sessions", None, None, {"sessions": ended})
    return ended
