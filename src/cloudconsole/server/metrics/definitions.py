"""Metric families: name, type, help text and labels."""

from typing import Final, Literal, NamedTuple

PREFIX: Final = "cloudconsole_"


class Family(NamedTuple):
    name: str
    type: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()


REQUESTS: Final = Family(
    "requests_total", "counter", "Requests, by operation and outcome: ok or the error.", ("operation", "outcome")
)
REQUEST_SECONDS: Final = Family(
    "request_duration_seconds", "histogram", "Time from request headers to response, by operation.", ("operation",)
)
IN_FLIGHT: Final = Family("requests_in_flight", "gauge", "Requests in progress.")
LOGINS: Final = Family("logins_total", "counter", "Login requests, by outcome.", ("outcome",))
REJECTIONS: Final = Family(
    "rejections_total", "counter", "Rejected requests by reason, without health checks.", ("reason",)
)
CONNECTION_REJECTIONS: Final = Family(
    "connection_rejections_total",
    "counter",
    "Requests and connections rejected at protocol level, by status.",
    ("status",),
)
SHED_REQUESTS: Final = Family("requests_shed_total", "counter", "Requests rejected by load shedding.")
SUPPRESSED_RECORDS: Final = Family(
    "audit_records_suppressed_total", "counter", "Audit records of rejections suppressed by rate limiting."
)
SESSIONS: Final = Family("sessions", "gauge", "Live sessions.")
ACCOUNTS: Final = Family("accounts", "gauge", "Accounts, by state.", ("state",))
PASSWORDS_WAITING: Final = Family(
    "password_checks_waiting", "gauge", "Logins whose password is being verified or queued."
)
STORE_READABLE: Final = Family("store_readable", "gauge", "1 if the store could be read for this scrape, else 0.")
STORE_BYTES: Final = Family("store_size_bytes", "gauge", "Size of the store's files.", ("file",))
STORE_FREE: Final = Family("store_free_bytes", "gauge", "Free space on the disk of the data directory.")
STORE_ERRORS: Final = Family("store_errors_total", "counter", "Requests rejected because of the store.")
STORE_WRITES: Final = Family(
    "store_write_duration_seconds", "histogram", "Duration of writes, including time in the queue."
)
WRITES_WAITING: Final = Family("store_writes_waiting", "gauge", "Writes, and reads before a login, running or queued.")
LEASE_LOST: Final = Family(
    "store_lease_lost_workers",
    "gauge",
    "Workers without a change lease, which reject requests; always 0 on SQLite.",
)
CACHE_LOOKUPS: Final = Family(
    "response_cache_lookups_total", "counter", "Lookups in the response cache, by result: hit or miss.", ("result",)
)
CACHE_BYTES: Final = Family("response_cache_bytes", "gauge", "Memory of the response caches of all workers.")
UPSTREAM_SECONDS: Final = Family(
    "upstream_request_duration_seconds",
    "histogram",
    "Duration of requests to OpenStack, including time in the queue, by service.",
    ("service",),
)
UPSTREAM_FAILURES: Final = Family(
    "upstream_failures_total",
    "counter",
    "Failed requests to OpenStack, by service and reason.",
    ("service", "reason"),
)
UPSTREAM_IN_FLIGHT: Final = Family(
    "upstream_requests_in_flight",
    "gauge",
    "Requests to OpenStack running or queued, by service.",
    ("service",),
)
LOOP_LAG: Final = Family(
    "event_loop_lag_seconds", "histogram", "Event-loop lag of the workers, sampled four times a second."
)
MAX_LAG: Final = Family(
    "event_loop_lag_max_seconds", "gauge", "Maximum event-loop lag of any worker in the last one to two minutes."
)
WORKERS: Final = Family("workers", "gauge", "Running worker processes.")
RESTARTS: Final = Family(
    "worker_restarts_total", "counter", "Replaced workers, by reason: died or frozen.", ("reason",)
)
WORKER_MEMORY: Final = Family("worker_resident_memory_bytes", "gauge", "Resident memory of each worker.", ("worker",))
CERTIFICATE_EXPIRY: Final = Family(
    "certificate_expiry_seconds",
    "gauge",
    "Expiry of the server's own certificate, in seconds since the epoch; absent without one.",
)
START_TIME: Final = Family("start_time_seconds", "gauge", "Start time, in seconds since the epoch.")
BUILD: Final = Family("build_info", "gauge", "Always 1; the labels are the versions.", ("version", "python"))

FAMILIES: Final = tuple(value for value in list(vars().values()) if isinstance(value, Family))
