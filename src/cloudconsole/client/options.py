"""Options of calls: time limits, retries, request headers and hooks."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from inspect import iscoroutinefunction
from typing import Any, Final

from cloudconsole.client.events import RequestEvent, ResponseEvent

MAX_DEADLINE: Final = 86_400
REQUEST_ID_HEADER: Final = "X-Request-ID"

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"(?:[!-~](?:[ \t!-~]*[!-~])?)?")
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""Those that consoles of this package accept; they replace others."""

_PROTOCOL_HEADERS: Final = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "cookie",
        "expect",
        "host",
        "keep-alive",
        "origin",
        "referer",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "x-csrftoken",
    }
)
_OPTIONS_INSTEAD: Final = {"accept-language": "language", REQUEST_ID_HEADER.lower(): "request_id"}


@dataclass(frozen=True, kw_only=True)
class CallOptions:
    """Options of a call; those of a client are the defaults of its calls."""

    timeout: float = 10.0
    """Seconds for one request."""
    deadline: float = 30.0
    """Seconds for the call, including login and retries."""
    retries: int | None = None
    """Maximum number of repeated requests; None for as many as the deadline allows."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    request_id: str | None = None
    on_request: Callable[[RequestEvent], object] | None = None
    on_response: Callable[[ResponseEvent], object] | None = None

    def __post_init__(self) -> None:
        _check_seconds("timeout", self.timeout)
        _check_seconds("deadline", self.deadline)
        if self.retries is not None and (type(self.retries) is not int or self.retries < 0):
            raise ValueError("retries must be an integer of at least 0")
        _check_headers(self.headers)
        if self.request_id is not None and not _REQUEST_ID.fullmatch(self.request_id):
            raise ValueError("request_id must be 1 to 64 letters, digits or characters of ._-")
        _check_hook("on_request", self.on_request)
        _check_hook("on_response", self.on_response)

    def changed(self, *, headers: Mapping[str, str] | None, **options: Any) -> "CallOptions":
        """Return these options with those that are not None; headers are added."""
        given = {name: value for name, value in options.items() if value is not None}
        if headers is not None:
            _check_headers(headers)
            names = {name.lower() for name in headers}
            kept = {name: value for name, value in self.headers.items() if name.lower() not in names}
            given["headers"] = {**kept, **headers}
        return replace(self, **given)

    @property
    def sent_headers(self) -> dict[str, str]:
        """The headers that these options add to each request."""
        identified = {} if self.request_id is None else {REQUEST_ID_HEADER: self.request_id}
        return {**self.headers, **identified}


def _check_seconds(name: str, seconds: object) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(f"{name} must be a number of seconds")
    if not 0 < seconds <= MAX_DEADLINE:
        raise ValueError(f"{name} must be a number of seconds greater than 0 and at most {MAX_DEADLINE}")


def _check_hook(name: str, hook: object) -> None:
    if hook is not None and (not callable(hook) or iscoroutinefunction(hook)):
        raise TypeError(f"{name} must be a function that is not async")


def _check_headers(headers: object) -> None:
    if not isinstance(headers, Mapping):
        raise TypeError("headers must map names to values, both str")
    for name, value in headers.items():
        _check_header(name, value)


def _check_header(name: object, value: object) -> None:
    if not isinstance(name, str) or not isinstance(value, str):
        raise TypeError("headers must map names to values, both str")
    if not _HEADER_NAME.fullmatch(name):
        raise ValueError(f"headers: {name!r} is not a header name")
    if name.lower() in _OPTIONS_INSTEAD:
        raise ValueError(f"headers: {name} cannot be set; use the option {_OPTIONS_INSTEAD[name.lower()]}")
    if name.lower() in _PROTOCOL_HEADERS:
        raise ValueError(f"headers: {name} cannot be set; the client sets what the protocol needs")
    if not _HEADER_VALUE.fullmatch(value):
        # Without the value, which may be a secret.
        raise ValueError(f"headers: the value of {name} must be printable ASCII without spaces around it")
