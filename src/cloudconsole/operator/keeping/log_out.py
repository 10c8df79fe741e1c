"""Logging everyone out, such as after an earlier state was put back, in which sessions that had ended live again."""

from sqlalchemy import Connection, delete

from cloudconsole.operator.audit import note
from cloudconsole.operator.desk import Desk
from cloudconsole.store.tables import sessions


def end_all_sessions(desk: Desk, activity: Connection) -> int:
    """End every session that there is, operators' on the pages too; gives how many there were.

    They are in the other database, which the caller commits once the desk is done: should the machine stop between
    the two, there is a line too many in the trail, and none is missing.
    """
    ended = activity.execute(delete(sessions)).rowcount
    note(desk, "end-sessions", None, None, {"sessions": ended})
    return ended
