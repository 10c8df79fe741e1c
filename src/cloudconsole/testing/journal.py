"""The requests that a test console has received, with filters and assertions."""

from collections.abc import Mapping
from datetime import datetime
from difflib import get_close_matches
from functools import cache
from typing import Any, Final

from msgspec import Struct

from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.extensions import EXTENSIONS
from cloudconsole.spec.installed_extensions import installed_extensions

OPERATIONS: Final = ("welcome", "login", "logout", "api", "other")


@cache
def known_calls() -> tuple[str, ...]:
    """Return all values of `call` but those of unknown actions."""
    built_in = (action.name for action in (*ACTIONS, *EXTENSIONS))
    return (*built_in, *(extension.name for extension in installed_extensions()), *OPERATIONS)


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
    """Fields of the body, JSON or form data, with secrets redacted; empty if it cannot be read."""
    body: str | None
    """None if it contains a secret, or cannot be read and may contain one."""
    user: str | None
    status: int | None
    """None if the connection was closed without a response, or the client stopped waiting."""
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
        """Return the requests that have all given values; of `fields` they may have more than those given.

        Raises ValueError for a call that the console does not know and did not receive: it is misspelled.
        """
        texts = {"call": call, "method": method, "path": path, "error": error, "user": user}
        for name, value in texts.items():
            if not isinstance(value, str | None):
                raise TypeError(f"{name} must be a str")
        if isinstance(status, bool) or not isinstance(status, int | None):
            raise TypeError("status must be an int")
        if not isinstance(fields, Mapping | None):
            raise TypeError("fields must be a mapping")
        self._check_call(call)
        wanted = {**texts, "status": status}
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
        if isinstance(times, bool) or not isinstance(times, int | None):
            raise TypeError("times must be an int")
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

    def _check_call(self, call: str | None) -> None:
        known = known_calls()
        if call is None or call in known or any(request.call == call for request in self):
            return
        near = get_close_matches(call, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
        raise ValueError(f"call: {call!r} is no action of the console, login, logout or welcome; {hint}")

    def _list(self) -> str:
        return ":" + "".join(f"\n  {request}" for request in self) if self else "; there were no requests"


def _describe(call: str | None, filters: Mapping[str, Any]) -> str:
    parts = [*([call] if call else []), *(f"{name}={value!r}" for name, value in filters.items())]
    return " ".join(parts) or "any request"
