"""Every check, in one table, and running them all whatever each of them meets."""

import sqlite3
from typing import Final, NamedTuple

from sqlalchemy.exc import DBAPIError

from cloudconsole.server.doctor.account_checks import check_operators, check_sample_passwords, check_throttle
from cloudconsole.server.doctor.clock_checks import check_clock, check_rows_in_time, check_time_zones
from cloudconsole.server.doctor.console_checks import check_console
from cloudconsole.server.doctor.findings import Case, Check, Finding, Level, warning
from cloudconsole.server.doctor.folder_checks import check_folder
from cloudconsole.server.doctor.origin_checks import check_origin, check_undeclared_proxies
from cloudconsole.server.doctor.setting_checks import check_settings
from cloudconsole.server.doctor.store_checks import check_databases, check_totals

CHECKS: Final[dict[str, Check]] = {
    "settings": check_settings,
    "data folder": check_folder,
    "databases": check_databases,
    "totals": check_totals,
    "clock": check_clock,
    "times in the store": check_rows_in_time,
    "time zones": check_time_zones,
    "operators": check_operators,
    "sample passwords": check_sample_passwords,
    "login throttle": check_throttle,
    "public origin": check_origin,
    "proxies": check_undeclared_proxies,
    "running console": check_console,
}


class Result(NamedTuple):
    check: str
    level: Level
    text: str
    mend: str


def examine(case: Case) -> list[Result]:
    return [Result(name, *finding) for name, check in CHECKS.items() for finding in _run(check, case)]


def _run(check: Check, case: Case) -> list[Finding]:
    try:
        return list(check(case))
    except (DBAPIError, sqlite3.Error, OSError) as problem:
        # What stands in the way is another check's finding; the rest shall be told all the same.
        reason = problem.orig if isinstance(problem, DBAPIError) else problem
        return [warning(f"could not be looked at: {reason}", "mend the others first, then run doctor again")]
