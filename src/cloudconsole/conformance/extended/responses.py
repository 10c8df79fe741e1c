"""Checks beyond the interface: all responses of the run."""

import re
from collections.abc import Callable, Iterable
from typing import Final

from cloudconsole.conformance.assertions import CausedBy, check_no_problems
from cloudconsole.conformance.checks import CheckGroup
from cloudconsole.conformance.client import ACTION_NAMES, Recorded
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.extended.envelope import is_error
from cloudconsole.conformance.field_types import is_integer
from cloudconsole.conformance.responses import BUSY, RawResponse, describe_response, lenient_code, lenient_envelope

checks = CheckGroup("console")

ERRORS, ENVELOPE, HTTP, CSRF = "api: Errors", "api: The envelope", "api: HTTP", "api: CSRF"
ANSWERS: Final = tuple(f"answers.{action}" for action in ACTION_NAMES)
TRACEBACK: Final = re.compile(
    rb'Traceback \(most recent|File "[^"]+", line \d|\bat [\w.$<>]+\([\w.]+:\d+\)|Exception: '
)


@checks.must("console.errors.no-server-error", ERRORS, "session.opens", causes=("login.status", *ANSWERS))
def no_server_error(console: CheckContext) -> None:
    """No request of the run causes a server error (5xx) other than 502, 503 and 504."""
    found = [recorded for recorded in console.sender.responses if _is_server_error(recorded.response)]
    unexplained = [recorded for recorded in found if recorded.check not in console.failed_checks]
    if found and not unexplained:
        raise CausedBy(found[0].check, describe_response(found[0].response))
    check_no_problems([f"{_name(recorded)}: {describe_response(recorded.response)}" for recorded in unexplained])


@checks.must("console.errors.json", ENVELOPE, "errors.json")
def errors_json(console: CheckContext) -> None:
    """Every error is JSON, not HTML or plain text, whatever path, method or body causes it."""
    check_no_problems(
        [
            f"{_name(recorded)}: {describe_response(recorded.response)}"
            for recorded in console.sender.responses
            if is_error(recorded.response) and not _is_server_error(recorded.response)
            if recorded.response.status not in BUSY and not _is_head(recorded)
            if not lenient_envelope(recorded.response)
        ]
    )


@checks.must("console.errors.no-traceback", ERRORS, "session.opens")
def no_traceback(console: CheckContext) -> None:
    """No response contains a traceback or the text of an exception."""
    check_no_problems(_names_of(console, lambda response: TRACEBACK.search(response.body), "has a traceback"))


@checks.must("console.headers.request-id", HTTP, "session.opens")
def headers_request_id(console: CheckContext) -> None:
    """Every response has X-Request-ID."""
    check_no_problems(_names_of(console, lambda response: not response.header("x-request-id"), "has no X-Request-ID"))


@checks.must("console.headers.nosniff", HTTP, "session.opens")
def headers_nosniff(console: CheckContext) -> None:
    """Every response has X-Content-Type-Options: nosniff."""
    is_missing = _lacks("x-content-type-options", "nosniff")
    check_no_problems(_names_of(console, is_missing, "has no X-Content-Type-Options: nosniff"))


@checks.must("console.headers.framing", HTTP, "session.opens")
def headers_framing(console: CheckContext) -> None:
    """Every response has X-Frame-Options: DENY."""
    check_no_problems(_names_of(console, _lacks("x-frame-options", "DENY"), "has no X-Frame-Options: DENY"))


@checks.must("console.headers.caching", HTTP, "session.opens")
def headers_caching(console: CheckContext) -> None:
    """Every response has Cache-Control: no-store; documents have no-cache."""
    check_no_problems(
        [
            f"{_name(recorded)} has no Cache-Control: {expected}"
            for recorded in console.sender.responses
            for expected in ["no-cache" if recorded.request.endswith("/openapi.json") else "no-store"]
            if recorded.response.header("cache-control") != expected
        ]
    )


@checks.must("console.headers.once", HTTP, "session.opens")
def headers_once(console: CheckContext) -> None:
    """No response repeats a header, except Set-Cookie."""
    problems = []
    for recorded in console.sender.responses:
        names = [name for name, _ in recorded.response.headers if name != "set-cookie"]
        problems += [f"{_name(recorded)} repeats {name}" for name in sorted(set(names)) if names.count(name) > 1]
    check_no_problems(problems)


@checks.must("console.headers.no-cors", CSRF, "session.opens")
def headers_no_cors(console: CheckContext) -> None:
    """No response has CORS headers."""

    def has_cors(response: RawResponse) -> bool:
        return any(name.startswith("access-control-") for name, _ in response.headers)

    check_no_problems(_names_of(console, has_cors, "has CORS headers"))


def _names_of(console: CheckContext, is_wrong: Callable[[RawResponse], object], problem: str) -> list[str]:
    found: Iterable[Recorded] = (recorded for recorded in console.sender.responses if is_wrong(recorded.response))
    return list(dict.fromkeys(f"{_name(recorded)} {problem}" for recorded in found))


def _lacks(name: str, value: str) -> Callable[[RawResponse], bool]:
    return lambda response: response.header(name) != value


def _name(recorded: Recorded) -> str:
    return f"{recorded.request} (in {recorded.check}, HTTP {recorded.response.status})"


def _is_server_error(response: RawResponse) -> bool:
    return any(
        is_integer(code) and code >= 500 and code not in BUSY for code in (response.status, lenient_code(response))
    )


def _is_head(recorded: Recorded) -> bool:
    return recorded.request.startswith("HEAD ")
