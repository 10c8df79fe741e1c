"""All checks, in the order in which they run."""

from typing import Final

from cloudconsole.conformance.checks import Check
from cloudconsole.conformance.console import bodies, cookies, domains, envelope, http, values, welcome
from cloudconsole.conformance.console import calls as console_calls
from cloudconsole.conformance.console import login as console_login
from cloudconsole.conformance.interface import calls, errors, lists, records, session

INTERFACE: Final[tuple[Check, ...]] = (
    *session.checks,
    *calls.checks,
    *records.checks,
    *lists.checks,
    *errors.checks,
)
CONSOLE: Final[tuple[Check, ...]] = (
    *welcome.checks,
    *cookies.checks,
    *console_login.checks,
    *console_calls.checks,
    *bodies.checks,
    *domains.checks,
    *values.checks,
    *http.checks,
    *envelope.checks,
)

PROFILES: Final = {"interface": INTERFACE, "all": INTERFACE + CONSOLE}
"""What can be asked for: the interface alone, or with it what this project's own console does beyond it."""
