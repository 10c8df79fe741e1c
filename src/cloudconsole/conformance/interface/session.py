"""Interface checks: session cookies and login."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from urllib.parse import urlsplit

from cloudconsole.conformance.assertions import CheckFailed, CheckSkipped, check, check_no_problems
from cloudconsole.conformance.checks import CheckGroup
from cloudconsole.conformance.client import ACTION_NAMES, WorkingCall
from cloudconsole.conformance.connection import NoResponse
from cloudconsole.conformance.context import CheckContext, looks_like_console
from cloudconsole.conformance.redaction import json_line
from cloudconsole.conformance.responses import RawResponse, ServerBusy, describe_response, is_success_unless_busy
from cloudconsole.spec.set_cookie import CSRF_COOKIE, SESSION_COOKIE, SetCookie

checks = CheckGroup("interface")

SECTION = "5 Authentication"
COOKIES = (CSRF_COOKIE, SESSION_COOKIE)
OPENING, LOGIN = "GET /api/", "login"
LATER_PATHS = {OPENING: ("/auth/login/", "/api/"), LOGIN: ("/api/",)}
"""Paths requested after a step."""


@checks.must("session.opens", SECTION)
def session_opens(console: CheckContext) -> None:
    """GET /api/ sets the cookies csrftoken and sessionid."""
    response = console.opened
    missing = [
        name for name in COOKIES if not (cookie := response.cookie(name)) or cookie.is_deleted or not cookie.value
    ]
    if missing:
        others = ", ".join(cookie.name for cookie in response.set_cookies) or "none"
        hint = "" if looks_like_console(response) else "; it does not look like a Cloud Console: check BASE_URL"
        raise CheckFailed(f"{' and '.join(missing)} not set; HTTP {response.status} set {others}{hint}")


@checks.must("session.sessionid-http-only", SECTION, "session.opens")
def session_sessionid_http_only(console: CheckContext) -> None:
    """sessionid is marked HttpOnly wherever it is set."""
    check_no_problems(
        [
            f"{SESSION_COOKIE} set by {step}: HttpOnly is missing"
            for step, cookie in _cookies_set(console, SESSION_COOKIE)
            if "httponly" not in cookie.attributes
        ]
    )


@checks.must("session.sessionid-no-expiry", SECTION, "session.opens")
def session_sessionid_no_expiry(console: CheckContext) -> None:
    """sessionid is a session cookie, without an expiry."""
    check_no_problems(
        [
            f"{SESSION_COOKIE} set by {step}: it has an expiry"
            for step, cookie in _cookies_set(console, SESSION_COOKIE)
            if cookie.has_expiry
        ]
    )


@checks.must("session.csrftoken-expiry", SECTION, "session.opens")
def session_csrftoken_expiry(console: CheckContext) -> None:
    """csrftoken has an expiry, as Expires or Max-Age."""
    check_no_problems(
        [
            f"{CSRF_COOKIE} set by {step}: neither a valid Expires nor a valid Max-Age"
            for step, cookie in _cookies_set(console, CSRF_COOKIE)
            if cookie.expires is None and cookie.max_age is None
        ]
    )


@checks.must("session.one-jar", SECTION, "session.opens")
def session_one_jar(console: CheckContext) -> None:
    """One cookie jar serves all steps: each cookie is valid for this host and the paths of later steps."""
    base = urlsplit(console.target.base)
    problems = []
    for name in COOKIES:
        for step, cookie in _cookies_set(console, name):
            later_paths = [f"{base.path}{path}" for path in LATER_PATHS[step]]
            problems += [
                f"{name} set by {step} has {problem}"
                for problem in _scope_errors(cookie, base.hostname or "", later_paths)
            ]
            if "secure" in cookie.attributes and base.scheme != "https":
                problems.append(f"{name} set by {step} is Secure, but the URL is not https")
    check_no_problems(problems)


@checks.must("login.accepted", SECTION, "session.opens")
def login_accepted(console: CheckContext) -> str:
    """After a login with the right credentials an action succeeds."""
    login = console.logged_in
    try:
        working = console.working()
    except CheckFailed:
        first = describe_response(console.response_to(ACTION_NAMES[0], "JSON"))
        raise CheckFailed(
            f"the response to the login was {describe_response(login)}, and to {ACTION_NAMES[0]} after it {first}"
        ) from None
    failure = _first_failure(console)
    if failure:
        try:
            console.protected_call()
        except CheckSkipped:
            public = ", ".join(each.action for each in working)
            raise CheckFailed(
                f"the response to the login was {describe_response(login)}, and after it only {public} succeeded, "
                f"as without a login; {failure}"
            ) from None
    return f"HTTP {login.status}"


@checks.should("login.status", SECTION, "login.accepted")
def login_status(console: CheckContext) -> None:
    """A successful login has the HTTP status 2xx or 302."""
    status = console.logged_in.status
    check(200 <= status < 300 or status == 302, f"it is {status}")


@checks.must("login.empty-body", SECTION, "login.accepted")
def login_empty_body(console: CheckContext) -> None:
    """A successful login returns no body."""
    body = console.logged_in.body
    check(not body, f"it returned {len(body)} bytes")


@checks.must("login.required", SECTION, "login.accepted")
def login_required(console: CheckContext) -> None:
    """No action succeeds without a login, even with the cookies and the CSRF header."""
    check_not_served(console.working(), console.anonymous_response)


@checks.must("csrf.header-required", SECTION, "login.accepted")
def csrf_header_required(console: CheckContext) -> None:
    """No action succeeds without the header X-CSRFToken."""
    without = {"X-CSRFToken": None}
    check_not_served(console.working(), lambda each: console.main.call(each.action, each.form, each.fields, without))


@checks.should("csrf.header-compared", SECTION, "csrf.header-required")
def csrf_header_compared(console: CheckContext) -> None:
    """No action succeeds with a token other than the csrftoken cookie's value."""
    wrong = {"X-CSRFToken": console.main.token[::-1] + "x"}
    check_not_served(console.working()[:1], lambda each: console.main.call(each.action, each.form, each.fields, wrong))


def _first_failure(console: CheckContext) -> str:
    """Describe the first action that failed after the login; empty if there is none."""
    for action in ACTION_NAMES:
        try:
            console.success(action)
        except CheckFailed as reason:
            return f"{action}: {reason}"
        except (CheckSkipped, NoResponse):
            continue
    return ""


def _cookies_set(console: CheckContext, name: str) -> list[tuple[str, SetCookie]]:
    """Return each Set-Cookie of a name until the login, with its step."""
    steps: list[tuple[str, RawResponse]] = [(OPENING, console.opened)]
    # A missing response is reported by the login check.
    with suppress(NoResponse):
        steps.append((LOGIN, console.logged_in))
    return [
        (step, cookie)
        for step, response in steps
        for cookie in response.set_cookies
        if cookie.name == name and not cookie.is_deleted
    ]


def _scope_errors(cookie: SetCookie, host: str, later_paths: list[str]) -> list[str]:
    domain = cookie.attributes.get("domain", "").lstrip(".").lower()
    path = cookie.attributes.get("path", "")
    problems = []
    if domain and host != domain and not host.endswith(f".{domain}"):
        problems.append(f"Domain {json_line(domain)}")
    # Without Path it is limited to the directory of the request, which contains no other step.
    if not path.startswith("/") or not all(requested.startswith(f"{path.rstrip('/')}/") for requested in later_paths):
        problems.append(f"Path {json_line(path)}" if path else "no Path, so it is not sent in later steps")
    return problems


def check_not_served(calls: Iterable[WorkingCall], call: Callable[[WorkingCall], RawResponse]) -> None:
    """Fail if a call succeeds that should be rejected."""
    served, busy = [], None
    for working in calls:
        try:
            if is_success_unless_busy(call(working)):
                served.append(working.action)
        except ServerBusy as reason:
            busy = reason
    check(not served, f"succeeded: {', '.join(served)}")
    if busy is not None:
        raise busy
