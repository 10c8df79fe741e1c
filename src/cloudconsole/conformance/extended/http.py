"""Checks beyond the interface: HTTP itself and the envelope."""

import re
from collections.abc import Iterator
from typing import Any, Final

from cloudconsole.conformance.assertions import hold, hold_all, hold_equal
from cloudconsole.conformance.checks import Check, Group
from cloudconsole.conformance.context import Examination
from cloudconsole.conformance.extended.assertions import allowed_by, hold_refused, hold_success
from cloudconsole.conformance.redaction import shown
from cloudconsole.conformance.responses import Answer, code_of, content_of, is_success, quoted, told
from cloudconsole.spec.constants import JSON
from cloudconsole.spec.errors import (
    DomainNotFound,
    InvalidField,
    LoginRequired,
    MethodNotAllowed,
    MissingField,
    NotFound,
    UnknownAction,
    UnknownRegion,
)

checks = Group("console")

HTTP = "api: HTTP"
METHODS = {
    "/api/": {"GET", "HEAD", "POST", "OPTIONS"},
    "/auth/login/": {"POST", "OPTIONS"},
    "/auth/logout/": {"POST", "OPTIONS"},
}
REQUEST_ID = "[A-Za-z0-9._-]{1,64}"


def _slash(path: str) -> Check:
    def examine(console: Examination) -> None:
        answer = console.newcomer().send("POST", path)
        hold_equal(answer.status, 308, "the status")
        hold_equal(answer.header("location"), f"{path}/", "Location")

    title = f"{path} without its slash answers 308, which a POST survives."
    name = f"console.slash{path.replace('/', '.')}"
    return Check(name, "console", HTTP, "must", title, examine, ("session.opens",))


checks += [_slash(path.rstrip("/")) for path in METHODS]


@checks.must("console.methods.options", HTTP, "session.opens")
def methods_options(console: Examination) -> None:
    """OPTIONS answers 204 with Allow, on every path of the interface."""
    for path, methods in METHODS.items():
        answer = console.newcomer().send("OPTIONS", path)
        hold(answer.status == 204 and not answer.body, f"{path}: {told(answer)}")
        hold_equal(allowed_by(answer), methods, f"Allow of {path}")


@checks.must("console.methods.not-allowed", HTTP, "session.opens")
def methods_not_allowed(console: Examination) -> None:
    """A method that a path does not take is method_not_allowed, with Allow."""
    answer = console.newcomer().send("DELETE", "/api/")
    hold_refused(answer, MethodNotAllowed)
    hold_equal(allowed_by(answer), METHODS["/api/"], "Allow")


@checks.must("console.paths.unknown", "errors", "session.opens")
def paths_unknown(console: Examination) -> None:
    """A path that there is not is not_found."""
    hold_refused(console.newcomer().send("GET", "/nothing-is-here"), NotFound)


@checks.must("console.upgrade-ignored", HTTP, "login.accepted")
def upgrade_ignored(console: Examination) -> None:
    """An offer to upgrade the connection is ignored and the call answered as usual."""
    offer = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAAQAoAAAAAIAAAAA"}
    hold_success(console.main.call("GetNews", headers=offer))


@checks.must("console.request-id.kept", HTTP, "login.accepted")
def request_id_kept(console: Examination) -> None:
    """X-Request-ID is the caller's own, in successes and refusals."""
    own = {"X-Request-ID": "Kit-1_2.3"}
    for what, visitor in {"a success": console.main, "a refusal": console.stranger}.items():
        answer = visitor.call("GetNews", headers=own)
        hold_equal(answer.header("x-request-id"), own["X-Request-ID"], f"X-Request-ID of {what}")


@checks.must("console.request-id.replaced", HTTP, "session.opens")
def request_id_replaced(console: Examination) -> None:
    """An X-Request-ID over 64 characters, or with others than [A-Za-z0-9._-], is replaced."""
    for given in ("x" * 65, "a b", "<x>"):
        answer = console.newcomer().open({"X-Request-ID": given})
        hold(answer.header("x-request-id") != given, f"{given:.12} is kept")


@checks.must("console.documents", HTTP, "session.opens")
def documents(console: Examination) -> None:
    """/openapi.json has an ETag and no-cache, and a copy that is still good gets 304."""
    answer = console.newcomer().send("GET", "/openapi.json")
    hold_equal(answer.status, 200, "the status")
    hold_equal(answer.header("cache-control"), "no-cache", "Cache-Control")
    hold(str(answer.content.get("openapi")).startswith("3.1"), "it is no OpenAPI 3.1 document")
    again = console.newcomer().send("GET", "/openapi.json", {"If-None-Match": answer.header("etag") or ""})
    hold(again.status == 304 and not again.body, f"asked again: {told(again)}")


@checks.must("console.headers.on-every-answer", HTTP, "session.opens")
def headers_on_every_answer(console: Examination) -> None:
    """Every answer has X-Request-ID, nosniff and, documents apart, Cache-Control: no-store."""
    problems = []
    for what, answer in console.sender.answers:
        caching = "no-cache" if what.endswith("/openapi.json") else "no-store"
        if answer.header("cache-control") != caching:
            problems.append(f"{what} ({answer.status}) has no Cache-Control: {caching}")
        if answer.header("x-content-type-options") != "nosniff":
            problems.append(f"{what} ({answer.status}) has no X-Content-Type-Options: nosniff")
        if not re.fullmatch(REQUEST_ID, answer.header("x-request-id") or ""):
            problems.append(f"{what} ({answer.status}) has no X-Request-ID")
    hold_all(problems)


@checks.must("console.headers.no-cors", "api: CSRF", "session.opens")
def headers_no_cors(console: Examination) -> None:
    """No answer has CORS headers."""
    hold_all(
        [
            f"{what} ({answer.status}) has {name}"
            for what, answer in console.sender.answers
            for name, _ in answer.headers
            if name.startswith("access-control-")
        ]
    )


ENVELOPE = "api: The envelope"
SUCCESS: Final = {"message", "code", "data"}
OF_A_FIELD: Final = {
    error.error for error in (MissingField, InvalidField, UnknownRegion, UnknownAction, DomainNotFound)
}
"""The errors that name the field at fault."""


@checks.must("console.envelope.success", ENVELOPE, "session.opens")
def envelope_success(console: Examination) -> None:
    """A success is HTTP 200 and JSON with exactly message, code and data."""
    problems = []
    for what, answer in console.sender.answers:
        if what.endswith(" /api/") and is_success(answer):
            names = set(content_of(answer))
            problems += [f"{what}: {problem}" for problem in _of_any(answer)]
            if names != SUCCESS:
                problems.append(f"{what}: it has the fields {shown(sorted(names))}")
    hold_all(problems)


@checks.must("console.envelope.refusal", ENVELOPE, "session.opens")
def envelope_refusal(console: Examination) -> None:
    """A refusal is JSON with message, code (the HTTP status), data ({}), error and, where one is at fault, field."""
    hold_all([f"{what}: {problem}" for what, answer in _refusals(console) for problem in _of_refusal(answer)])


@checks.must("console.language", ENVELOPE, "login.accepted")
def language(console: Examination) -> None:
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
