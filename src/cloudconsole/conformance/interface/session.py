"""Opening a session and logging in: the cookies, their attributes, and what they are needed for."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from urllib.parse import urlsplit

from cloudconsole.conformance.assertions import CheckFailed, CheckSkipped, check, check_no_problems
from cloudconsole.conformance.checks import CheckGroup
from cloudconsole.conformance.client import ACTION_NAMES, NoResponse, WorkingCall
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.redaction import quote_value
from cloudconsole.conformance.responses import RawResponse, ServerBusy, SetCookie, describe_response, is_successful
from cloudconsole.spec.constants import CSRF_COOKIE, SESSION_COOKIE

checks = CheckGroup("interface")

SECTION = "5 Authentication"
COOKIES = (CSRF_COOKIE, SESSION_COOKIE)
OPENING, LOGIN = "GET /api/", "login"
TO_COME = {OPENING: ("/auth/login/", "/api/"), LOGIN: ("/api/",)}
"""The paths that are asked for after a step."""


@checks.must("session.opens", SECTION)
def session_opens(console: CheckContext) -> None:
    """GET /api/ sets the cookies csrftoken and sessionid."""
    response = console.opened
    missing = [
        name for name in COOKIES if not (cookie := response.cookie(name)) or cookie.is_deleted or not cookie.value
    ]
    if missing:
        set_instead = ", ".join(cookie.name for cookie in response.set_cookies) or "none"
        raise CheckFailed(f"{' and '.join(missing)} not set; HTTP {response.status} set {set_instead}")


@checks.must("session.sessionid-http-only", SECTION, "session.opens")
def session_sessionid_http_only(console: CheckContext) -> None:
    """sessionid is marked HttpOnly wherever it is set."""
    check_no_problems(
        [
            f"{SESSION_COOKIE} set by {where}: HttpOnly is missing"
            for where, cookie in _set(console, SESSION_COOKIE)
            if "httponly" not in cookie.attributes
        ]
    )


@checks.must("session.sessionid-no-expiry", SECTION, "session.opens")
def session_sessionid_no_expiry(console: CheckContext) -> None:
    """sessionid has no expiry: it is a session cookie."""
    check_no_problems(
        [
            f"{SESSION_COOKIE} set by {where}: it has an expiry"
            for where, cookie in _set(console, SESSION_COOKIE)
            if cookie.has_expiry
        ]
    )


@checks.must("session.csrftoken-expiry", SECTION, "session.opens")
def session_csrftoken_expiry(console: CheckContext) -> None:
    """csrftoken carries an expiry, as Expires or Max-Age."""
    check_no_problems(
        [
            f"{CSRF_COOKIE} set by {where}: neither an Expires that is a date nor a Max-Age that is a number"
            for where, cookie in _set(console, CSRF_COOKIE)
            if cookie.expires is None and cookie.max_age is None
        ]
    )


@checks.must("session.one-jar", SECTION, "session.opens")
def session_one_jar(console: CheckContext) -> None:
    """One cookie jar serves all steps: each cookie is for this host and for the paths of the steps still to come."""
    base = urlsplit(console.target.base)
    problems = []
    for name in COOKIES:
        for where, cookie in _set(console, name):
            to_come = [f"{base.path}{path}" for path in TO_COME[where]]
            problems += [
                f"{name} set by {where} has {problem}"
                for problem in _out_of_reach(cookie, base.hostname or "", to_come)
            ]
            if "secure" in cookie.attributes and base.scheme != "https":
                problems.append(f"{name} set by {where} is Secure, but the address is not https")
    check_no_problems(problems)


@checks.must("login.accepted", SECTION, "session.opens")
def login_accepted(console: CheckContext) -> str:
    """After a login with the right credentials an action is successful."""
    login = console.logged_in
    try:
        working = console.working()
    except CheckFailed:
        first = describe_response(console.answer(ACTION_NAMES[0], "JSON"))
        raise CheckFailed(
            f"the login answered {describe_response(login)}, and {ACTION_NAMES[0]} after it {first}"
        ) from None
    refused = _refused(console)
    if refused:
        try:
            console.telling()
        except CheckSkipped:
            public = ", ".join(each.action for each in working)
            raise CheckFailed(
                f"the login answered {describe_response(login)}, and after it only {public} succeeded, "
                f"as for strangers; {refused}"
            ) from None
    return f"HTTP {login.status}"


@checks.should("login.status", SECTION, "login.accepted")
def login_status(console: CheckContext) -> None:
    """A successful login's HTTP status says so: it is 2xx, or 302."""
    status = console.logged_in.status
    check(200 <= status < 300 or status == 302, f"it is {status}")


@checks.must("login.empty-body", SECTION, "login.accepted")
def login_empty_body(console: CheckContext) -> None:
    """A successful login returns no body."""
    body = console.logged_in.body
    check(not body, f"it returned {len(body)} bytes")


@checks.must("login.required", SECTION, "login.accepted")
def login_required(console: CheckContext) -> None:
    """No action is successful without a login, even with the cookies and the CSRF header."""
    check_not_served(console.working(), console.anonymous_response)


@checks.must("csrf.header-required", SECTION, "login.accepted")
def csrf_header_required(console: CheckContext) -> None:
    """No action is successful without the header X-CSRFToken."""
    without = {"X-CSRFToken": None}
    check_not_served(console.working(), lambda each: console.main.call(each.action, each.form, each.fields, without))


@checks.should("csrf.header-compared", SECTION, "login.accepted")
def csrf_header_compared(console: CheckContext) -> None:
    """No action is successful with a token other than the csrftoken cookie's value."""
    wrong = {"X-CSRFToken": console.main.token[::-1] + "x"}
    check_not_served(console.working()[:1], lambda each: console.main.call(each.action, each.form, each.fields, wrong))


def _refused(console: CheckContext) -> str:
    """The first action that failed after the login, in a few words; empty if there was none."""
    for action in ACTION_NAMES:
        try:
            console.success(action)
        except CheckFailed as reason:
            return f"{action}: {reason}"
        except CheckSkipped:
            continue
    return ""


def _set(console: CheckContext, name: str) -> list[tuple[str, SetCookie]]:
    """Each line that set a cookie on the way to a login, with the step that did."""
    steps: list[tuple[str, RawResponse]] = [(OPENING, console.opened)]
    # Without an answer it is told of by the check of the login.
    with suppress(NoResponse):
        steps.append((LOGIN, console.logged_in))
    return [
        (step, cookie)
        for step, response in steps
        for cookie in response.set_cookies
        if cookie.name == name and not cookie.is_deleted
    ]


def _out_of_reach(cookie: SetCookie, host: str, to_come: list[str]) -> list[str]:
    domain = cookie.attributes.get("domain", "").lstrip(".").lower()
    path = cookie.attributes.get("path", "")
    problems = []
    if domain and host != domain and not host.endswith(f".{domain}"):
        problems.append(f"Domain {quote_value(domain)}")
    # Without a path it is for the folder of the request that set it, and no step has another step in its folder.
    if not path.startswith("/") or not all(asked.startswith(f"{path.rstrip('/')}/") for asked in to_come):
        problems.append(f"Path {quote_value(path)}" if path else "no Path, and so is kept from the steps to come")
    return problems


def check_not_served(calls: Iterable[WorkingCall], call: Callable[[WorkingCall], RawResponse]) -> None:
    """What is successful for the main visitor is refused to this call."""
    served, unclear = [], None
    for working in calls:
        try:
            if is_successful(call(working)):
                served.append(working.action)
        except ServerBusy as reason:
            unclear = reason
    check(not served, f"successful all the same: {', '.join(served)}")
    if unclear is not None:
        raise unclear
