"""The metrics by name: what each one is called, of which type it is, and what it tells."""

from typing import Final, Literal, NamedTuple

PREFIX: Final = "cloudconsole_"


class Family(NamedTuple):
    name: str
    type: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()


REQUESTS: Final = Family(
    "calls_total", "counter", "Calls answered, by call and outcome: ok, or why not.", ("call", "outcome")
)
REQUEST_SECONDS: Final = Family(
    "call_duration_seconds", "histogram", "Time from a request's head to its answer, by call.", ("call",)
)
IN_FLIGHT: Final = Family("calls_in_flight", "gauge", "Calls being answered.")
LOGINS: Final = Family("logins_total", "counter", "Login calls, by outcome.", ("outcome",))
REJECTIONS: Final = Family("refusals_total", "counter", "Refused calls, health checks aside, by reason.", ("reason",))
CONNECTION_REJECTIONS: Final = Family(
    "connection_refusals_total",
    "counter",
    "Requests that the connection itself refused before they were whole, and connections too many, by status.",
    ("status",),
)
SHED_REQUESTS: Final = Family(
    "turned_away_total", "counter", "Calls that were refused because more came than could be answered."
)
SUPPRESSED_RECORDS: Final = Family(
    "audit_lines_left_out_total", "counter", "Audit lines of refusals that were left out because there were too many."
)
SESSIONS: Final = Family("sessions", "gauge", "Live sessions.")
ACCOUNTS: Final = Family("accounts", "gauge", "Accounts, enabled and disabled.", ("state",))
PASSWORDS_WAITING: Final = Family(
    "password_checks_waiting", "gauge", "Logins whose password is being checked or waits for it."
)
STORE_READABLE: Final = Family("store_readable", "gauge", "1 if the store could be read for this page, else 0.")
STORE_BYTES: Final = Family("store_size_bytes", "gauge", "Size of the store's files.", ("file",))
STORE_FREE: Final = Family("store_free_bytes", "gauge", "Free space on the disk of the data folder.")
STORE_ERRORS: Final = Family("store_errors_total", "counter", "Calls rejected because of the store.")
STORE_WRITES: Final = Family(
    "store_write_duration_seconds", "histogram", "Time that a write took, waiting for its turn included."
)
WRITES_WAITING: Final = Family(
    "store_writes_waiting",
    "gauge",
    "Writes, and looks before a login, under way or waiting for their turn.",
)
LEASE_LOST: Final = Family(
    "store_watch_lost_workers",
    "gauge",
    "Workers that cannot learn what changes in the database, and so refuse calls; none with the embedded store.",
)
CACHE_LOOKUPS: Final = Family(
    "payloads_total", "counter", "Payloads handed out, prepared for the call or kept from an earlier one.", ("source",)
)
CACHE_BYTES: Final = Family("payload_cache_bytes", "gauge", "Memory that kept payloads take, of all workers.")
UPSTREAM_SECONDS: Final = Family(
    "upstream_call_duration_seconds",
    "histogram",
    "Time that a call to a cloud behind the console took, waiting for its turn included, by service.",
    ("service",),
)
UPSTREAM_FAILURES: Final = Family(
    "upstream_failures_total",
    "counter",
    "Calls to a cloud behind the console that failed, by service and reason.",
    ("service", "reason"),
)
UPSTREAM_IN_FLIGHT: Final = Family(
    "upstream_calls_in_flight",
    "gauge",
    "Calls to a cloud behind the console that are under way or wait for their turn, by service.",
    ("service",),
)
LOOP_LAG: Final = Family(
    "event_loop_lag_seconds", "histogram", "How late a worker's event loop was, looked at four times a second."
)
LONGEST_LAG: Final = Family(
    "event_loop_lag_max_seconds", "gauge", "The longest lag of any worker in the last one to two minutes."
)
WORKERS: Final = Family("workers", "gauge", "Worker processes that are running.")
RESTARTS: Final = Family(
    "worker_restarts_total", "counter", "Workers that were replaced, by reason: died, frozen.", ("reason",)
)
WORKER_MEMORY: Final = Family("worker_resident_memory_bytes", "gauge", "Resident memory of each worker.", ("worker",))
CERTIFICATE_EXPIRY: Final = Family(
    "certificate_expiry_seconds",
    "gauge",
    "When the certificate that the console serves expires, in seconds since the epoch; none without a certificate.",
)
START_TIME: Final = Family("start_time_seconds", "gauge", "When the console was started, in seconds since the epoch.")
BUILD: Final = Family("build_info", "gauge", "Always 1; the version is a label.", ("version", "python"))

FAMILIES: Final = tuple(value for value in list(vars().values()) if isinstance(value, Family))
