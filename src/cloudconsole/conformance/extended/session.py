"""Checks beyond the interface: GET /api/, cookies and login."""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from cloudconsole.conformance.assertions import CheckFailed, CheckSkipped, check, check_equal, check_no_problems
from cloudconsole.conformance.checks import CheckGroup
from cloudconsole.conformance.client import ACTION_NAMES, Account, NoResponse
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.extended.assertions import allowed_methods, check_logged_in, check_rejected, check_success
from cloudconsole.conformance.redaction import quote_value
from cloudconsole.conformance.responses import SetCookie, describe_response, is_successful
from cloudconsole.conformance.schemas import INTEGER, TEXT, TEXTS, FieldType, pattern_errors, schema_errors
from cloudconsole.spec.constants import CSRF_COOKIE, JSON, SESSION_COOKIE
from cloudconsole.spec.errors import (
    CsrfFailed,
    InvalidCredentials,
    LoginRequired,
    MethodNotAllowed,
    MissingField,
    UnknownRegion,
    UnsupportedMediaType,
)

checks = CheckGroup("console")

OPENING = "api: `GET /api/`"
SESSIONS = "api: Sessions and cookies"
UNITS = {"ram": "MB", "disk": "GB", "volume": "GB", "personality": "B"}
OPENING_PAYLOAD = {
    "actions": TEXTS,
    "regions": TEXTS,
    "currency": TEXT,
    "timeZone": TEXT,
    "monthDays": INTEGER,
    "units": FieldType(f"{quote_value(UNITS)}", lambda value: value == UNITS),
}


@checks.must("console.welcome.data", OPENING, "session.opens")
def welcome_data(console: CheckContext) -> None:
    """GET /api/ returns the actions, regions, currency, time zone, days of a month and units, and nothing else."""
    data = welcome(console)
    check_no_problems(schema_errors(data, OPENING_PAYLOAD, "data"))
    check_equal(sorted(data), sorted(OPENING_PAYLOAD), "the set of fields")
    missing = [action for action in ACTION_NAMES if action not in data["actions"]]
    check(not missing, f"actions lacks {', '.join(missing)}")
    check_no_problems(pattern_errors([("currency", data["currency"])], "[A-Z]{3}", "an ISO 4217 code"))


@checks.must("console.welcome.keeps-cookies", SESSIONS, "session.opens")
def welcome_keeps_cookies(console: CheckContext) -> None:
    """GET /api/ reuses a well-formed anonymous sessionid and an issued csrftoken, and sets both again."""
    again = console.before_login.copy()
    response = again.open()
    for name in (CSRF_COOKIE, SESSION_COOKIE):
        cookie = response.cookie(name)
        check(cookie, f"{name} is not set again")
        check(cookie and cookie.value == console.before_login.jar[name], f"{name} changed")


@checks.must("console.welcome.replaces-made-up", SESSIONS, "session.opens")
def welcome_replaces_made_up(console: CheckContext) -> None:
    """GET /api/ replaces cookies that the console did not issue, independently of each other."""
    made_up = {CSRF_COOKIE: "0" * 64, SESSION_COOKIE: "madeup0123456789"}
    for name, value in made_up.items():
        client = console.before_login.copy(**{name: value})
        client.open()
        check(client.jar.get(name) not in (None, value), f"a made-up {name} is not replaced")
        other = CSRF_COOKIE if name == SESSION_COOKIE else SESSION_COOKIE
        check(client.jar.get(other) == console.before_login.jar[other], f"{other} is replaced along with {name}")


@checks.must("console.welcome.keeps-session", OPENING, "login.accepted")
def welcome_keeps_session(console: CheckContext) -> None:
    """GET /api/ in a session preserves it and restores a lost csrftoken."""
    client = console.main.copy()
    client.jar.pop(CSRF_COOKIE, None)
    client.open()
    check(client.session == console.main.session, "sessionid changed")
    check(client.token == console.main.token, "the lost csrftoken is not restored")
    check_success(client.call("GetNews"), after="a call after it")


@checks.must("console.welcome.head", "api: HTTP", "session.opens")
def welcome_head(console: CheckContext) -> None:
    """HEAD works where GET does, with the same headers and no body."""
    response = console.new_client().send("HEAD", "/api/")
    check_equal(response.status, 200, "the status of HEAD /api/")
    check(not response.body, "HEAD /api/ has a body")
    missing = {name for name, _ in console.opened.headers} - {name for name, _ in response.headers}
    check(not missing, f"headers that only GET has: {', '.join(sorted(missing))}")


def welcome(console: CheckContext) -> Any:
    return check_success(console.opened, after="GET /api/")


LIFETIME = 52 * 7 * 24 * 3600
IMF_FIXDATE = r"[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT"


@checks.must("console.cookies.once", SESSIONS, "login.accepted")
def cookies_once(console: CheckContext) -> None:
    """GET /api/ and login set each cookie once, and no others."""
    expected = sorted([CSRF_COOKIE, SESSION_COOKIE])
    steps = {"GET /api/": console.opened, "login": console.logged_in}
    seen = {step: sorted(cookie.name for cookie in response.set_cookies) for step, response in steps.items()}
    check_no_problems(
        [f"{step} sets {', '.join(names) or 'none'}" for step, names in seen.items() if names != expected]
    )


@checks.must("console.cookies.values", SESSIONS, "login.accepted")
def cookies_values(console: CheckContext) -> None:
    """Cookie values contain only letters and digits."""
    _check_each_cookie(
        console, lambda cookie: bool(re.fullmatch("[A-Za-z0-9]+", cookie.value)), "other characters in it"
    )


@checks.must("console.cookies.scope", SESSIONS, "login.accepted")
def cookies_scope(console: CheckContext) -> None:
    """Cookies are host-only, with Path=/ and SameSite=Lax."""
    _check_each_cookie(console, lambda cookie: "domain" not in cookie.attributes, "a Domain")
    _check_each_cookie(console, lambda cookie: cookie.attributes.get("path") == "/", "a Path other than /")
    _check_each_cookie(console, lambda cookie: cookie.attributes.get("samesite") == "Lax", "no SameSite=Lax")


@checks.must("console.cookies.secure", SESSIONS, "login.accepted")
def cookies_secure(console: CheckContext) -> None:
    """Cookies are Secure if and only if the console is reached over https."""
    is_https = console.target.base.startswith("https:")
    wrong = "no Secure, although reached over https" if is_https else "Secure, although reached over http"
    _check_each_cookie(console, lambda cookie: ("secure" in cookie.attributes) == is_https, wrong)


@checks.must("console.cookies.csrftoken-lifetime", SESSIONS, "login.accepted")
def cookies_csrftoken_lifetime(console: CheckContext) -> None:
    """csrftoken has both Expires, as an IMF-fixdate, and a Max-Age of 52 weeks."""
    _check_each_cookie(console, lambda cookie: cookie.max_age == LIFETIME, "no Max-Age of 52 weeks", CSRF_COOKIE)
    fixed = re.compile(IMF_FIXDATE)
    _check_each_cookie(
        console, lambda cookie: bool(fixed.fullmatch(cookie.attributes.get("expires", ""))), "no Expires", CSRF_COOKIE
    )


@checks.must("console.cookies.csrftoken-readable", SESSIONS, "login.accepted")
def cookies_csrftoken_readable(console: CheckContext) -> None:
    """csrftoken can be read by scripts: it is not HttpOnly."""
    _check_each_cookie(console, lambda cookie: "httponly" not in cookie.attributes, "HttpOnly", CSRF_COOKIE)


def _check_each_cookie(console: CheckContext, is_good: Callable[[SetCookie], bool], wrong: str, *names: str) -> None:
    """Check every cookie set until the login, or those with these names."""
    check_no_problems(
        [
            f"{cookie.name} set by {step} has {wrong}"
            for step, response in (("GET /api/", console.opened), ("login", console.logged_in))
            for cookie in response.set_cookies
            if cookie.name in (names or (CSRF_COOKIE, SESSION_COOKIE)) and not is_good(cookie)
        ]
    )


LOGIN = "api: Login"

CSRF = "api: CSRF"
ORDER = "api: Errors"
UNKNOWN_REGION = "https://identity.invalid/v3"


@checks.must("console.login.status", "api: The three steps", "login.accepted")
def login_status(console: CheckContext) -> str:
    """A successful login returns 200, or 302 to / if so configured."""
    response = console.logged_in
    is_redirect = response.status == 302 and response.header("location") == "/"
    check(response.status == 200 or is_redirect, describe_response(response))
    return f"HTTP {response.status}"


@checks.must("console.login.new-session", SESSIONS, "login.accepted")
def login_new_session(console: CheckContext) -> None:
    """sessionid changes at login, against session fixation."""
    check(console.main.session != console.before_login.session, "sessionid is the same as before the login")


@checks.must("console.login.old-session-dead", SESSIONS, "console.login.new-session")
def login_old_session_dead(console: CheckContext) -> None:
    """A login does not authenticate the sessionid from before it."""
    check_rejected(console.before_login.copy().call("GetNews"), LoginRequired)


@checks.must("console.login.csrftoken-stays", SESSIONS, "login.accepted")
def login_csrftoken_stays(console: CheckContext) -> None:
    """csrftoken does not change at login: clients may read it once."""
    check(console.main.token == console.before_login.token, "csrftoken changed at login")


@checks.must("console.login.several-sessions", SESSIONS, "login.accepted")
def login_several_sessions(console: CheckContext) -> None:
    """An account may have several sessions: a second login does not end the first."""
    second = console.second
    check(second.session != console.main.session, "both have the same sessionid")
    check_success(second.call("GetNews"), after="a call in the second session")
    check_success(console.main.call("GetNews"), after="a call in the first session")


@checks.must("console.login.token-in-header", CSRF, "login.accepted")
def login_token_in_header(console: CheckContext) -> None:
    """Login accepts the token in X-CSRFToken if csrfmiddlewaretoken is absent."""
    client = console.new_open_client()
    response = client.login(console.target.account, {"X-CSRFToken": client.token}, csrfmiddlewaretoken=None)
    check_logged_in(response)


@checks.must("console.login.again", SESSIONS, "console.login.several-sessions")
def login_again(console: CheckContext) -> None:
    """A login in a session ends that session; a trailing slash in region does not matter."""
    region = console.target.region
    client = console.second
    before = client.copy()
    response = client.login(console.target.account, region=region[:-1] if region.endswith("/") else f"{region}/")
    check_logged_in(response)
    check(client.session != before.session, "sessionid is the same as before the login")
    check_rejected(before.call("GetNews"), LoginRequired, after="a call with the sessionid from before")


@checks.must("console.login.wrong-credentials", LOGIN, "login.accepted")
def login_wrong_credentials(console: CheckContext) -> None:
    """An unknown user is rejected with invalid_credentials, and no cookie changes."""
    _, response = console.wrong_login
    check_rejected(response, InvalidCredentials)
    check(not response.set_cookies, "it sets cookies")


@checks.must("console.login.wrong-password", LOGIN, "console.login.wrong-credentials")
def login_wrong_password(console: CheckContext) -> None:
    """A wrong password gets the same error as an unknown user."""
    # First: a wrong password of the other account uses up one of the few wrong logins.
    with suppress(CheckFailed, CheckSkipped, NoResponse):
        console.other()
    wrong = Account(console.target.account.username, console.target.account.password + "-wrong")
    response = console.anonymous.copy().login(wrong)
    check_rejected(response, InvalidCredentials)
    check(response.body == console.wrong_login[1].body, "the two errors differ")


@checks.must("console.login.csrf", CSRF, "login.accepted")
def login_csrf(console: CheckContext) -> None:
    """Login rejects a token that is missing, different from the cookie, or made up."""
    client, account = console.anonymous, console.target.account
    made_up = "0" * 64
    check_rejected(console.login_without("csrfmiddlewaretoken")[1], CsrfFailed, after="without a token")
    check_rejected(client.copy().login(account, csrfmiddlewaretoken=made_up), CsrfFailed, after="with another token")
    planted = client.copy(**{CSRF_COOKIE: made_up})
    check_rejected(planted.login(account), CsrfFailed, after="with a made-up token in cookie and field")


@checks.must("console.login.foreign-origin", CSRF, "login.accepted")
def login_foreign_origin(console: CheckContext) -> None:
    """Login rejects requests from pages of other origins."""
    for header, value in (("Origin", "https://elsewhere.invalid"), ("Sec-Fetch-Site", "cross-site")):
        response = console.anonymous.copy().login(console.target.account, {header: value})
        check_rejected(response, CsrfFailed, after=f"with {header}: {value}")


@checks.must("console.login.region", LOGIN, "login.accepted")
def login_region(console: CheckContext) -> None:
    """A missing region is missing_field; an unknown one is unknown_region, with the accepted ones in the message."""
    check_rejected(console.login_without("region")[1], MissingField, "region", after="without region")
    client = console.anonymous.copy()
    response = client.login(console.target.account, region=UNKNOWN_REGION)
    if not response.body and is_successful(client.call("GetNews")):
        raise CheckSkipped(f"any region is accepted: {UNKNOWN_REGION} logged in")
    check_rejected(response, UnknownRegion, "region", after="with an unknown region")
    missing = [region for region in welcome(console)["regions"] if region not in response.content["message"]]
    check(not missing, f"the message does not list {', '.join(missing)}")


@checks.must("console.login.form-only", LOGIN, "login.accepted")
def login_form_only(console: CheckContext) -> None:
    """Login accepts only form data and only POST."""
    client, account = console.anonymous, console.target.account
    fields = {"csrfmiddlewaretoken": client.token, "region": console.target.region, **account._asdict()}
    response = client.copy().send("POST", "/auth/login/", {"Content-Type": JSON}, json.dumps(fields).encode())
    check_rejected(response, UnsupportedMediaType, after="as JSON")
    by_get = client.copy().send("GET", "/auth/login/")
    check_rejected(by_get, MethodNotAllowed, after="by GET")
    check_equal(allowed_methods(by_get), {"POST", "OPTIONS"}, "Allow")


@checks.must("console.login.order", ORDER, "login.accepted")
def login_order(console: CheckContext) -> None:
    """Login checks the media type before the token, and the token before the fields."""
    client, account = console.anonymous, console.target.account
    untyped = client.copy().login(account, {"Content-Type": "text/plain"}, csrfmiddlewaretoken=None)
    check_rejected(untyped, UnsupportedMediaType, after="with a wrong type and no token")
    tokenless = client.copy().login(account, csrfmiddlewaretoken=None, region=None)
    check_rejected(tokenless, CsrfFailed, after="without a token and without region")
