"""Answers as our own documentation has them. Their whole shape is looked at by checks of its own, over all answers."""

from typing import Any

from cloudconsole.conformance.assertions import check
from cloudconsole.conformance.responses import (
    BUSY,
    RawResponse,
    check_not_busy,
    describe_response,
    is_successful,
    lenient_code,
    lenient_envelope,
    quoted,
)
from cloudconsole.spec.errors import ApiError


def check_rejected(response: RawResponse, error: type[ApiError], field: str | None = None, *, after: str = "") -> None:
    """The answer is this refusal; an identifier or a field that it lacks is told of elsewhere."""
    what = f"{after}: " if after else ""
    if error.code not in BUSY:
        check_not_busy(response)
    content = lenient_envelope(response)
    seen = (lenient_code(response), content.get("error", error.error), content.get("field", field))
    wanted = (error.code, error.error, field)
    check(
        seen == wanted,
        f"{what}{describe_response(response)}, error {quoted(response, content.get('error'))}; due is {_words(wanted)}",
    )


def check_success(response: RawResponse, *, after: str = "") -> Any:
    """The answer is a success; gives its data."""
    what = f"{after}: " if after else ""
    check(is_successful(response), f"{what}{describe_response(response)}; due is a success")
    return lenient_envelope(response).get("data")


def check_logged_in(response: RawResponse) -> None:
    """The login was answered as a successful one is."""
    check_not_busy(response)
    check(response.status in (200, 302), describe_response(response))


def check_empty(response: RawResponse, *, after: str) -> None:
    check_not_busy(response)
    check(response.status == 200, f"{after}: {describe_response(response)}")
    check(not response.body, f"{after}: it has a body")


def allowed_methods(response: RawResponse) -> set[str]:
    """The methods that the header Allow names."""
    return {method.strip() for method in (response.header("allow") or "").split(",")} - {""}


def _words(wanted: tuple[int, str, str | None]) -> str:
    code, error, field = wanted
    return f"{code} {error} of {field}" if field else f"{code} {error}"
