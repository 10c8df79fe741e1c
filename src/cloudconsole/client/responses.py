"""What an answer means: the envelope's `code` decides, and the HTTP status only where there is no envelope."""

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

LONGEST_MESSAGE: Final = 1000

REDIRECTS: Final = (302, 303)
"""To a call, this is the way to a login page; to a login, the way on from it."""


class HttpResponse(NamedTuple):
    status: int
    headers: Mapping[str, str]
    """Their names are found in whatever case."""
    body: bytes
    set_cookies: list[str]

    @property
    def request_id(self) -> str | None:
        return self.headers.get("x-request-id")


def decode_data(response: HttpResponse) -> Any:
    """The `data` of a success; anything else is raised."""
    content = _decoded(response.body)
    if _is_envelope(content):
        if content["code"] != 200:
            raise _refusal(response, content)
        if "data" in content:
            return content["data"]
        raise _unlike(response, "the answer's field data is missing", content, "data")
    if not 200 <= response.status <= 299:
        raise _refusal(response, {})
    if isinstance(content, dict) and "code" in content:
        raise _unlike(response, "the answer's field code is no integer", content, "code")
    raise _unlike(response, "the answer is no envelope of message, code and data", content, "code")


def check_login(response: HttpResponse) -> None:
    """Any 2xx is a success, and so is a 302; where even wrong credentials get that, the first action tells."""
    content = _decoded(response.body)
    code = _code(response, content)
    if 200 <= code <= 299 or code in REDIRECTS:
        return
    problem = _refusal(response, content if _is_envelope(content) else {})
    if isinstance(problem, LoginRequired):
        # To a login, a 401 is about the credentials.
        raise InvalidCredentials(problem.message, code=code, error=problem.error, request_id=problem.request_id)
    raise problem


def check_logout(response: HttpResponse) -> None:
    """A session that is over already is as good, and so is a console that has no such path."""
    if _code(response, _decoded(response.body)) not in (401, 404, 405):
        check_login(response)


def error_of(response: HttpResponse) -> Any:
    """The `data` of a welcome, if there is any: the interface leaves it open."""
    content = _decoded(response.body)
    if not 200 <= _code(response, content) <= 299:
        raise _refusal(response, content if _is_envelope(content) else {})
    return content.get("data") if _is_envelope(content) else None


def _code(response: HttpResponse, content: Any) -> int:
    return content["code"] if _is_envelope(content) else response.status


def _decoded(body: bytes) -> Any:
    """The JSON in it, else the bytes as they are."""
    try:
        return msgspec.json.decode(body.removeprefix(BOM_UTF8))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return body


def _is_envelope(content: Any) -> bool:
    return isinstance(content, dict) and type(content.get("code")) is int


def _refusal(response: HttpResponse, content: Mapping[str, Any]) -> ConsoleError:
    code = content.get("code", response.status)
    error, field, message = (_text(content.get(name)) for name in ("error", "field", "message"))
    if 300 <= code <= 399 and code not in REDIRECTS:
        place = response.headers.get("location", "elsewhere")
        return _unlike(response, f"the console has moved to {place}", dict(content), "code")
    kind = LoginRequired if code in REDIRECTS else error_class_for(error, code)
    return kind(
        message or f"the console answered with status {code}",
        code=code,
        error=error,
        field=field,
        request_id=response.request_id,
        retry_after=_retry_after(response.headers.get("retry-after")),
    )


def _text(value: object) -> str | None:
    """One line of it, fit to be shown."""
    if not isinstance(value, str):
        return None
    line = "".join(character if character.isprintable() else " " for character in value[:LONGEST_MESSAGE])
    return " ".join(line.split()) or None


def _unlike(response: HttpResponse, message: str, content: Any, field: str) -> ProtocolError:
    return ProtocolError(message, payload=content, code=response.status, field=field, request_id=response.request_id)


def _retry_after(header: str | None) -> float | None:
    """Seconds, or a date, as HTTP has it."""
    if header is None:
        return None
    if header.isascii() and header.isdigit():
        return float(header[:9])
    try:
        moment = parsedate_to_datetime(header)
        return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return None
