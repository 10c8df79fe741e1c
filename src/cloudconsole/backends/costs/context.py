"""The calendar and the prices by which a billing record is valued, as of a moment."""

from bisect import bisect_right
from collections.abc import Iterable
from datetime import tzinfo
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from cloudconsole.core.billing import CostKey
from cloudconsole.core.billing_hours import Calendar
from cloudconsole.core.pricing import PriceBook
from cloudconsole.core.resources import Amounts
from cloudconsole.store.base import RowTuple, Snapshot
from cloudconsole.store.billing.prices import prices_of
from cloudconsole.store.billing.state import BillingState, Closing, state_of

_STATE: Final = "SELECT complete_since, recording_since, time_zone FROM billing_state"
_CLOSINGS: Final = "SELECT until, time_zone FROM billing_closings ORDER BY until"
_PRICES: Final = """
    SELECT kind, unit, node_id, start, billionths, type, until, known_from FROM price_entries ORDER BY id
"""
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
        self._timeline = [row for row in timeline if (row[0], row[2]) in price_keys]
        self._closings = closings
        self._closed: dict[int, PriceBook] = {}
        self.present = PriceBook(price for price in prices_of(self._timeline) if price.start <= second)
        moments = {moment for row in self._timeline for moment in (row[3], row[6]) if moment is not None}
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
    state: BillingState
    calendar: Calendar
    zone: tzinfo
    """The zone of the open months: a new setting applies from the next change on."""
    keys: set[CostKey]
    books: Books
    hour_end: int
    """The end of the current hour."""
    expires_at: int
    """When costs may change without a change of the record."""


async def read_context(snapshot: Snapshot, tenant_id: int, second: int, zone: tzinfo) -> BillingContext:
    row = await snapshot.one(_STATE)
    state = state_of(row or (0, 0, ""), await snapshot.all(_CLOSINGS)).at(second)
    zone = ZoneInfo(state.time_zone) if state.time_zone else zone
    calendar = state.calendar(zone)
    hour_end = calendar.span_at(second).hour_end(second)
    found = await snapshot.all(_SUMMED_KEYS, (tenant_id,)) or await snapshot.all(_RECORDED_KEYS, (tenant_id,))
    keys = {CostKey(kind, node_id or None, type_name or None) for kind, node_id, type_name in found}
    books = Books(await snapshot.all(_PRICES), state.closings, keys, second)
    upcoming = await snapshot.one(_NEXT, (tenant_id, second)) or (None,)
    expires_at = min(moment for moment in (hour_end, books.next_start, upcoming[0]) if moment is not None)
    return BillingContext(state, calendar, zone, keys, books, hour_end, expires_at)
