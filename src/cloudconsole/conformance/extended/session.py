"""Checks beyond the interface: GET /api/, cookies, sessions and logout."""

import re
from collections.abc import Callable

from cloudconsole.conformance.assertions import check, check_equal, check_no_problems
from cloudconsole.conformance.checks import CheckGroup
from cloudconsole.conformance.client import ACTION_NAMES
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.extended.assertions import (
    check_empty,
    check_logged_in,
    check_rejected,
    check_success,
    console_data,
)
from cloudconsole.conformance.field_types import INTEGER, TEXT, TEXTS, FieldType, pattern_errors, schema_errors
from cloudconsole.conformance.redaction import json_line
from cloudconsole.spec.errors import CsrfFailed, LoginRequired
from cloudconsole.spec.set_cookie import CSRF_COOKIE, SESSION_COOKIE, SetCookie

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
    "units": FieldType(f"{json_line(UNITS)}", lambda value: value == UNITS),
    "extensions": TEXTS,
}


@checks.must("console.welcome.data", OPENING, "session.opens")
def console_data_fields(console: CheckContext) -> None:
    """GET /api/ returns actions, regions, currency, time zone, days of a month, units, extensions, and nothing else."""
    data = console_data(console)
    check_no_problems(schema_errors(data, OPENING_PAYLOAD, "data"))
    check_equal(sorted(data), sorted(OPENING_PAYLOAD), "the set of fields")
    missing = [action for action in ACTION_NAMES if action not in data["actions"]]
    check(not missing, f"actions lacks {', '.join(missing)}")
    check_no_problems(pattern_errors([("currency", data["currency"])], "[A-Z]{3}", "an ISO 4217 code"))


@checks.must("console.welcome.head", "api: HTTP", "session.opens")
def opening_head(console: CheckContext) -> None:
    """HEAD works where GET does, with the same headers and no body."""
    response = console.new_client().send("HEAD", "/api/")
    check_equal(response.status, 200, "the status of HEAD /api/")
    check(not response.body, "HEAD /api/ has a body")
    missing = {name for name, _ in console.opened.headers} - {name for name, _ in response.headers}
    check(not missing, f"headers that only GET has: {', '.join(sorted(missing))}")


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


@checks.must("console.cookies.scope", SESSIONS, "login.accepted", causes=("session.one-jar",))
def cookies_scope(console: CheckContext) -> None:
    """Cookies are host-only, with Path=/ and SameSite=Lax."""
    _check_each_cookie(console, lambda cookie: "domain" not in cookie.attributes, "a Domain")
    _check_each_cookie(console, lambda cookie: cookie.attributes.get("path") == "/", "a Path other than /")
    _check_each_cookie(console, lambda cookie: cookie.attributes.get("samesite") == "Lax", "no SameSite=Lax")


@checks.must("console.cookies.secure", SESSIONS, "login.accepted", "session.one-jar")
def cookies_secure(console: CheckContext) -> None:
    """Cookies are Secure if and only if the console is reached over https."""
    is_https = console.target.base.startswith("https:")
    wrong = "no Secure, although reached over https" if is_https else "Secure, although reached over http"
    _check_each_cookie(console, lambda cookie: ("secure" in cookie.attributes) == is_https, wrong)


@checks.must("console.cookies.csrftoken-lifetime", SESSIONS, "login.accepted", causes=("session.csrftoken-expiry",))
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


@checks.must("console.welcome.keeps-cookies", SESSIONS, "console.cookies.values")
def opening_keeps_cookies(console: CheckContext) -> None:
    """GET /api/ reuses a well-formed anonymous sessionid and an issued csrftoken, and sets both again."""
    again = console.before_login.copy()
    response = again.open()
    for name in (CSRF_COOKIE, SESSION_COOKIE):
        cookie = response.cookie(name)
        check(cookie, f"{name} is not set again")
        check(cookie and cookie.value == console.before_login.jar[name], f"{name} changed")


@checks.must("console.welcome.replaces-made-up", SESSIONS, "console.welcome.keeps-cookies")
def opening_replaces_made_up_cookies(console: CheckContext) -> None:
    """GET /api/ replaces cookies that the console did not issue, independently of each other."""
    made_up = {CSRF_COOKIE: "0" * 64, SESSION_COOKIE: "madeup0123456789"}
    for name, value in made_up.items():
        client = console.before_login.copy(**{name: value})
        client.open()
        check(client.jar.get(name) not in (None, value), f"a made-up {name} is not replaced")
        other = CSRF_COOKIE if name == SESSION_COOKIE else SESSION_COOKIE
        check(client.jar.get(other) == console.before_login.jar[other], f"{other} is replaced along with {name}")


@checks.must("console.welcome.keeps-session", OPENING, "console.login.csrftoken-stays", "answers.GetNews")
def opening_keeps_session(console: CheckContext) -> None:
    """GET /api/ in a session preserves it and restores a lost csrftoken."""
    client = console.main.copy()
    client.jar.pop(CSRF_COOKIE, None)
    client.open()
    check(client.session == console.main.session, "sessionid changed")
    check(client.token == console.main.token, "the lost csrftoken is not restored")
    check_success(client.call("GetNews"), after="a call after it")


MADE_UP = "0" * 64
STALE = f"{SESSION_COOKIE}=stale; {CSRF_COOKIE}={MADE_UP}"


@checks.must("console.session.required", SESSIONS, "session.cookies-required", "answers.GetNews")
def session_required(console: CheckContext) -> None:
    """A call without cookies, with an anonymous session or with a made-up one is login_required."""
    token = {"X-CSRFToken": console.main.token}
    check_rejected(console.new_client().call("GetNews", headers=token), LoginRequired, after="without cookies")
    check_rejected(console.anonymous.call("GetNews"), LoginRequired, after="with an anonymous session")
    made_up = console.main.copy(**{SESSION_COOKIE: f"s{'0' * 48}"})
    check_rejected(made_up.call("GetNews"), LoginRequired, after="with a made-up session")


@checks.must("console.session.odd-cookies", SESSIONS, "answers.GetNews")
def session_odd_cookies(console: CheckContext) -> None:
    """Unknown and malformed cookies beside those of the session do no harm."""
    _check_cookies(console, f"a[b]=1; $Version=1; =; {_own_cookies(console)}; x")


@checks.must("console.session.quoted-cookie", SESSIONS, "answers.GetNews")
def session_quoted_cookie(console: CheckContext) -> None:
    """A session ID in double quotes, as some clients send it, is the same without them."""
    _check_cookies(console, f'{SESSION_COOKIE}="{console.main.session}"; {CSRF_COOKIE}={console.main.token}')


@checks.must("console.session.valid-cookie-first", SESSIONS, "answers.GetNews")
def session_valid_cookie_first(console: CheckContext) -> None:
    """Of several equal-named cookies the valid one counts if it is the first: not only the last is read."""
    _check_cookies(console, f"{_own_cookies(console)}; {STALE}")


@checks.must("console.session.valid-cookie-last", SESSIONS, "answers.GetNews")
def session_valid_cookie_last(console: CheckContext) -> None:
    """Of several equal-named cookies the valid one counts if it is the last: not only the first is read."""
    _check_cookies(console, f"{STALE}; {_own_cookies(console)}")


def _own_cookies(console: CheckContext) -> str:
    return f"{SESSION_COOKIE}={console.main.session}; {CSRF_COOKIE}={console.main.token}"


def _check_cookies(console: CheckContext, cookies: str) -> None:
    check_success(console.main.copy().call("GetNews", headers={"Cookie": cookies}))


@checks.must("console.logout.refusals", "api: Errors", "console.login.several-sessions")
def logout_errors(console: CheckContext) -> None:
    """A logout without a session is login_required, one without the token csrf_failed."""
    check_rejected(console.anonymous.logout({"X-CSRFToken": None}), LoginRequired, after="without a session")
    check_rejected(console.second.logout({"X-CSRFToken": None}), CsrfFailed, after="without the token")


@checks.must(
    "console.logout.ends", SESSIONS, "console.login.again", "console.csrf.another-sessions", "console.logout.refusals"
)
def logout_ends(console: CheckContext) -> None:
    """A logout returns 200 without a body, deletes sessionid, preserves csrftoken, and ends only this session."""
    client = console.second
    before = client.copy()
    check_empty(client.logout(), after="logout")
    check(SESSION_COOKIE not in client.jar, "sessionid is not deleted")
    check(client.token == before.token, "csrftoken is not preserved")
    check_rejected(before.call("GetNews"), LoginRequired, after="a call with the ended session")
    check_success(console.main.call("GetNews"), after="a call in another session")


@checks.must("console.logout.token-still-good", SESSIONS, "console.logout.ends")
def logout_token_still_good(console: CheckContext) -> None:
    """After a logout the same csrftoken is valid for the next login."""
    client = console.second
    token = client.token
    response = client.login(console.target.account)
    check_logged_in(response)
    check(client.token == token, "csrftoken changed at login")
    check_success(client.call("GetNews"), after="a call after it")
