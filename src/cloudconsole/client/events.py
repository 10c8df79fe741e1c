"""Events for hooks: requests and responses of a client, without secrets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlencode

from cloudconsole.client.exceptions import ConsoleError
from cloudconsole.spec.operations import FORM

REDACTED: Final = "[redacted]"

_SECRET_HEADERS: Final = frozenset({"authorization", "cookie", "proxy-authorization", "set-cookie", "x-csrftoken"})
_SECRET_FIELDS: Final = frozenset({"csrfmiddlewaretoken", "password"})


@dataclass(frozen=True, kw_only=True)
class RequestEvent:
    """A request that is about to be sent; secrets in headers and body are replaced by `[redacted]`."""

    call: str
    """The action, or `welcome` (`GET /api/`), `login` or `logout`."""
    attempt: int
    """1, or more if it is repeated."""
    method: str
    url: str
    headers: Mapping[str, str]
    """Those that this package sets; the HTTP library adds more."""
    body: bytes


@dataclass(frozen=True, kw_only=True)
class ResponseEvent:
    """A response, or the error instead of one."""

    request: RequestEvent
    status: int | None
    """The HTTP status; None without a response."""
    headers: Mapping[str, str]
    body: bytes
    seconds: float
    """The time since the request event, including the wait for a free connection."""
    error: ConsoleError | None
    """The reason why there is no response, such as a `ConnectionFailed`."""


def without_secrets(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: REDACTED if name.lower() in _SECRET_HEADERS else value for name, value in headers.items()}


def body_without_secrets(body: bytes, media_type: str | None) -> bytes:
    """Redact the password and token of a form; JSON bodies, which only actions have, contain none."""
    if media_type != FORM:
        return body
    pairs = parse_qsl(body.decode(), keep_blank_values=True)
    return urlencode([(name, REDACTED if name in _SECRET_FIELDS else value) for name, value in pairs]).encode()
