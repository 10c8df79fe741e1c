"""Layout of a worker's metrics in shared memory.

The values of every label are known in advance, so the layout is fixed: each value is an integer at a known offset.
Only extensions of packages depend on the settings; they follow the rest.
"""

from typing import Final

from cloudconsole.backends.openstack.config import SERVICES
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.errors import ERRORS, UpstreamFailed, UpstreamTimeout
from cloudconsole.spec.extensions import EXTENSIONS

OK: Final = "ok"
GONE: Final = "client_gone"
"""The client disconnected before its request was complete."""

BEFORE_ACTION: Final = "api"
"""Request that was rejected before its action was known."""
OTHER: Final = "other"
LOGIN: Final = "login"
LOGOUT: Final = "logout"
OPERATOR_LOGIN: Final = "operator_login"
OPERATOR_LOGOUT: Final = "operator_logout"
ADMIN_UI: Final = "admin_ui"
"""Any other request to the admin UI."""
OPEN_SESSION: Final = "welcome"

OPERATIONS: Final = (
    *(action.name for action in (*ACTIONS, *EXTENSIONS)),
    BEFORE_ACTION,
    OPEN_SESSION,
    LOGIN,
    LOGOUT,
    OPERATOR_LOGIN,
    OPERATOR_LOGOUT,
    ADMIN_UI,
    "healthz",
    "readyz",
    OTHER,
)


EXTENSION_ERROR: Final = "extension_error"
"""An error that the package of an extension declares."""
REJECTIONS: Final = (*(kind.error for kind in ERRORS), EXTENSION_ERROR)
OUTCOMES: Final = (OK, GONE, *REJECTIONS)

_MICROSECOND: Final = 1000
_MILLISECOND: Final = 1000 * _MICROSECOND
_SECOND: Final = 1000 * _MILLISECOND

SECONDS_BOUNDS: Final = (
    *(number * _MICROSECOND for number in (50, 100, 250, 500)),
    *(number * _MILLISECOND // 2 for number in (2, 5, 10, 20, 50, 100, 200, 500, 1000)),
    *(number * _SECOND // 2 for number in (2, 5, 10, 20)),
)
"""Upper bounds of every histogram's buckets in nanoseconds, from 50 µs to 10 s; one more bucket is unbounded."""

HISTOGRAM_CELLS: Final = len(SECONDS_BOUNDS) + 2
"""The buckets, the unbounded one, and the sum in nanoseconds."""

OPERATION_CELLS: Final = len(OUTCOMES) + HISTOGRAM_CELLS
"""Cells per operation: a counter for each outcome, and the histogram of durations."""

OPERATION_OFFSETS: Final = {name: number * OPERATION_CELLS for number, name in enumerate(OPERATIONS)}
OUTCOME_OFFSETS: Final = {name: number for number, name in enumerate(OUTCOMES)}

STORE_WRITES: Final = len(OPERATIONS) * OPERATION_CELLS
LOOP_LAG: Final = STORE_WRITES + HISTOGRAM_CELLS

UPSTREAM_REASONS: Final = (UpstreamFailed.error, UpstreamTimeout.error)
_UPSTREAM: Final = LOOP_LAG + HISTOGRAM_CELLS
_UPSTREAM_CELLS: Final = HISTOGRAM_CELLS + len(UPSTREAM_REASONS)
UPSTREAM_OFFSETS: Final = {service: _UPSTREAM + number * _UPSTREAM_CELLS for number, service in enumerate(SERVICES)}
"""Per OpenStack service: the histogram of request durations, then the failures by reason."""
UPSTREAM_FAILURES: Final = {
    (service, reason): offset + HISTOGRAM_CELLS + number
    for service, offset in UPSTREAM_OFFSETS.items()
    for number, reason in enumerate(UPSTREAM_REASONS)
}

_SINGLES: Final = _UPSTREAM + len(SERVICES) * _UPSTREAM_CELLS

CACHE_HITS: Final = _SINGLES
CACHE_MISSES: Final = _SINGLES + 1
STORE_ERRORS: Final = _SINGLES + 2
AUDIT_SUPPRESSED: Final = _SINGLES + 3
DIED: Final = "died"
FROZEN: Final = "frozen"
RESTARTS: Final = {DIED: _SINGLES + 4, FROZEN: _SINGLES + 10}
"""Replaced workers, by reason."""
CONNECTION_REJECTIONS: Final = {status: _SINGLES + 5 + number for number, status in enumerate((400, 408, 431, 503))}
"""Rejections at protocol level, by status."""
SHED_REQUESTS: Final = _SINGLES + 9

_GAUGES: Final = _SINGLES + 11

# Gauges: a new worker starts with zeros instead of its predecessor's values.
IN_FLIGHT: Final = _GAUGES
CACHE_BYTES: Final = _GAUGES + 1
WRITES_WAITING: Final = _GAUGES + 2
PASSWORDS_WAITING: Final = _GAUGES + 3
MAX_LAG: Final = _GAUGES + 4
PROCESS: Final = _GAUGES + 5
LEASE_LOST: Final = _GAUGES + 6
ACCEPTING: Final = _GAUGES + 7
"""1 once a worker accepts connections."""
CERTIFICATE_EXPIRY: Final = _GAUGES + 8
"""When the certificate that a worker serves expires, in seconds since the epoch; 0 without one."""
UNDRAINED: Final = _GAUGES + 9
"""1 from a worker's start until it is stopping and has no running request."""
HEARTBEATS: Final = _GAUGES + 10
"""Counts up as long as the event loop of a worker advances."""
STOPPING: Final = _GAUGES + 11
"""1 once the supervisor stops all workers, not only this one."""
_SERVICES: Final = _GAUGES + 12
UPSTREAM_IN_FLIGHT: Final = {service: _SERVICES + number for number, service in enumerate(SERVICES)}
_END: Final = _SERVICES + len(SERVICES)
GAUGES: Final = range(IN_FLIGHT, _END)


def operation_offsets(plugins: tuple[str, ...]) -> dict[str, int]:
    """Return the offsets of all operations, including extensions of packages."""
    return OPERATION_OFFSETS | {name: _END + number * OPERATION_CELLS for number, name in enumerate(plugins)}


def worker_cells(plugins: tuple[str, ...]) -> int:
    """Return the number of a worker's cells: whole cache lines, so that no two workers write to the same one."""
    return -(-(_END + len(plugins) * OPERATION_CELLS) // 8) * 8
