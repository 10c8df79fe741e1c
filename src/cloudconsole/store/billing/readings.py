"""Readings of OpenStack projects as entries of the billing record.

An hour is known if the project was read in it. A resource counts in the hours in which readings saw it, and from its
creation on if that was after the previous reading; a server counts to its end, anything else to the last reading that
saw it. Nothing counts in hours without a reading: there, all resources end and begin again.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo
from typing import Any, NamedTuple

from msgspec import Struct
from sqlalchemy import Connection, Engine, func, insert, select, update

from cloudconsole.core.billing import CostKey
from cloudconsole.core.billing_hours import Calendar
from cloudconsole.core.pricing import PriceBook
from cloudconsole.core.resources import BillableResource
from cloudconsole.store.billing.entries import EntryRow, add_entries, add_name, entry_row, open_record, write_entries
from cloudconsole.store.billing.prices import known_prices
from cloudconsole.store.billing.state import last_readings
from cloudconsole.store.tables import BILLED_AMOUNTS, billing_entries, nodes, reading_periods, record_names

PROJECT = "project"
_REGION = "region"

_BilledAmounts = tuple[int, ...]
"""In the order of `BILLED_AMOUNTS`."""
_Identity = tuple[str, str, str]
"""Region, kind and id of a resource."""


class Reading(Struct, frozen=True):
    """All billable resources of a project, and servers that ended lately."""

    project: str
    """As `ID@ADDRESS`."""
    at: int
    """When it began."""
    since: int
    """Servers that ended from then on are included."""
    resources: Sequence[BillableResource]


class _Known(NamedTuple):
    """A resource as it is recorded."""

    key: CostKey
    amounts: _BilledAmounts
    name: str


def record_reading(engine: Engine, reading: Reading, zone: tzinfo) -> None:
    """Record what has changed since the last reading.

    A reading is ignored if it is older than the last, or does not go back to it where it could.
    """
    with engine.begin() as connection:
        project_id = _project_id(connection, reading.project)
        last = last_readings(connection, project_id).get(project_id)
        if last is not None and reading.at <= last:
            return
        state, calendar = open_record(connection, reading.at, zone)
        recorder = _Recorder(connection, project_id, reading, last, calendar)
        if last is not None and recorder.follows_last and last < reading.since:
            return
        add_entries(connection, list(recorder.gap()), calendar)
        rows = list(recorder.rows())
        is_late = any(row["at"] < state.closed_until for row in rows)
        write_entries(connection, rows, state, calendar, PriceBook(known_prices(connection) if is_late else ()))
        if recorder.follows_last:
            is_last = (reading_periods.c.project_id == project_id) & (reading_periods.c.last_reading == last)
            connection.execute(update(reading_periods).where(is_last).values(last_reading=reading.at))
        else:
            values = {"project_id": project_id, "start": recorder.hour_start, "last_reading": reading.at}
            connection.execute(insert(reading_periods).values(values))


def _project_id(connection: Connection, project: str) -> int:
    is_project = (record_names.c.thing == PROJECT) & (record_names.c.name == project)
    return connection.scalar(select(record_names.c.id).where(is_project)) or add_name(connection, PROJECT, project)


class _Recorder:
    """Builds the entries for one reading."""

    def __init__(
        self, connection: Connection, project_id: int, reading: Reading, last: int | None, calendar: Calendar
    ) -> None:
        self._project_id = project_id
        self._reading = reading
        self._last = last
        self._regions = _Regions(connection)
        self.hour_start = calendar.span_at(reading.at).hour_start(reading.at)
        self.follows_last = last is not None and calendar.span_at(last).hour_end(last) >= self.hour_start
        self._running = self._read_running(connection)
        # What ended in an hour that counts, for resources that are listed again.
        self._ended = self._read_ended(connection)

    def gap(self) -> Iterator[EntryRow]:
        """Yield ends at the last reading, if there was none in the hour before this one."""
        if self._last is not None and not self.follows_last:
            for (_, _, resource_id), known in self._running.items():
                yield self._row("gap", resource_id, known, -1, self._last, is_end=True)
            self._running.clear()

    def rows(self) -> Iterator[EntryRow]:
        seen = {(each.region, each.kind, each.id): each for each in self._reading.resources}
        for identity, resource in seen.items():
            known = self._running.pop(identity, None)
            if resource.ended_at is not None:
                yield from self._ended_server(identity, resource, int(resource.ended_at), known)
            elif known is not None or identity in self._ended:
                yield from self._changed(identity, resource, known)
            else:
                yield self._row("start", resource.id, self._known(resource), 1, self._start(resource))
        for (_, _, resource_id), known in self._running.items():
            yield self._row("end", resource_id, known, -1, self._last or self._reading.at, is_end=True)

    def _ended_server(
        self, identity: _Identity, resource: BillableResource, ended_at: int, known: _Known | None
    ) -> Iterator[EntryRow]:
        end = min(ended_at, self._reading.at)
        if known is not None:
            # The clock of the cloud may differ: the server was there at the last reading.
            yield self._row("end", resource.id, known, -1, max(end, self._last or 0), is_end=True)
        elif identity not in self._ended and end >= self._known_from:
            start = min(max(int(resource.created_at or 0), self._known_from), end)
            yield self._row("start", resource.id, self._known(resource), 1, start)
            yield self._row("end", resource.id, self._known(resource), -1, end, is_end=True)

    def _changed(self, identity: _Identity, resource: BillableResource, known: _Known | None) -> Iterator[EntryRow]:
        if known is None:
            # It counts in this hour already: it was listed, then was not, and is again.
            at, known = self._ended[identity]
            yield self._row("change", resource.id, known, 1, at, is_end=True)
        new = self._known(resource)
        if new.key != known.key:
            yield self._row("change", resource.id, known, -1, self._reading.at)
            yield self._row("change", resource.id, new, 1, self._reading.at)
        elif new.amounts != known.amounts:
            difference = tuple(map(int.__sub__, new.amounts, known.amounts))
            yield self._row("change", resource.id, new._replace(amounts=difference), 1, self._reading.at)
        elif new.name != known.name:
            yield self._row("rename", resource.id, new, 0, self._reading.at)

    @property
    def _known_from(self) -> int:
        """From when on the time before this reading is known."""
        return self._last if self.follows_last and self._last is not None else self.hour_start

    def _start(self, resource: BillableResource) -> int:
        created_at = int(resource.created_at or 0)
        return created_at if self._known_from < created_at <= self._reading.at else self._reading.at

    def _known(self, resource: BillableResource) -> _Known:
        key = CostKey(resource.kind, self._regions.node_id(resource.region), resource.type)
        items, vcpus, _, ram_gb, size_gb = resource.amounts
        return _Known(key, (items, vcpus, ram_gb, size_gb), resource.name)

    def _row(
        self, event: str, resource_id: str, known: _Known, factor: int, at: int, *, is_end: bool = False
    ) -> EntryRow:
        amounts = [factor * amount for amount in known.amounts]
        resource = resource_id, known.name
        return entry_row(
            self._project_id, event, known.key, amounts, at, self._reading.at, resource=resource, is_end=is_end
        )

    def _read_running(self, connection: Connection) -> dict[_Identity, _Known]:
        columns = billing_entries.c
        key = columns.resource_id, columns.kind, columns.node_id, columns.type
        sums = [func.sum(columns[name]).label(name) for name in BILLED_AMOUNTS]
        groups = (
            select(*key, *sums, func.max(columns.id).label("last_id"))
            .where(columns.tenant_id == self._project_id)
            .group_by(*key)
            .having(func.sum(columns["items"]) != 0)
            .subquery()
        )
        query = select(groups, columns.name).join_from(groups, billing_entries, groups.c.last_id == columns.id)
        return dict(self._identified(connection.execute(query).mappings()))

    def _read_ended(self, connection: Connection) -> dict[_Identity, tuple[int, _Known]]:
        columns = billing_entries.c
        is_end = (columns.is_end == 1) & (columns.event == "end") & (columns.at >= self.hour_start)
        query = select(billing_entries).where(columns.tenant_id == self._project_id, is_end).order_by(columns.id)
        rows = connection.execute(query).mappings().all()
        moments = [row["at"] for row in rows]
        found = zip(moments, self._identified(rows, -1), strict=True)
        return {identity: (at, known) for at, (identity, known) in found}

    def _identified(self, rows: Iterable[Any], factor: int = 1) -> Iterator[tuple[_Identity, _Known]]:
        for row in rows:
            key = CostKey(row["kind"], row["node_id"], row["type"])
            identity = self._regions.name(row["node_id"]), row["kind"], row["resource_id"]
            yield identity, _Known(key, tuple(factor * int(row[name]) for name in BILLED_AMOUNTS), row["name"])


class _Regions:
    """The node of each region: the one with its name, which prices may refer to, or else a name of the record."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._nodes = {row.name: row.id for row in connection.execute(select(nodes.c.name, nodes.c.id))}
        named = select(record_names.c.id, record_names.c.thing, record_names.c.name)
        rows = connection.execute(named.where(record_names.c.thing.in_(("node", _REGION)))).all()
        self._names: dict[int, str] = {node_id: name for name, node_id in self._nodes.items()} | {
            row.id: row.name for row in rows
        }
        self._regions = {row.name: row.id for row in rows if row.thing == _REGION}

    def node_id(self, region: str) -> int:
        found = self._nodes.get(region, self._regions.get(region))
        if found is None:
            found = self._regions[region] = add_name(self._connection, _REGION, region)
            self._names[found] = region
        return found

    def name(self, node_id: int) -> str:
        return self._names[node_id]
