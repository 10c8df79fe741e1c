"""Interpret responses: by the envelope's `code`, or by the HTTP status without an envelope."""

from codecs import BOM_UTF8
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, NamedTuple

import msgspec

from cloudconsole.client.exceptions import (
    ConsoleError,
    InvalidCredentials,
    LoginRequired,
    ProtocolError,
    error_class_for,
)

MAX_MESSAGE_LENGTH: Final = 1000

REDIRECTS: Final = (302, 303)
"""For a call, a redirect to a login page; for a login, success."""


class HttpResponse(NamedTuple):
    status: int
    headers: Mapping[str, str]
    """Case-insensitive."""
    body: bytes
    set_cookies: list[str]

    @property
    def request_id(self) -> str | None:
        return self.headers.get("x-request-id")


def decode_data(response: HttpResponse) -> Any:
    """Return the `data` of a success; raise otherwise."""
    content = _decode(response.body)
    if _is_envelope(content):
        if content["code"] != 200:
            raise _error(response, content)
        if "data" in content:
            return content["data"]
        raise _protocol_error(response, "the response field data is missing", content, "data")
    if not 200 <= response.status <= 299:
        raise _error(response, {})
    if isinstance(content, dict) and "code" in content:
        raise _protocol_error(response, "the response field code is not an integer", content, "code")
    raise _protocol_error(response, "the response is not an envelope of message, code and data", content, "code")


def check_login(response: HttpResponse) -> None:
    """Accept any 2xx or redirect; if a console sends it for wrong credentials too, the first action fails."""
    content = _decode(response.body)
    code = _code(response, content)
    if 200 <= code <= 299 or code in REDIRECTS:
        return
    problem = _error(response, content if _is_envelope(content) else {})
    if isinstance(problem, LoginRequired):
        # For a login, 401 means wrong credentials.
        raise InvalidCredentials(problem.message, code=code, error=problem.error, request_id=problem.request_id)
    raise problem


def check_logout(response: HttpResponse) -> None:
    """Accept also a session that has already ended, and a console without a logout path."""
    if _code(response, _decode(response.body)) not in (401, 404, 405):
        check_login(response)


def decode_welcome(response: HttpResponse) -> Any:
    """Return the `data` of `GET /api/`, if any: the interface does not specify it."""
    content = _decode(response.body)
    if not 200 <= _code(response, content) <= 299:
        raise _error(response, content if _is_envelope(content) else {})
    return content.get("data") if _is_envelope(content) else None


def _code(response: HttpResponse, content: Any) -> int:
    return content["code"] if _is_envelope(content) else response.status


def _decode(body: bytes) -> Any:
    """Decode JSON, or return the bytes unchanged."""
    try:
        return msgspec.json.decode(body.removeprefix(BOM_UTF8))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return body


def _is_envelope(content: Any) -> bool:
    return isinstance(content, dict) and type(content.get("code")) is int


def _error(response: HttpResponse, content: Mapping[str, Any]) -> ConsoleError:
    code = content.get("code", response.status)
    error, field, message = (_text(content.get(name)) for name in ("error", "field", "message"))
    if 300 <= code <= 399 and code not in REDIRECTS:
        location = response.headers.get("location", "another URL")
        return _protocol_error(response, f"the console redirects to {location}", dict(content), "code")
    kind = LoginRequired if code in REDIRECTS else error_class_for(error, code)
    return kind(
        message or f"the console responded with status {code}",
        code=code,
        error=error,
        field=field,
        request_id=response.request_id,
        retry_after=_retry_after(response.headers.get("retry-after")),
    )


def _text(value: object) -> str | None:
    """Return text as one printable line."""
    if not isinstance(value, str):
        return None
    line = "".join(character if character.isprintable() else " " for character in value[:MAX_MESSAGE_LENGTH])
    return " ".join(line.split()) or None


def _protocol_error(response: HttpResponse, message: str, content: Any, field: str) -> ProtocolError:
    return ProtocolError(message, payload=content, code=response.status, field=field, request_id=response.request_id)


def _retry_after(header: str | None) -> float | None:
    """Parse Retry-After: seconds or an HTTP date."""
    if header is None:
        return None
    if header.isascii() and header.isdigit():
        return float(header[:9])
    try:
        moment = parsedate_to_datetime(header)
        return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return None
