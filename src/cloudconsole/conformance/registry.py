"""All checks, in the order in which they run."""

from typing import Final

from cloudconsole.conformance.checks import Check
from cloudconsole.conformance.extended import calls as extended_calls
from cloudconsole.conformance.extended import http, values
from cloudconsole.conformance.extended import session as extended_session
from cloudconsole.conformance.interface import calls, errors, lists, records, session

INTERFACE: Final[tuple[Check, ...]] = (
    *session.checks,
    *calls.checks,
    *records.checks,
    *lists.checks,
    *errors.checks,
)
EXTENDED: Final[tuple[Check, ...]] = (
    *extended_session.checks,
    *extended_calls.checks,
    *values.checks,
    *http.checks,
)

PROFILES: Final = {"interface": INTERFACE, "all": INTERFACE + EXTENDED}
"""What can be asked for: the interface alone, or with it what this project's own console does beyond it."""
