"""Setting the totals anew, where something other than this program has changed the resources."""

from datetime import tzinfo

from sqlalchemy import Engine

from cloudconsole.operator.audit import note
from cloudconsole.operator.desk import at_desk
from cloudconsole.store import counters


def recount(engine: Engine, *, actor: str, now: int, zone: tzinfo) -> int:
    """Count the resources anew; gives how many totals were wrong."""
    with at_desk(engine, actor=actor, now=now, zone=zone) as desk:
        wrong = counters.incorrect_counters(desk.connection)
        if wrong:
            counters.recount_all(desk.connection)
            note(desk, "recount", "totals", None, {"wrong": len(wrong)})
    return len(wrong)
