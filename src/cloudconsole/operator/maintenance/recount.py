"""Recomputation of the counters."""

from datetime import tzinfo

from sqlalchemy import Engine

from cloudconsole.operator.audit import record_change
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.store import counters


def recount(engine: Engine, *, actor: str, now: int, zone: tzinfo) -> int:
    """Recompute all counters if any is wrong; return the number of wrong ones."""
    with operator_transaction(engine, actor=actor, now=now, zone=zone) as tx:
        wrong = counters.incorrect_counters(tx.connection)
        if wrong:
            counters.recount_all(tx.connection)
            record_change(tx, "recount", "totals", None, {"wrong": len(wrong)})
    return len(wrong)
