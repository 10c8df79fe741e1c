"""Table of checks, and a runner that continues when one of them fails."""

import sqlite3
from typing import Final, NamedTuple

from sqlalchemy.exc import DBAPIError

from cloudconsole.server.doctor.accounts_and_login_throttle import (
    check_operators,
    check_sample_passwords,
    check_throttle,
)
from cloudconsole.server.doctor.clock import check_clock, check_rows_in_time, check_time_zones
from cloudconsole.server.doctor.config import (
    check_certificate,
    check_origin,
    check_settings,
    check_token_keys,
    check_undeclared_proxies,
)
from cloudconsole.server.doctor.console import check_console, check_metrics
from cloudconsole.server.doctor.context_and_findings import Check, DoctorContext, Finding, Level, warning
from cloudconsole.server.doctor.extensions import check_extensions
from cloudconsole.server.doctor.openstack import check_cloud, check_endpoints
from cloudconsole.server.doctor.sqlite import access_problem, check_folder
from cloudconsole.server.doctor.store import check_databases, check_prices, check_totals
from cloudconsole.store.base import StoreError

_STORE: Final = ("database", "database_password_file")
"""Settings that decide whether the data directory is the store."""
_REACH: Final = ("host", "hosts", "public_origin", "proxies")
"""Settings that decide who can reach the console."""

CHECKS: Final[dict[str, Check]] = {
    "settings": Check(check_settings),
    "extensions": Check(check_extensions, ("extensions",)),
    "data directory": Check(check_folder, ("data",)),
    "databases": Check(check_databases, ("data",)),
    "totals": Check(check_totals, ("data",)),
    "prices": Check(check_prices, ("data", "time_zone")),
    "clock": Check(check_clock),
    "times in the store": Check(check_rows_in_time, ("data",)),
    "time zones": Check(check_time_zones, ("time_zone",)),
    "operators": Check(check_operators, ("data",)),
    "sample passwords": Check(check_sample_passwords, ("data", *_REACH, "insecure_sample")),
    "login throttle": Check(check_throttle, ("data",)),
    "public origin": Check(check_origin, _REACH),
    "proxies": Check(check_undeclared_proxies, ("data", "proxies")),
    "certificate": Check(check_certificate, ("tls_certificate", "tls_key")),
    "metrics": Check(check_metrics, ("metrics",)),
    "running console": Check(
        check_console, ("host", "port", "tls_certificate", "tls_key", "public_origin", "identity")
    ),
    "token keys": Check(check_token_keys, ("data", "identity", "token_keys")),
    "identity endpoints": Check(check_endpoints, ("identity",)),
    "cloud": Check(check_cloud, ("identity", "data", "time_zone")),
}


class Result(NamedTuple):
    check: str
    level: Level
    text: str
    fix: str
    command: str


def run_checks(case: DoctorContext) -> list[Result]:
    return [Result(name, *finding) for name, check in CHECKS.items() for finding in _run(check, case)]


def _run(check: Check, case: DoctorContext) -> list[Finding]:
    needs = (*check.needs, *_STORE) if "data" in check.needs else check.needs
    unknown = [name for name in needs if name in case.unknown]
    if unknown:
        text = f"skipped: invalid value of {', '.join(unknown)}"
        return [warning(text, "correct the settings first, then run doctor again")]
    if _needs_data(check, case) and access_problem(case) is not None:
        return [warning("skipped: the data directory cannot be used", "fix that first, then run doctor again")]
    try:
        return list(check.run(case))
    except StoreError:
        # The databases check reports the reason.
        return [warning("skipped: the database cannot be used", "fix that first, then run doctor again")]
    except (DBAPIError, sqlite3.Error, OSError) as problem:
        # The cause is another check's finding.
        reason = problem.orig if isinstance(problem, DBAPIError) else problem
        return [warning(f"failed: {reason}", "fix the other problems first, then run doctor again")]


def _needs_data(check: Check, case: DoctorContext) -> bool:
    return "data" in check.needs and check.run is not check_folder and case.settings.database is None
