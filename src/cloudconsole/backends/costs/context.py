"""The calendar and the prices by which a billing record is valued, as of a moment."""

import math
from bisect import bisect_right
from collections.abc import Iterable
from datetime import tzinfo
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from cloudconsole.core.billing import CostKey
from cloudconsole.core.billing_hours import Calendar, Month
from cloudconsole.core.identity_urls_and_projects import normalise_project
from cloudconsole.core.ports import Tenant
from cloudconsole.core.pricing import PriceBook
from cloudconsole.core.resources import Amounts
from cloudconsole.store.base import RowTuple, Snapshot
from cloudconsole.store.billing.prices import prices_of
from cloudconsole.store.billing.state import Closing, state_of

_STATE: Final = "SELECT complete_since, recording_since, time_zone FROM billing_state"
_CLOSINGS: Final = "SELECT until, time_zone FROM billing_closings ORDER BY until"
_PRICES: Final = """
    SELECT kind, unit, node_id, start, billionths, type, until, known_from FROM price_entries ORDER BY id
"""
_READING_PERIODS: Final = "SELECT start, last_reading FROM reading_periods WHERE project_id = ? ORDER BY start"
_PROJECT: Final = "SELECT id FROM record_names WHERE thing = 'project' AND name = ?"
_NEXT: Final = "SELECT MIN(counts_from) FROM billing_entries WHERE tenant_id = ? AND counts_from > ?"


_SUMMED_KEYS: Final = "SELECT DISTINCT kind, node_id, type FROM monthly_sums WHERE tenant_id = ?"
_RECORDED_KEYS: Final = "SELECT DISTINCT kind, node_id, type FROM billing_entries WHERE tenant_id = ?"


def billed_amounts(items: int, vcpus: int, ram_gb: int, size_gb: int) -> Amounts:
    """Return the amounts of a row of the record, in the order of its columns."""
    return Amounts(items, vcpus, 0, ram_gb, size_gb)


class Books:
    """The prices of some keys that are in force now, and those that were known when each month was closed."""

    def __init__(
        self, timeline: list[RowTuple], closings: tuple[Closing, ...], keys: Iterable[CostKey], second: int
    ) -> None:
        price_keys = {(key.kind, node_id) for key in keys for node_id in (key.node_id, None)}
        found = [row for row in timeline if (row[0], row[2]) in price_keys]
        # What begins or ends later does not concern the last hour, which may be that of a reading long ago.
        self._timeline = [
            row if row[6] is None or row[6] <= second else (*row[:6], None, *row[7:])
            for row in found
            if row[3] <= second
        ]
        self._closings = closings
        self._closed: dict[int, PriceBook] = {}
        self.present = PriceBook(prices_of(self._timeline))
        moments = {moment for row in found for moment in (row[3], row[6]) if moment is not None}
        self.starts = sorted(moment for moment in moments if moment <= second)
        """When prices began or ended; also those that were changed later, which closed months may have."""
        self.next_start = min((moment for moment in moments if moment > second), default=None)

    def at(self, second: int) -> PriceBook:
        index = bisect_right(self._closings, second, key=lambda closing: closing.until)
        if index == len(self._closings):
            return self.present
        until = self._closings[index].until
        if until not in self._closed:
            self._closed[until] = PriceBook(prices_of(row for row in self._timeline if row[7] < until))
        return self._closed[until]


class BillingContext(NamedTuple):
    now: int
    second: int
    """Costs are those up to the end of this hour: now, or the last reading of an OpenStack project."""
    calendar: Calendar
    zone: tzinfo
    """The zone of the open months: a new setting applies from the next change on."""
    keys: set[CostKey]
    books: Books
    known: list[tuple[int, float]]
    """Periods of which everything is recorded."""
    hour_end: int
    """The end of the hour of `second`."""
    is_current: bool
    """Whether what runs now is known, from this hour or the one before."""
    expires_at: int
    """When costs may change without a change of the record."""

    def is_known(self, month: Month) -> bool:
        """Return whether anything of a month is recorded."""
        return any(start < month.end and end > month.start for start, end in self.known)

    def is_complete(self, month: Month) -> bool:
        """Return whether all hours of a month up to now are recorded."""
        until = min(month.end, self.calendar.span_at(self.now).hour_end(self.now))
        return any(start <= month.start and end >= until for start, end in self.known)

    def gaps(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the hours of a period that are not recorded, after the first one that is."""
        ends = [int(known_end) for _, known_end in self.known if known_end != math.inf]
        starts = [known_start for known_start, _ in self.known[1:]]
        gaps = zip(ends, [*starts, end], strict=False)
        return [(max(first, start), min(last, end)) for first, last in gaps if max(first, start) < min(last, end)]


async def owner_id(snapshot: Snapshot, tenant: Tenant) -> int | None:
    """Return the id under which entries of a tenant are recorded; None for a project without readings."""
    if tenant.credentials is None:
        return tenant.id
    project = f"{tenant.credentials.project_id}@{tenant.credentials.endpoint}"
    row = await snapshot.one(_PROJECT, (normalise_project(project),))
    return None if row is None else int(row[0])


async def read_context(snapshot: Snapshot, owner: int, now: int, zone: tzinfo) -> BillingContext:
    row = await snapshot.one(_STATE)
    state = state_of(row or (0, 0, ""), await snapshot.all(_CLOSINGS)).at(now)
    zone = ZoneInfo(state.time_zone) if state.time_zone else zone
    calendar = state.calendar(zone)
    periods = await snapshot.all(_READING_PERIODS, (owner,)) if owner < 0 else []
    known: list[tuple[int, float]] = [(start, calendar.span_at(last).hour_end(last)) for start, last in periods] or [
        (state.complete_since, math.inf)
    ]
    second = min(now, periods[-1][1]) if periods else now
    hour_end = calendar.span_at(second).hour_end(second)
    found = await snapshot.all(_SUMMED_KEYS, (owner,)) or await snapshot.all(_RECORDED_KEYS, (owner,))
    keys = {CostKey(kind, node_id or None, type_name or None) for kind, node_id, type_name in found}
    books = Books(await snapshot.all(_PRICES), state.closings, keys, second)
    upcoming = await snapshot.one(_NEXT, (owner, second)) or (None,)
    expires_at = min(moment for moment in (hour_end, books.next_start, upcoming[0]) if moment is not None)
    is_current = hour_end >= calendar.span_at(now).hour_start(now)
    return BillingContext(now, second, calendar, zone, keys, books, known, hour_end, is_current, expires_at)
