"""Checks beyond the interface: the envelope and its language."""

import re
from collections.abc import Iterator
from typing import Any, Final

from cloudconsole.conformance.assertions import CheckSkipped, check, check_no_problems
from cloudconsole.conformance.checks import CheckGroup
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.extended.assertions import check_rejected, check_success
from cloudconsole.conformance.redaction import json_line
from cloudconsole.conformance.responses import RawResponse, is_success, lenient_code, lenient_envelope, quoted
from cloudconsole.spec.errors import (
    DomainNotFound,
    FlavorNotFound,
    InvalidField,
    LoginRequired,
    MissingField,
    NodeNotFound,
    UnknownAction,
    UnknownRegion,
)
from cloudconsole.spec.operations import JSON

checks = CheckGroup("console")

ENVELOPE = "api: The envelope"
ESCAPED: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u(?!00[0-9][0-9a-f])[0-9a-f]{4}", re.IGNORECASE)
SUCCESS: Final = {"message", "code", "data"}
SUCCESS_CHECKS: Final = ("envelope.message", "envelope.code", "envelope.data")
FIELD_ERRORS: Final = {
    error.error
    for error in (
        MissingField,
        InvalidField,
        UnknownRegion,
        UnknownAction,
        DomainNotFound,
        FlavorNotFound,
        NodeNotFound,
    )
}
"""Errors that name the invalid field."""


@checks.must("console.envelope.success", ENVELOPE, "session.opens", causes=SUCCESS_CHECKS)
def envelope_success(console: CheckContext) -> None:
    """A success is HTTP 200 and JSON with exactly message, code and data."""
    problems = []
    for what, response, _ in console.sender.responses:
        if what.endswith(" /api/") and is_success(response):
            names = set(lenient_envelope(response))
            problems += [f"{what}: {problem}" for problem in _envelope_problems(response)]
            if names != SUCCESS:
                problems.append(f"{what}: it has the fields {json_line(sorted(names))}")
    check_no_problems(problems)


@checks.must("console.envelope.refusal", ENVELOPE, "session.opens", causes=("errors.envelope", "errors.code"))
def envelope_error(console: CheckContext) -> None:
    """An error in JSON has message, code (the HTTP status), data ({}), error and, for an invalid field, field."""
    check_no_problems(
        [f"{what}: {problem}" for what, response in _errors(console) for problem in _error_problems(response)]
    )


@checks.must(
    "console.language",
    ENVELOPE,
    "answers.GetNews",
    causes=("login.required", "envelope.message", "errors.json", "errors.envelope"),
)
def language(console: CheckContext) -> None:
    """message follows Accept-Language, Chinese or English, also in errors; data does not vary with it."""
    data = []
    for language in ("en", "zh-CN,zh;q=0.9,en;q=0.8", "fr"):
        headers = {"Accept-Language": language}
        success, error = (client.call("GetNews", headers=headers) for client in (console.main, console.anonymous))
        check_rejected(error, LoginRequired)
        data.append(check_success(success))
        for message in (success.content["message"], error.content["message"]):
            is_chinese = re.search("[一-鿿]", message) is not None
            check(is_chinese == language.startswith("zh"), f"for {language} the message is {json_line(message)}")
    check(data[0] == data[1], "data varies with the language")


@checks.must("console.envelope.unescaped", ENVELOPE, "session.opens")
def envelope_unescaped(console: CheckContext) -> None:
    """Text is UTF-8, Chinese text too: no character from U+00A0 on is escaped."""
    responses = [(what, response.body) for what, response, _ in console.sender.responses]
    escaped = [f"{what}: {json_line(found[0])}" for what, body in responses if (found := ESCAPED.search(body))]
    if not escaped and all(body.isascii() for _, body in responses):
        raise CheckSkipped("no response has such a character")
    check_no_problems(list(dict.fromkeys(escaped)))


def _errors(console: CheckContext) -> Iterator[tuple[str, RawResponse]]:
    """Yield the errors that are JSON."""
    for what, response, _ in console.sender.responses:
        if is_error(response) and lenient_envelope(response):
            yield what, response


def is_error(response: RawResponse) -> bool:
    code = lenient_code(response)
    return response.status >= 400 or (isinstance(code, int) and code >= 400)


def _error_problems(response: RawResponse) -> list[str]:
    content: dict[str, Any] = lenient_envelope(response)
    error = content.get("error")
    expected = SUCCESS | {"error"} | ({"field"} if str(error) in FIELD_ERRORS else set())
    problems = _envelope_problems(response)
    if set(content) != expected:
        problems.append(f"{quoted(response, error)} has the fields {quoted(response, sorted(content))}")
    if content.get("data") != {}:
        problems.append(f"{quoted(response, error)} has the data {quoted(response, content.get('data'))}")
    return problems


def _envelope_problems(response: RawResponse) -> list[str]:
    content = lenient_envelope(response)
    problems = []
    if content.get("code") != response.status:
        problems.append(f"HTTP {response.status} has the code {quoted(response, content.get('code'))}")
    if response.header("content-type") != JSON:
        problems.append(f"Content-Type is {quoted(response, response.header('content-type'))}")
    if not isinstance(content.get("message"), str) or not content["message"]:
        problems.append(f"message is {quoted(response, content.get('message'))}")
    return problems
