"""Readings of OpenStack projects as entries of the billing record.

An hour is known if the project was read in it. A resource counts in the hours in which readings saw it, and from its
creation on if that was after the previous reading; a server counts to its deletion, anything else to the last reading
that saw it. Nothing counts in hours without a reading: there, all resources end and begin again.
"""

from collections.abc import Iterator, Sequence
from datetime import tzinfo
from typing import Any, Final, NamedTuple

from msgspec import Struct
from sqlalchemy import Connection, Engine, delete, insert, select, update

from cloudconsole.core.billing import CostKey
from cloudconsole.core.billing_hours import Calendar
from cloudconsole.core.pricing import PriceBook
from cloudconsole.core.resources import BillableResource
from cloudconsole.spec.records import BillableType
from cloudconsole.store.billing.entries import EntryRow, add_entries, add_name, entry_row, open_record, write_entries
from cloudconsole.store.billing.prices import known_prices
from cloudconsole.store.billing.state import last_readings
from cloudconsole.store.sql import insert_rows
from cloudconsole.store.tables import BILLED_AMOUNTS, nodes, project_resources, reading_periods, record_names

PROJECT: Final = "project"
_REGION: Final = "region"
_RETENTION_SECONDS: Final = 35 * 86_400
"""How long a resource that has ended is remembered: Nova may report an end again, after a soft deletion."""

_UPSERT: Final = f"""
    ON CONFLICT (project_id, region, kind, resource_id) DO UPDATE SET
        {
    ", ".join(
        f"{name} = excluded.{name}" for name in ("node_id", "type", "name", "ended_at", "is_deleted", *BILLED_AMOUNTS)
    )
}
"""


class Reading(Struct, frozen=True):
    """All billable resources of a project, and servers that were deleted lately."""

    project: str
    """As `ID@ADDRESS`."""
    at: int
    """When it began."""
    since: int
    """Servers that were deleted from then on are included."""
    resources: Sequence[BillableResource]


class _Identity(NamedTuple):
    region: str
    kind: BillableType
    resource_id: str


class _Recorded(NamedTuple):
    """A resource as it is recorded."""

    key: CostKey
    amounts: tuple[int, ...]
    """In the order of `BILLED_AMOUNTS`."""
    name: str
    ended_at: int | None = None
    """The last moment that counts, or None if it runs."""
    is_deleted: bool = False
    """Whether the cloud has reported the end; otherwise it was no longer listed."""


def record_reading(engine: Engine, reading: Reading, zone: tzinfo) -> bool:
    """Record what has changed since the last reading, and return whether the hour is now known.

    A reading is ignored if it is older than the last, or does not go back to it where it could, or is of a month that
    another change has closed.
    """
    with engine.begin() as connection:
        project_id = _project_id(connection, reading.project)
        last = last_readings(connection, project_id).get(project_id)
        if last is not None and reading.at <= last:
            return False
        state, calendar = open_record(connection, reading.at, zone)
        recorder = _Recorder(connection, project_id, reading, last, calendar)
        is_partial = last is not None and recorder.follows_last and last < reading.since
        if is_partial or recorder.hour_end < state.open_from:
            return False
        # They change no hour that has counted, also not in closed months.
        add_entries(connection, list(recorder.gap()), calendar)
        rows = list(recorder.rows())
        is_late = any(row["at"] < state.closed_until for row in rows)
        write_entries(connection, rows, state, calendar, PriceBook(known_prices(connection) if is_late else ()))
        recorder.store_resources()
        if recorder.follows_last:
            is_last = (reading_periods.c.project_id == project_id) & (reading_periods.c.last_reading == last)
            connection.execute(update(reading_periods).where(is_last).values(last_reading=reading.at))
        else:
            values = {"project_id": project_id, "start": recorder.hour_start, "last_reading": reading.at}
            connection.execute(insert(reading_periods).values(values))
        return True


def _project_id(connection: Connection, project: str) -> int:
    is_project = (record_names.c.thing == PROJECT) & (record_names.c.name == project)
    return connection.scalar(select(record_names.c.id).where(is_project)) or add_name(connection, PROJECT, project)


class _Recorder:
    """Builds the entries for one reading."""

    def __init__(
        self, connection: Connection, project_id: int, reading: Reading, last: int | None, calendar: Calendar
    ) -> None:
        self._connection = connection
        self._project_id = project_id
        self._reading = reading
        self._last = last
        self._calendar = calendar
        self._regions = _Regions(connection)
        self.hour_start = calendar.span_at(reading.at).hour_start(reading.at)
        self.hour_end = self._hour_end(reading.at)
        self.follows_last = last is not None and self._hour_end(last) >= self.hour_start
        self._recorded = self._read_recorded()
        self._changed: set[_Identity] = set()

    def gap(self) -> Iterator[EntryRow]:
        """Yield ends at the last reading, if there was none in the hour before this one."""
        if self._last is not None and not self.follows_last:
            for identity in self._running():
                yield from self._end(identity, "gap", self._last)

    def rows(self) -> Iterator[EntryRow]:
        seen = {_Identity(each.region, each.kind, each.id): each for each in self._reading.resources}
        for identity, resource in seen.items():
            if resource.ended_at is None:
                yield from self._present(identity, resource)
            else:
                yield from self._deleted(identity, resource, int(resource.ended_at))
        for identity in self._running():
            if identity not in seen:
                yield from self._end(identity, "end", self._last or self._reading.at)

    def store_resources(self) -> None:
        """Store the resources that have changed, and forget those that ended long ago."""
        rows = [
            {"project_id": self._project_id, **identity._asdict(), **self._values(identity)}
            for identity in self._changed
        ]
        insert_rows(self._connection, project_resources, rows, _UPSERT)
        columns = project_resources.c
        is_old = columns.ended_at < self._reading.at - _RETENTION_SECONDS
        self._connection.execute(delete(project_resources).where(columns.project_id == self._project_id, is_old))

    def _present(self, identity: _Identity, resource: BillableResource) -> Iterator[EntryRow]:
        known, new = self._recorded.get(identity), self._new(resource)
        if known is not None and known.ended_at is not None and self._hour_end(known.ended_at) > self.hour_start:
            # It counts in this hour already: it was listed, then was not, and is again.
            yield self._row("change", identity, known, 1, known.ended_at, is_end=True)
            known = known._replace(ended_at=None)
        if known is None or known.ended_at is not None:
            yield self._row("start", identity, new, 1, self._start(resource))
        elif new.key != known.key:
            yield self._row("change", identity, known, -1, self._reading.at)
            yield self._row("change", identity, new, 1, self._reading.at)
        elif new.amounts != known.amounts:
            difference = tuple(map(int.__sub__, new.amounts, known.amounts))
            yield self._row("change", identity, new._replace(amounts=difference), 1, self._reading.at)
        elif new.name != known.name and (self._last or 0) < self.hour_start:
            # At most one per hour: the record must not grow with them.
            yield self._row("rename", identity, new, 0, self._reading.at)
        else:
            new = new._replace(name=known.name)
        self._set(identity, new)

    def _deleted(self, identity: _Identity, resource: BillableResource, deleted_at: int) -> Iterator[EntryRow]:
        known, new = self._recorded.get(identity), self._new(resource)
        end = min(deleted_at, self._reading.at)
        if known is not None and known.ended_at is None:
            # The clock of the cloud may differ: the server was there at the last reading.
            yield from self._end(identity, "end", max(end, self._last or 0), is_deleted=True)
        elif known is None or not known.is_deleted:
            counted_until = 0 if known is None or known.ended_at is None else self._hour_end(known.ended_at)
            start = max(int(resource.created_at or 0), self._known_from, counted_until)
            if start <= end:
                yield self._row("start", identity, new, 1, start)
                yield self._row("end", identity, new, -1, end, is_end=True)
            self._set(identity, new._replace(ended_at=end, is_deleted=True))

    def _end(self, identity: _Identity, event: str, at: int, *, is_deleted: bool = False) -> Iterator[EntryRow]:
        known = self._recorded[identity]
        yield self._row(event, identity, known, -1, at, is_end=True)
        self._set(identity, known._replace(ended_at=at, is_deleted=is_deleted))

    def _running(self) -> list[_Identity]:
        return [identity for identity, known in self._recorded.items() if known.ended_at is None]

    def _set(self, identity: _Identity, recorded: _Recorded) -> None:
        if self._recorded.get(identity) != recorded:
            self._recorded[identity] = recorded
            self._changed.add(identity)

    @property
    def _known_from(self) -> int:
        """From when on the time before this reading is known."""
        return self._last if self.follows_last and self._last is not None else self.hour_start

    def _start(self, resource: BillableResource) -> int:
        created_at = int(resource.created_at or 0)
        return created_at if self._known_from < created_at <= self._reading.at else self._reading.at

    def _new(self, resource: BillableResource) -> _Recorded:
        key = CostKey(resource.kind, self._regions.node_id(resource.region), _storable(resource.type))
        items, vcpus, _, ram_gb, size_gb = resource.amounts
        return _Recorded(key, (items, vcpus, ram_gb, size_gb), _storable(resource.name) or "")

    def _row(
        self, event: str, identity: _Identity, recorded: _Recorded, factor: int, at: int, *, is_end: bool = False
    ) -> EntryRow:
        amounts = [factor * amount for amount in recorded.amounts]
        resource = identity.resource_id, recorded.name
        return entry_row(
            self._project_id, event, recorded.key, amounts, at, self._reading.at, resource=resource, is_end=is_end
        )

    def _read_recorded(self) -> dict[_Identity, _Recorded]:
        query = select(project_resources).where(project_resources.c.project_id == self._project_id)
        return {
            _Identity(row["region"], row["kind"], row["resource_id"]): _Recorded(
                CostKey(row["kind"], row["node_id"], row["type"]),
                tuple(row[name] for name in BILLED_AMOUNTS),
                row["name"],
                row["ended_at"],
                bool(row["is_deleted"]),
            )
            for row in self._connection.execute(query).mappings()
        }

    def _values(self, identity: _Identity) -> dict[str, Any]:
        key, amounts, name, ended_at, is_deleted = self._recorded[identity]
        return {
            "project_id": self._project_id,
            "node_id": key.node_id,
            "type": key.type,
            "name": name,
            "ended_at": ended_at,
            "is_deleted": int(is_deleted),
            **dict(zip(BILLED_AMOUNTS, amounts, strict=True)),
        }

    def _hour_end(self, second: int) -> int:
        return self._calendar.span_at(second).hour_end(second)


def _storable(text: str | None) -> str | None:
    """Replace what PostgreSQL cannot store."""
    return text and text.replace("\0", "\N{REPLACEMENT CHARACTER}")


class _Regions:
    """The node of each region: the one with its name, which prices may refer to, or else a name of the record."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        regions = select(record_names.c.name, record_names.c.id).where(record_names.c.thing == _REGION)
        self._ids: dict[str, int] = {row.name: row.id for row in connection.execute(regions)}
        self._ids |= {row.name: row.id for row in connection.execute(select(nodes.c.name, nodes.c.id))}

    def node_id(self, region: str) -> int:
        if region not in self._ids:
            self._ids[region] = add_name(self._connection, _REGION, region)
        return self._ids[region]
