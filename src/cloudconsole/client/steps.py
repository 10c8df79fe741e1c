"""I/O steps of a call, which `Console` performs and `AsyncConsole` awaits.

A generator yields the next step: send a request, pause, or renew the session. Results are sent back into the generator
and errors thrown into it.
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
    """Replace the session `seen` by running `ProtocolFlow.renew` under the login lock."""

    seen: int
    attempts: int
    retry: RetryPolicy


Steps = Generator[Send | Pause | Renew, Any, T]
"""Receives an `HttpResponse` for a `Send`, and None for the others."""
