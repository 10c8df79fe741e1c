"""Logging in, and being refused."""

import json
from contextlib import suppress

from cloudconsole.conformance.checks import Failed, Group, Skipped, hold, hold_equal
from cloudconsole.conformance.console.expecting import allowed_by, hold_logged_in, hold_refused, hold_success
from cloudconsole.conformance.console.welcome import welcome
from cloudconsole.conformance.examination import Examination
from cloudconsole.conformance.reading import succeeded, told
from cloudconsole.conformance.sending import NoAnswer
from cloudconsole.conformance.visitor import Account
from cloudconsole.spec.constants import CSRF_COOKIE, JSON
from cloudconsole.spec.errors import (
    CsrfFailed,
    InvalidCredentials,
    LoginRequired,
    MethodNotAllowed,
    MissingField,
    UnknownRegion,
    UnsupportedMediaType,
)

checks = Group("console")

SECTION, SESSIONS, CSRF, ORDER = "api: Login", "api: Sessions and cookies", "api: CSRF", "api: Errors"
NOWHERE = "https://identity.invalid/v3"


@checks.must("console.login.status", "api: The three steps", "login.accepted")
def _(console: Examination) -> str:
    """A successful login is 200, or 302 to / where the operator wants that."""
    answer = console.logged_in
    is_redirect = answer.status == 302 and answer.header("location") == "/"
    hold(answer.status == 200 or is_redirect, told(answer))
    return f"HTTP {answer.status}"


@checks.must("console.login.new-session", SESSIONS, "login.accepted")
def _(console: Examination) -> None:
    """sessionid changes at login, so that nobody can plant one (session fixation)."""
    hold(console.main.session != console.before_login.session, "sessionid is the same as before the login")


@checks.must("console.login.old-session-dead", SESSIONS, "console.login.new-session")
def _(console: Examination) -> None:
    """The sessionid from before a login is not logged in by it."""
    hold_refused(console.before_login.twin().call("GetNews"), LoginRequired)


@checks.must("console.login.csrftoken-stays", SESSIONS, "login.accepted")
def _(console: Examination) -> None:
    """csrftoken is the same after login: clients may read it once."""
    hold(console.main.token == console.before_login.token, "csrftoken got another value at login")


@checks.must("console.login.several-sessions", SESSIONS, "login.accepted")
def _(console: Examination) -> None:
    """An account may have several sessions: a second login ends no other."""
    second = console.second
    hold(second.session != console.main.session, "both have the same sessionid")
    hold_success(second.call("GetNews"), after="a call in the second session")
    hold_success(console.main.call("GetNews"), after="a call in the first session")


@checks.must("console.login.token-in-header", CSRF, "login.accepted")
def _(console: Examination) -> None:
    """Login takes the token from X-CSRFToken where csrfmiddlewaretoken is absent."""
    visitor = console.opened_by_newcomer()
    answer = visitor.login(console.subject.account, {"X-CSRFToken": visitor.token}, csrfmiddlewaretoken=None)
    hold_logged_in(answer)


@checks.must("console.login.again", SESSIONS, "console.login.several-sessions")
def _(console: Examination) -> None:
    """A login in a session ends that session; region may have a slash more or less at its end."""
    region = console.subject.region
    visitor = console.second
    before = visitor.twin()
    answer = visitor.login(console.subject.account, region=region[:-1] if region.endswith("/") else f"{region}/")
    hold_logged_in(answer)
    hold(visitor.session != before.session, "sessionid is the same as before the login")
    hold_refused(before.call("GetNews"), LoginRequired, after="a call with the sessionid from before")


@checks.must("console.login.wrong-credentials", SECTION, "login.accepted")
def _(console: Examination) -> None:
    """An unknown user is refused with invalid_credentials, and no cookie changes."""
    _, answer = console.wrong_login
    hold_refused(answer, InvalidCredentials)
    hold(not answer.set_cookies, "it sets cookies")


@checks.must("console.login.wrong-password", SECTION, "console.login.wrong-credentials")
def _(console: Examination) -> None:
    """A wrong password is refused in the same words as an unknown user."""
    # If the other account's password is wrong, that is one of the few wrong logins there may be.
    with suppress(Failed, Skipped, NoAnswer):
        console.other()
    wrong = Account(console.subject.account.username, console.subject.account.password + "-wrong")
    answer = console.stranger.twin().login(wrong)
    hold_refused(answer, InvalidCredentials)
    hold(answer.body == console.wrong_login[1].body, "the two refusals differ")


@checks.must("console.login.csrf", CSRF, "login.accepted")
def _(console: Examination) -> None:
    """Login refuses a token that is missing, unequal to the cookie, or made up."""
    visitor, account = console.stranger, console.subject.account
    made_up = "0" * 64
    hold_refused(console.login_without("csrfmiddlewaretoken")[1], CsrfFailed, after="without a token")
    hold_refused(visitor.twin().login(account, csrfmiddlewaretoken=made_up), CsrfFailed, after="with another token")
    planted = visitor.twin(**{CSRF_COOKIE: made_up})
    hold_refused(planted.login(account), CsrfFailed, after="with a made-up token in cookie and field")


@checks.must("console.login.foreign-origin", CSRF, "login.accepted")
def _(console: Examination) -> None:
    """Login refuses what a foreign page makes a browser send."""
    for header, value in (("Origin", "https://elsewhere.invalid"), ("Sec-Fetch-Site", "cross-site")):
        answer = console.stranger.twin().login(console.subject.account, {header: value})
        hold_refused(answer, CsrfFailed, after=f"with {header}: {value}")


@checks.must("console.login.region", SECTION, "login.accepted")
def _(console: Examination) -> None:
    """A missing region is missing_field; an unknown one is unknown_region, with the accepted ones in the message."""
    hold_refused(console.login_without("region")[1], MissingField, "region", after="without region")
    visitor = console.stranger.twin()
    answer = visitor.login(console.subject.account, region=NOWHERE)
    if not answer.body and succeeded(visitor.call("GetNews")):
        raise Skipped(f"any region is good: {NOWHERE} logged in")
    hold_refused(answer, UnknownRegion, "region", after="with an unknown region")
    missing = [region for region in welcome(console)["regions"] if region not in answer.content["message"]]
    hold(not missing, f"the message does not name {', '.join(missing)}")


@checks.must("console.login.form-only", SECTION, "login.accepted")
def _(console: Examination) -> None:
    """Login takes form data only, and by POST only."""
    visitor, account = console.stranger, console.subject.account
    fields = {"csrfmiddlewaretoken": visitor.token, "region": console.subject.region, **account._asdict()}
    answer = visitor.twin().send("POST", "/auth/login/", {"Content-Type": JSON}, json.dumps(fields).encode())
    hold_refused(answer, UnsupportedMediaType, after="as JSON")
    looked = visitor.twin().send("GET", "/auth/login/")
    hold_refused(looked, MethodNotAllowed, after="by GET")
    hold_equal(allowed_by(looked), {"POST", "OPTIONS"}, "Allow")


@checks.must("console.login.order", ORDER, "login.accepted")
def _(console: Examination) -> None:
    """Of a login the media type is checked before the token, and that before the fields."""
    visitor, account = console.stranger, console.subject.account
    untyped = visitor.twin().login(account, {"Content-Type": "text/plain"}, csrfmiddlewaretoken=None)
    hold_refused(untyped, UnsupportedMediaType, after="with a wrong type and no token")
    tokenless = visitor.twin().login(account, csrfmiddlewaretoken=None, region=None)
    hold_refused(tokenless, CsrfFailed, after="without a token and without region")
