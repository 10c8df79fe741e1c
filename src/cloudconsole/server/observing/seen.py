"""What of a call is counted, logged and audited; the request itself, whoever received it."""

from typing import Protocol


class SeenCall(Protocol):
    started: int
    """By the performance counter, in nanoseconds."""
    method: str
    path: str
    address: str
    user: str | None
    call: str
    outcome: str
