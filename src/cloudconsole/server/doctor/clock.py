"""Checks of the clock, of times in the store and of time zones."""

import ctypes
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlalchemy import text

from cloudconsole.core.clock import format_utc, is_valid_timestamp
from cloudconsole.server.doctor.context_and_findings import DoctorContext, Finding, ok, problem, warning
from cloudconsole.server.doctor.fix_commands import pip_install
from cloudconsole.server.doctor.store import read_connection
from cloudconsole.store.base import DatabaseName

EARLIEST: Final = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
TOLERANCE_SECONDS: Final = 5

_OLDEST_AND_NEWEST: Final[tuple[tuple[DatabaseName, str, str], ...]] = (
    ("cloud", "change by an operator", "SELECT MIN(at), MAX(at) FROM operator_audit"),
    ("activity", "login or logout", "SELECT MIN(at), MAX(at) FROM access_audit"),
    ("activity", "request", "SELECT MIN(seen_at), MAX(seen_at) FROM sessions"),
)

_TIME_ERROR: Final = 5
_SIZE_OF_TIMEX: Final = 512
"""Larger than `struct timex` on any platform."""


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
                f"invalid time of a {what}: {wrong[0]} is not between the years 1970 and 9999",
                "find out what wrote it: Cloud Console does not, so other data may be wrong too",
            )
            return
        if newest is not None and newest > case.now + TOLERANCE_SECONDS:
            yield problem(
                f"the newest {what} is from {format_utc(newest)}, in the future: the clock was set back",
                "correct the clock; data written meanwhile keeps its wrong times",
            )
            return
    yield ok("no time in the store is in the future")


def check_time_zones(case: DoctorContext) -> Iterator[Finding]:
    try:
        ZoneInfo("Asia/Shanghai")
    except ZoneInfoNotFoundError:
        yield problem("no time zone database", "install tzdata", pip_install("tzdata"))
        return
    local = datetime.fromtimestamp(case.now, case.settings.zone)
    yield ok(f"in {case.settings.time_zone} it is {local:%Y-%m-%d %H:%M}")


def _plausible(case: DoctorContext) -> Iterator[Finding]:
    if case.now < EARLIEST:
        yield problem(f"the clock says {format_utc(case.now)}, before this version was released", "correct the clock")


def _unsynchronised() -> Iterator[Finding]:
    """Report an unsynchronised clock, if the kernel says so."""
    adjtimex = getattr(ctypes.CDLL(None), "adjtimex", None)
    if adjtimex is not None and adjtimex(ctypes.create_string_buffer(_SIZE_OF_TIMEX)) == _TIME_ERROR:
        yield warning("the kernel reports an unsynchronised clock", "run a time service, such as chrony or timesyncd")
