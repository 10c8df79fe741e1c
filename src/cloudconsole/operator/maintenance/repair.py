"""Recompute counters, revoke all sessions."""

from datetime import tzinfo

from sqlalchemy import Connection, Engine, delete

from cloudconsole.operator.audit import record_change
from cloudconsole.operator.transaction import OperatorTransaction, operator_transaction
from cloudconsole.store import counters
from cloudconsole.store.tables import sessions


def recount(engine: Engine, *, actor: str, now: int, zone: tzinfo) -> int:
    """Count the resources anew; gives how many totals were wrong."""
    with operator_transaction(engine, actor=actor, now=now, zone=zone) as tx:
        wrong = counters.incorrect_counters(tx.connection)
        if wrong:
            counters.recount_all(tx.connection)
            record_change(tx, "recount", "totals", None, {"wrong": len(wrong)})
    return len(wrong)


def end_all_sessions(tx: OperatorTransaction, activity: Connection) -> int:
    """End every session that there is, operators' on the pages too; gives how many there were.

    They are in the other database, which the caller commits once the desk is done: should the machine stop between
    the two, there is a line too many in the trail, and none is missing.
    """
    ended = activity.execute(delete(sessions)).rowcount
    record_change(tx, "end-sessions", None, None, {"sessions": ended})
    return ended
