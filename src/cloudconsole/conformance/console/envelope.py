"""The envelope, to the last field, of every answer that was seen on the way."""

import re
from collections.abc import Iterator
from typing import Any, Final

from cloudconsole.conformance.answers import Answer
from cloudconsole.conformance.checks import Group, hold, hold_all
from cloudconsole.conformance.console.expecting import hold_refused, hold_success
from cloudconsole.conformance.examination import Examination
from cloudconsole.conformance.reading import code_of, content_of, is_success, quoted
from cloudconsole.conformance.showing import shown
from cloudconsole.spec.constants import JSON
from cloudconsole.spec.errors import (
    DomainNotFound,
    InvalidField,
    LoginRequired,
    MissingField,
    UnknownAction,
    UnknownRegion,
)

checks = Group("console")

SECTION = "api: The envelope"
SUCCESS: Final = {"message", "code", "data"}
OF_A_FIELD: Final = {
    error.error for error in (MissingField, InvalidField, UnknownRegion, UnknownAction, DomainNotFound)
}
"""The errors that name the field at fault."""


@checks.must("console.envelope.success", SECTION, "session.opens")
def _(console: Examination) -> None:
    """A success is HTTP 200 and JSON with exactly message, code and data."""
    problems = []
    for what, answer in console.sender.answers:
        if what.endswith(" /api/") and is_success(answer):
            names = set(content_of(answer))
            problems += [f"{what}: {problem}" for problem in _of_any(answer)]
            if names != SUCCESS:
                problems.append(f"{what}: it has the fields {shown(sorted(names))}")
    hold_all(problems)


@checks.must("console.envelope.refusal", SECTION, "session.opens")
def _(console: Examination) -> None:
    """A refusal is JSON with message, code (the HTTP status), data ({}), error and, where one is at fault, field."""
    hold_all([f"{what}: {problem}" for what, answer in _refusals(console) for problem in _of_refusal(answer)])


@checks.must("console.language", SECTION, "login.accepted")
def _(console: Examination) -> None:
    """message follows Accept-Language, Chinese or English, also in refusals; data does not vary with it."""
    data = []
    for language in ("en", "zh-CN,zh;q=0.9,en;q=0.8", "fr"):
        headers = {"Accept-Language": language}
        success, refusal = (who.call("GetNews", headers=headers) for who in (console.main, console.stranger))
        hold_refused(refusal, LoginRequired)
        data.append(hold_success(success))
        for message in (success.content["message"], refusal.content["message"]):
            is_chinese = re.search("[一-鿿]", message) is not None
            hold(is_chinese == language.startswith("zh"), f"for {language} the message is {shown(message)}")
    hold(data[0] == data[1], "data varies with the language")


def _refusals(console: Examination) -> Iterator[tuple[str, Answer]]:
    for what, answer in console.sender.answers:
        code = code_of(answer)
        if answer.status >= 400 or (isinstance(code, int) and code >= 400):
            yield what, answer


def _of_refusal(answer: Answer) -> list[str]:
    content: dict[str, Any] = content_of(answer)
    if not content:
        return [f"HTTP {answer.status} has no JSON object"]
    error = content.get("error")
    wanted = SUCCESS | {"error"} | ({"field"} if str(error) in OF_A_FIELD else set())
    problems = _of_any(answer)
    if set(content) != wanted:
        problems.append(f"{quoted(answer, error)} has the fields {quoted(answer, sorted(content))}")
    if content.get("data") != {}:
        problems.append(f"{quoted(answer, error)} has the data {quoted(answer, content.get('data'))}")
    return problems


def _of_any(answer: Answer) -> list[str]:
    content = content_of(answer)
    problems = []
    if content.get("code") != answer.status:
        problems.append(f"HTTP {answer.status} has the code {quoted(answer, content.get('code'))}")
    if answer.header("content-type") != JSON:
        problems.append(f"Content-Type is {quoted(answer, answer.header('content-type'))}")
    if not isinstance(content.get("message"), str) or not content["message"]:
        problems.append(f"message is {quoted(answer, content.get('message'))}")
    return problems
