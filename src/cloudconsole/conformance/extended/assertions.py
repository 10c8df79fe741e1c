"""Assertions of the extended profile. Other checks cover the complete format of all responses."""

from typing import Any

from cloudconsole.conformance.assertions import check
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.field_types import is_integer
from cloudconsole.conformance.responses import (
    BUSY,
    RawResponse,
    check_not_busy,
    describe_response,
    is_success_unless_busy,
    lenient_code,
    lenient_envelope,
    quoted,
)
from cloudconsole.spec.errors import ApiError


def check_rejected(response: RawResponse, error: type[ApiError], field: str | None = None, *, after: str = "") -> None:
    """Fail unless the response is this error; a missing `error` or `field` is reported by another check."""
    prefix = f"{after}: " if after else ""
    if error.code not in BUSY:
        check_not_busy(response)
    content = lenient_envelope(response)
    actual = (lenient_code(response), content.get("error", error.error), content.get("field", field))
    expected = (error.code, error.error, field)
    check(
        actual == expected,
        f"{prefix}{describe_response(response)}, error {quoted(response, content.get('error'))}; "
        f"expected {_format_error(expected)}",
        *_envelope_check(content),
    )


def check_success(response: RawResponse, *, after: str = "") -> Any:
    """Fail unless the response is a success; return its data."""
    prefix = f"{after}: " if after else ""
    check(is_success_unless_busy(response), f"{prefix}{describe_response(response)}; expected a success")
    return lenient_envelope(response).get("data")


def console_data(console: CheckContext) -> Any:
    """Return the data of `GET /api/`: regions, time zone, units and the like."""
    return check_success(console.opened, after="GET /api/")


def check_logged_in(response: RawResponse) -> None:
    """Fail unless the login succeeded."""
    check_not_busy(response)
    check(200 <= response.status < 300 or response.status == 302, describe_response(response), "login.status")


def check_empty(response: RawResponse, *, after: str) -> None:
    check_not_busy(response)
    check(response.status == 200, f"{after}: {describe_response(response)}")
    check(not response.body, f"{after}: it has a body")


def allowed_methods(response: RawResponse) -> set[str]:
    """Return the methods in the Allow header."""
    return {method.strip() for method in (response.header("allow") or "").split(",")} - {""}


def _envelope_check(content: dict[str, Any]) -> tuple[str, ...]:
    """Return the ID of the check that such an error fails whatever error it is."""
    if not content:
        return ("errors.json",)
    if not is_integer(content.get("code")) or not isinstance(content.get("message"), str):
        return ("errors.envelope",)
    return () if 100 <= content["code"] < 600 else ("errors.code",)


def _format_error(expected: tuple[int, str, str | None]) -> str:
    code, error, field = expected
    return f"{code} {error} for {field}" if field else f"{code} {error}"
