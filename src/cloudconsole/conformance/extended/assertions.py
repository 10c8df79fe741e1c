"""Answers as our own documentation has them. Their whole shape is looked at by checks of its own, over all answers."""

from typing import Any

from cloudconsole.conformance.assertions import hold
from cloudconsole.conformance.responses import BUSY, Answer, code_of, content_of, hold_not_busy, quoted, succeeded, told
from cloudconsole.spec.errors import ApiError


def hold_refused(answer: Answer, error: type[ApiError], field: str | None = None, *, after: str = "") -> None:
    """The answer is this refusal; an identifier or a field that it lacks is told of elsewhere."""
    what = f"{after}: " if after else ""
    if error.code not in BUSY:
        hold_not_busy(answer)
    content = content_of(answer)
    seen = (code_of(answer), content.get("error", error.error), content.get("field", field))
    wanted = (error.code, error.error, field)
    hold(seen == wanted, f"{what}{told(answer)}, error {quoted(answer, content.get('error'))}; due is {_words(wanted)}")


def hold_success(answer: Answer, *, after: str = "") -> Any:
    """The answer is a success; gives its data."""
    what = f"{after}: " if after else ""
    hold(succeeded(answer), f"{what}{told(answer)}; due is a success")
    return content_of(answer).get("data")


def hold_logged_in(answer: Answer) -> None:
    """The login was answered as a successful one is."""
    hold_not_busy(answer)
    hold(answer.status in (200, 302), told(answer))


def hold_empty(answer: Answer, *, after: str) -> None:
    hold_not_busy(answer)
    hold(answer.status == 200, f"{after}: {told(answer)}")
    hold(not answer.body, f"{after}: it has a body")


def allowed_by(answer: Answer) -> set[str]:
    """The methods that the header Allow names."""
    return {method.strip() for method in (answer.header("allow") or "").split(",")} - {""}


def _words(wanted: tuple[int, str, str | None]) -> str:
    code, error, field = wanted
    return f"{code} {error} of {field}" if field else f"{code} {error}"
