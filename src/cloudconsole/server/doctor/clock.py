"""The clock and the time zones: sessions, prices and hours hang on them."""

import ctypes
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlalchemy import text

from cloudconsole.core.clock import format_utc, is_valid_timestamp
from cloudconsole.server.doctor.fix_commands import pip_install
from cloudconsole.server.doctor.results import DoctorContext, Finding, ok, problem, warning
from cloudconsole.server.doctor.store import read_connection
from cloudconsole.store.base import DatabaseName

EARLIEST: Final = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
TOLERANCE_SECONDS: Final = 5

_OLDEST_AND_NEWEST: Final[tuple[tuple[DatabaseName, str, str], ...]] = (
    ("cloud", "change by an operator", "SELECT MIN(at), MAX(at) FROM operator_audit"),
    ("activity", "login or logout", "SELECT MIN(at), MAX(at) FROM access_audit"),
    ("activity", "call", "SELECT MIN(seen_at), MAX(seen_at) FROM sessions"),
)

_TIME_ERROR: Final = 5
_SIZE_OF_TIMEX: Final = 512
"""More than any platform's `struct timex`."""


def check_clock(case: DoctorContext) -> Iterator[Finding]:
    findings = [*_plausible(case), *_unsynchronised()]
    yield from findings
    if not findings:
        yield ok(f"it is {format_utc(case.now)}")


def check_rows_in_time(case: DoctorContext) -> Iterator[Finding]:
    for part, what, query in _OLDEST_AND_NEWEST:
        with read_connection(case, part) as connection:
            oldest, newest = connection.execute(text(query)).one()
        wrong = [moment for moment in (oldest, newest) if moment is not None and not is_valid_timestamp(moment)]
        if wrong:
            yield problem(
                f"the time of a {what} is wrong: {wrong[0]} is no second of the years 1970 to 9999",
                "find out who wrote it: Cloud Console does not, and what else it says cannot be trusted either",
            )
            return
        if newest is not None and newest > case.now + TOLERANCE_SECONDS:
            yield problem(
                f"the newest {what} is of {format_utc(newest)}, which is still to come: the clock has been set back",
                "set the clock right; what was written meanwhile keeps its wrong times",
            )
            return
    yield ok("nothing in the store is of a time still to come")


def check_time_zones(case: DoctorContext) -> Iterator[Finding]:
    try:
        ZoneInfo("Asia/Shanghai")
    except ZoneInfoNotFoundError:
        yield problem("there is no time zone database", "install tzdata", pip_install("tzdata"))
        return
    local = datetime.fromtimestamp(case.now, case.settings.zone)
    yield ok(f"in {case.settings.time_zone} it is {local:%Y-%m-%d %H:%M}")


def _plausible(case: DoctorContext) -> Iterator[Finding]:
    if case.now < EARLIEST:
        yield problem(f"the clock says {format_utc(case.now)}, before this program was made", "set the clock right")


def _unsynchronised() -> Iterator[Finding]:
    """What the kernel knows, where it tells."""
    adjtimex = getattr(ctypes.CDLL(None), "adjtimex", None)
    if adjtimex is not None and adjtimex(ctypes.create_string_buffer(_SIZE_OF_TIMEX)) == _TIME_ERROR:
        yield warning(
            "the kernel says that nothing keeps the clock right", "run a time service, such as chrony or timesyncd"
        )
