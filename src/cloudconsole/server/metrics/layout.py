"""Where each figure of a worker stands in the memory that all processes share.

Every label's values are known here, so the layout is fixed: a figure is one whole number at a known place.
"""

from collections.abc import Iterator
from typing import Final

from cloudconsole.backends.openstack.config import SERVICES
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.errors import ApiError, UpstreamFailed, UpstreamTimeout

OK: Final = "ok"
GONE: Final = "client_gone"
"""The caller left before its request was complete."""

BEFORE_ACTION: Final = "api"
"""An action call that was refused before its action was known."""
OTHER: Final = "other"
LOGIN: Final = "login"
LOGOUT: Final = "logout"
OPERATOR_LOGIN: Final = "operator_login"
OPERATOR_LOGOUT: Final = "operator_logout"
ADMIN_UI: Final = "admin_ui"
"""Any other call of a page for operators."""
OPEN_SESSION: Final = "welcome"

OPERATIONS: Final = (
    *(action.name for action in ACTIONS),
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


def _tree(error: type[ApiError]) -> Iterator[type[ApiError]]:
    for kind in error.__subclasses__():
        yield kind
        yield from _tree(kind)


REJECTIONS: Final = tuple(kind.error for kind in _tree(ApiError))
OUTCOMES: Final = (OK, GONE, *REJECTIONS)

_MICROSECOND: Final = 1000
_MILLISECOND: Final = 1000 * _MICROSECOND
_SECOND: Final = 1000 * _MILLISECOND

SECONDS_BOUNDS: Final = (
    *(number * _MICROSECOND for number in (50, 100, 250, 500)),
    *(number * _MILLISECOND // 2 for number in (2, 5, 10, 20, 50, 100, 200, 500, 1000)),
    *(number * _SECOND // 2 for number in (2, 5, 10, 20)),
)
"""Upper bounds of every histogram's buckets in nanoseconds, from 50 µs to 10 s; one more bucket has the rest."""

HISTOGRAM_CELLS: Final = len(SECONDS_BOUNDS) + 2
"""The buckets, the one for the rest, and the sum in nanoseconds."""

CALL_CELLS: Final = len(OUTCOMES) + HISTOGRAM_CELLS
"""Of one call's name: how often with which outcome, and the histogram of its durations."""

OPERATION_OFFSETS: Final = {name: number * CALL_CELLS for number, name in enumerate(OPERATIONS)}
OUTCOME_OFFSETS: Final = {name: number for number, name in enumerate(OUTCOMES)}

STORE_WRITES: Final = len(OPERATIONS) * CALL_CELLS
LOOP_LAG: Final = STORE_WRITES + HISTOGRAM_CELLS

UPSTREAM_REASONS: Final = (UpstreamFailed.error, UpstreamTimeout.error)
_UPSTREAM: Final = LOOP_LAG + HISTOGRAM_CELLS
_UPSTREAM_CELLS: Final = HISTOGRAM_CELLS + len(UPSTREAM_REASONS)
UPSTREAM_OFFSETS: Final = {service: _UPSTREAM + number * _UPSTREAM_CELLS for number, service in enumerate(SERVICES)}
"""Of one service of a cloud behind us: the histogram of its calls' durations, then how many failed, by reason."""
UPSTREAM_FAILURES: Final = {
    (service, reason): place + HISTOGRAM_CELLS + number
    for service, place in UPSTREAM_OFFSETS.items()
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
"""By the status of the connection's own bare answer."""
SHED_REQUESTS: Final = _SINGLES + 9

_MOMENTARY: Final = _SINGLES + 11

# What has only a value of the moment: a new worker begins with none of its predecessor's.
IN_FLIGHT: Final = _MOMENTARY
CACHE_BYTES: Final = _MOMENTARY + 1
WRITES_WAITING: Final = _MOMENTARY + 2
PASSWORDS_WAITING: Final = _MOMENTARY + 3
LONGEST_LAG: Final = _MOMENTARY + 4
PROCESS: Final = _MOMENTARY + 5
LEASE_LOST: Final = _MOMENTARY + 6
ACCEPTING: Final = _MOMENTARY + 7
"""1 once a worker accepts connections."""
CERTIFICATE_EXPIRY: Final = _MOMENTARY + 8
"""When the certificate that a worker serves expires, in seconds since the epoch; 0 without one."""
UNDRAINED: Final = _MOMENTARY + 9
"""1 from a worker's start until it is told to stop and has no call under way."""
HEARTBEATS: Final = _MOMENTARY + 10
"""Counts up as long as the event loop of a worker advances."""
STOPPING: Final = _MOMENTARY + 11
"""1 once the supervisor stops all workers, and not this one alone."""
_OF_SERVICES: Final = _MOMENTARY + 12
UPSTREAM_IN_FLIGHT: Final = {service: _OF_SERVICES + number for number, service in enumerate(SERVICES)}
_END: Final = _OF_SERVICES + len(SERVICES)
GAUGES: Final = range(IN_FLIGHT, _END)

# Whole cache lines, so that no two workers write to the same one.
WORKER_CELLS: Final = -(-_END // 8) * 8
