"""The requests that a test console has received, with filters and assertions."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct


class ReceivedRequest(Struct, frozen=True, rename="camel", kw_only=True):
    """A request as the console received it, and what came of it."""

    time: datetime
    """By the console's clock."""
    method: str
    path: str
    query: str
    headers: dict[str, str]
    """By name in lowercase; values of a repeated header are joined."""
    call: str
    """The action, `login`, `logout` or `welcome` (`GET /api/`); `api` if the action cannot be read, else `other`."""
    fields: dict[str, Any]
    """Fields of the body, JSON or form data, with passwords redacted; empty if it cannot be read."""
    body: str | None
    """None if it contains a password, or may contain one."""
    user: str | None
    status: int | None
    """None if the connection was closed without a response."""
    error: str | None
    """The identifier of the error in the response."""
    request_id: str

    def __str__(self) -> str:
        fields = {name: value for name, value in self.fields.items() if name != "action"}
        outcome = "closed" if self.status is None else f"{self.status} {self.error or ''}".rstrip()
        shown = f" {fields}" if fields else ""
        return f"{self.call} ({self.method} {self.path}){shown} -> {outcome}"


class ReceivedRequests(tuple[ReceivedRequest, ...]):
    """Received requests, oldest first."""

    __slots__ = ()

    def filter(
        self,
        call: str | None = None,
        *,
        method: str | None = None,
        path: str | None = None,
        status: int | None = None,
        error: str | None = None,
        user: str | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> "ReceivedRequests":
        """Return the requests that have all given values; of `fields` they may have more than those given."""
        wanted = {"call": call, "method": method, "path": path, "status": status, "error": error, "user": user}
        given = {name: value for name, value in wanted.items() if value is not None}
        return ReceivedRequests(
            request
            for request in self
            if all(getattr(request, name) == value for name, value in given.items())
            and (fields or {}).items() <= request.fields.items()
        )

    def assert_received(self, call: str | None = None, *, times: int | None = None, **filters: Any) -> ReceivedRequest:
        """Return the last request with these values, as for `filter`.

        Raises an AssertionError if there is none, or not `times` of them.
        """
        __tracebackhide__ = True
        found = self.filter(call, **filters)
        if times is not None and times < 1:
            raise ValueError("times must be at least 1; see assert_not_received")
        if not found or times not in (None, len(found)):
            expected = "at least 1" if times is None else str(times)
            raise AssertionError(
                f"expected {expected} of {_describe(call, filters)}, received {len(found)}{self._list()}"
            )
        return found[-1]

    def assert_not_received(self, call: str | None = None, **filters: Any) -> None:
        """Raise an AssertionError if there is a request with these values, as for `filter`."""
        __tracebackhide__ = True
        found = self.filter(call, **filters)
        if found:
            raise AssertionError(f"expected none of {_describe(call, filters)}, received {len(found)}{self._list()}")

    def _list(self) -> str:
        return ":" + "".join(f"\n  {request}" for request in self) if self else "; there were no requests"


def _describe(call: str | None, filters: Mapping[str, Any]) -> str:
    parts = [*([call] if call else []), *(f"{name}={value!r}" for name, value in filters.items())]
    return " ".join(parts) or "any request"
