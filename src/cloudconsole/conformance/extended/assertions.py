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


def check_rejected(answer: RawResponse, error: type[ApiError], field: str | None = None, *, after: str = "") -> None:
    """The answer is this refusal; an identifier or a field that it lacks is told of elsewhere."""
    what = f"{after}: " if after else ""
    if error.code not in BUSY:
        check_not_busy(answer)
    content = lenient_envelope(answer)
    seen = (lenient_code(answer), content.get("error", error.error), content.get("field", field))
    wanted = (error.code, error.error, field)
    check(
        seen == wanted,
        f"{what}{describe_response(answer)}, error {quoted(answer, content.get('error'))}; due is {_words(wanted)}",
    )


def check_success(answer: RawResponse, *, after: str = "") -> Any:
    """The answer is a success; gives its data."""
    what = f"{after}: " if after else ""
    check(is_successful(answer), f"{what}{describe_response(answer)}; due is a success")
    return lenient_envelope(answer).get("data")


def check_logged_in(answer: RawResponse) -> None:
    """The login was answered as a successful one is."""
    check_not_busy(answer)
    check(answer.status in (200, 302), describe_response(answer))


def check_empty(answer: RawResponse, *, after: str) -> None:
    check_not_busy(answer)
    check(answer.status == 200, f"{after}: {describe_response(answer)}")
    check(not answer.body, f"{after}: it has a body")


def allowed_methods(answer: RawResponse) -> set[str]:
    """The methods that the header Allow names."""
    return {method.strip() for method in (answer.header("allow") or "").split(",")} - {""}


def _words(wanted: tuple[int, str, str | None]) -> str:
    code, error, field = wanted
    return f"{code} {error} of {field}" if field else f"{code} {error}"
