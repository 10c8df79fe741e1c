"""The steps of a call, which `Console` performs and `AsyncConsole` awaits.

A generator yields what is to be done next: send a request, pause, or see that there is a session. What came of it is
sent back in, and what failed is thrown in. No step knows whether it is awaited.
"""

from collections.abc import Generator
from typing import Any, NamedTuple, TypeVar

from cloudconsole.client.retry import RetryPolicy
from cloudconsole.spec.operations import Operation

T = TypeVar("T")


class Send(NamedTuple):
    operation: Operation
    headers: dict[str, str]
    body: bytes
    retry: RetryPolicy

    def __repr__(self) -> str:
        return f"Send({self.operation.name!r}, ...)"


class Pause(NamedTuple):
    seconds: float


class Renew(NamedTuple):
    """See to it that there is another session than the one seen, by `Core.renew`; one caller at a time."""

    seen: int
    attempts: int
    retry: RetryPolicy


Steps = Generator[Send | Pause | Renew, Any, T]
"""Takes an `Answer` for a `Send`, and nothing for the others."""
