"""Which months of the record are closed, and in which time zone; until when the record of a project is known.

The first change after a month closes it, and all before. A store in its first month has not closed any, so that a first
load with earlier start times has its history.
"""

from collections.abc import Iterable, Sequence
from datetime import tzinfo
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, func, insert, select, update

from cloudconsole.core.billing_hours import Calendar
from cloudconsole.store.tables import billing_closings, billing_state, reading_periods


class Closing(NamedTuple):
    until: int
    time_zone: str


class BillingState(NamedTuple):
    complete_since: int
    """Hours before are unknown."""
    recording_since: int
    time_zone: str
    """The zone of the open months and their sums; empty if there are no sums yet."""
    closings: tuple[Closing, ...] = ()
    """In the order of time."""

    @property
    def closed_until(self) -> int:
        return self.closings[-1].until if self.closings else 0

    @property
    def open_from(self) -> int:
        """From when on changes count in their own hours."""
        return max(self.closed_until, self.complete_since)

    def at(self, now: float) -> "BillingState":
        """Return the state with past months closed, in the zone in which they were open."""
        if not self.time_zone:
            return self
        current = self.calendar(ZoneInfo(self.time_zone)).month_at(int(now)).start
        if max(self.closed_until, self.recording_since) >= current:
            return self
        return self._replace(closings=(*self.closings, Closing(current, self.time_zone)))

    def calendar(self, zone: tzinfo) -> Calendar:
        return Calendar(zone, [(until, ZoneInfo(name)) for until, name in self.closings])


def update_state(connection: Connection, now: int, zone: tzinfo) -> BillingState:
    """Close past months and return the state.

    The time zone of the result may differ from the present one: the sums of open months are then outdated.
    """
    state = _read(connection)
    if state is None:
        state = BillingState(complete_since=0, recording_since=now, time_zone=str(zone))
        values = {name: value for name, value in state._asdict().items() if name != "closings"}
        connection.execute(insert(billing_state).values(id=1, **values))
    closed = state.at(now)
    if closed != state:
        connection.execute(insert(billing_closings).values(closed.closings[-1]._asdict()))
    return closed


def store_time_zone(connection: Connection, zone: tzinfo) -> None:
    connection.execute(update(billing_state).values(time_zone=str(zone)))


def _read(connection: Connection) -> BillingState | None:
    columns = billing_state.c
    row = connection.execute(select(columns.complete_since, columns.recording_since, columns.time_zone)).one_or_none()
    closings = connection.execute(select(billing_closings).order_by(billing_closings.c.until))
    return None if row is None else state_of(row, closings)


def state_of(row: Sequence[Any], closings: Iterable[Sequence[Any]]) -> BillingState:
    """Return the state of rows of `billing_state` and `billing_closings`."""
    complete_since, recording_since, time_zone = row
    found = tuple(Closing(*closing) for closing in closings)
    return BillingState(complete_since, recording_since, time_zone, found)


def last_readings(connection: Connection, project_id: int | None = None) -> dict[int, int]:
    """Return when each OpenStack project, or one of them, was last read."""
    columns = reading_periods.c
    query = select(columns.project_id, func.max(columns.last_reading)).group_by(columns.project_id)
    if project_id is not None:
        query = query.where(columns.project_id == project_id)
    return {row[0]: row[1] for row in connection.execute(query)}
