"""Events for hooks: requests and responses of a client, without secrets."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from cloudconsole.client.exceptions import ConsoleError
from cloudconsole.spec.operations import FORM
from cloudconsole.spec.secret_values import Secrets, distinctive
from cloudconsole.spec.set_cookie import parse_set_cookie

REDACTED: Final = "[redacted]"

SECRET_NAME: Final = re.compile(
    r"pass(w|phrase|code|$)|pwd|secret|token|csrf|xsrf|cookie|session_?id|authorization|credential"
    r"|(api|access|private)[_-]?key",
    re.IGNORECASE,
)
"""Matches the names of headers and fields with secrets."""


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
    """Those that this package sets; the HTTP library adds `Host`, `User-Agent`, `Accept` and the like."""
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


def secrets_of(passwords: Iterable[str], headers: Mapping[str, str], set_cookies: Iterable[str] = ()) -> Secrets:
    """Return the secrets of a request with these headers and of the cookies that its response sets."""
    secrets = Secrets(distinctive(passwords), REDACTED)
    for name, value in headers.items():
        if name == "Cookie":
            for pair in value.split("; "):
                secrets.add_cookie(pair.partition("=")[2])
        elif SECRET_NAME.search(name):
            secrets.add_cookie(value)
            # The part after a scheme such as Bearer.
            secrets.add_cookie(value.partition(" ")[2])
    for line in set_cookies:
        secrets.add_cookie(parse_set_cookie(line).value.strip('"'))
    return secrets


def headers_without_secrets(headers: Mapping[str, str], secrets: Secrets) -> dict[str, str]:
    """Redact headers that have the name of a secret, and secrets in the others."""
    return {
        name: REDACTED if SECRET_NAME.search(name) else secrets.remove_from(value) for name, value in headers.items()
    }


def body_without_secrets(body: bytes, media_type: str | None, secrets: Secrets) -> bytes:
    """Redact the fields of a request that have the name of a secret, and secrets in the others."""
    return without_values(_without_named_fields(body, media_type), secrets)


def without_values(body: bytes, secrets: Secrets) -> bytes:
    return secrets.remove_from(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _without_named_fields(body: bytes, media_type: str | None) -> bytes:
    if media_type == FORM:
        pairs = parse_qsl(body.decode(), keep_blank_values=True)
        return urlencode([(name, REDACTED if SECRET_NAME.search(name) else value) for name, value in pairs]).encode()
    if SECRET_NAME.search(body.decode(errors="replace")) is None:
        return body
    return json.dumps(_redacted(json.loads(body)), ensure_ascii=False).encode()


def _redacted(value: Any) -> Any:
    if isinstance(value, list):
        return [_redacted(each) for each in value]
    if isinstance(value, dict):
        return {name: REDACTED if SECRET_NAME.search(name) else _redacted(each) for name, each in value.items()}
    return value
