"""Responses as received: status, headers, Set-Cookie, body; and the envelope, read leniently."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from cloudconsole.conformance.assertions import CheckSkipped
from cloudconsole.conformance.field_types import is_integer
from cloudconsole.conformance.redaction import json_line
from cloudconsole.spec.set_cookie import SetCookie, parse_set_cookie

BUSY: Final = {429: "rate limited", 502: "unavailable", 503: "unavailable", 504: "unavailable"}
"""Statuses of requests that the server did not process."""


class NotJson(Exception):
    """The body is not JSON."""


@dataclass(frozen=True)
class RawResponse:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    is_login: bool = False
    """Whether it responds to a login. It is then never quoted: it may contain the password in any encoding."""

    def header(self, name: str) -> str | None:
        """Return the value of a header; repeated headers are joined."""
        values = [value for key, value in self.headers if key == name.lower()]
        return ", ".join(values) if values else None

    @cached_property
    def set_cookies(self) -> tuple[SetCookie, ...]:
        parsed = (parse_set_cookie(value) for name, value in self.headers if name == "set-cookie")
        return tuple(cookie._replace(value=cookie.value.strip('"')) for cookie in parsed)

    def cookie(self, name: str) -> SetCookie | None:
        """Return the last Set-Cookie of a name, which is the one that counts."""
        matching = [cookie for cookie in self.set_cookies if cookie.name == name]
        return matching[-1] if matching else None

    @property
    def content(self) -> Any:
        """The body as JSON."""
        try:
            return json.loads(self.body.decode("utf-8"), parse_constant=_reject_constant)
        except (ValueError, RecursionError) as problem:
            encoding = self.header("content-encoding")
            if encoding:
                raise NotJson(f"it has Content-Encoding {encoding}, which was not requested") from None
            raise NotJson(f"{problem}" if self.body else "there is no body") from None

    @property
    def retry_after(self) -> int | None:
        """The number of seconds in Retry-After, if valid."""
        text = self.header("retry-after") or ""
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not valid JSON")


class ServerBusy(CheckSkipped):
    """The server was too busy to process a request, so its response proves nothing."""


def lenient_envelope(response: RawResponse) -> dict[str, Any]:
    """Return the envelope, or an empty one if there is none."""
    try:
        content = response.content
    except NotJson:
        return {}
    return content if isinstance(content, dict) else {}


def is_success(response: RawResponse) -> bool:
    """Whether a response means success, even if its code is missing or mistyped, which other checks report."""
    content = lenient_envelope(response)
    if "code" in content:
        return str(content["code"]) in ("200", "200.0")
    return response.status == 200 and "data" in content


def is_success_unless_busy(response: RawResponse) -> bool:
    """Like `is_success`, but raise `ServerBusy` if the response proves nothing."""
    check_not_busy(response)
    return is_success(response)


def check_not_busy(response: RawResponse) -> None:
    """Raise `ServerBusy` if the server did not process the request."""
    for status in (response.status, lenient_code(response)):
        if is_integer(status) and status in BUSY:
            raise ServerBusy(f"{BUSY[status]}: {describe_response(response)}")


def lenient_code(response: RawResponse) -> Any:
    """Return the code in the envelope, else the HTTP status."""
    return lenient_envelope(response).get("code", response.status)


def describe_response(response: RawResponse) -> str:
    """Describe a response in a few words."""
    content = lenient_envelope(response)
    if response.is_login:
        code = content.get("code", 0)
        code_text = f", code {code}" if is_integer(code) and 100 <= code < 1000 else ""
        return f"HTTP {response.status}{code_text} with {len(response.body) or 'no'} bytes"
    if "code" in content:
        code, message = json_line(content["code"]), json_line(content.get("message"))
        return f"HTTP {response.status}, code {code}, message {message}"
    return f"HTTP {response.status} with {json_line(response.body) if response.body else 'no body'}"


def quoted(response: RawResponse, value: object) -> str:
    """Quote a value of a response, unless it is a login's."""
    return "another value (hidden: from a login response)" if response.is_login else json_line(value)
