"""Checks beyond the interface: login."""

import json

from cloudconsole.conformance.assertions import CausedBy, CheckSkipped, check
from cloudconsole.conformance.checks import CheckGroup
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.extended.assertions import (
    check_logged_in,
    check_rejected,
    check_success,
    console_data,
)
from cloudconsole.conformance.extended.listener import Listener, is_loopback
from cloudconsole.conformance.responses import describe_response, is_success_unless_busy
from cloudconsole.spec.errors import (
    CsrfFailed,
    InvalidCredentials,
    LoginRequired,
    MissingField,
    UnknownRegion,
    UnsupportedMediaType,
)
from cloudconsole.spec.operations import JSON
from cloudconsole.spec.set_cookie import CSRF_COOKIE, SESSION_COOKIE

checks = CheckGroup("console")

LOGIN = "api: Login"
SESSIONS = "api: Sessions and cookies"
CSRF = "api: CSRF"
ORDER = "api: Errors"
UNKNOWN_REGION = "https://identity.invalid/v3"


@checks.must("console.login.status", "api: The three steps", "login.accepted", causes=("login.status",))
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


@checks.must(
    "console.login.old-session-dead",
    SESSIONS,
    "console.login.new-session",
    "answers.GetNews",
    causes=("login.required",),
)
def login_old_session_dead(console: CheckContext) -> None:
    """A login does not authenticate the sessionid from before it."""
    check_rejected(console.before_login.copy().call("GetNews"), LoginRequired)


@checks.must("console.login.csrftoken-stays", SESSIONS, "login.accepted")
def login_csrftoken_stays(console: CheckContext) -> None:
    """csrftoken does not change at login: clients may read it once."""
    check(console.main.token == console.before_login.token, "csrftoken changed at login")


@checks.must("console.login.several-sessions", SESSIONS, "answers.GetNews")
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


@checks.must(
    "console.login.again",
    SESSIONS,
    "console.login.several-sessions",
    "console.login.new-session",
    "console.login.csrftoken-stays",
)
def login_again(console: CheckContext) -> None:
    """A login in a session ends that session; a trailing slash in region does not matter."""
    region = console.target.region
    client = console.second
    before = client.copy()
    response = client.login(console.target.account, region=region[:-1] if region.endswith("/") else f"{region}/")
    check_logged_in(response)
    check(client.session != before.session, "sessionid is the same as before the login")
    check_rejected(before.call("GetNews"), LoginRequired, after="a call with the sessionid from before")


@checks.must("console.login.wrong-credentials", LOGIN, "login.accepted", causes=("login.wrong-credentials",))
def login_wrong_credentials(console: CheckContext) -> None:
    """An unknown user is rejected with invalid_credentials, and no cookie changes."""
    _, response = console.wrong_login
    check_rejected(response, InvalidCredentials)
    check(not response.set_cookies, "it sets cookies")


@checks.must("console.login.wrong-password", LOGIN, "console.login.wrong-credentials", "console.login.several-sessions")
def login_wrong_password(console: CheckContext) -> None:
    """A wrong password gets the same error as an unknown user."""
    _, response = console.wrong_password
    check_rejected(response, InvalidCredentials)
    check(response.body == console.wrong_login[1].body, "the two errors differ")


@checks.must(
    "console.login.failure-keeps-session",
    SESSIONS,
    "console.login.several-sessions",
    causes=("login.wrong-credentials",),
)
def login_failure_keeps_session(console: CheckContext) -> None:
    """A failed login does not end the session that the client had."""
    client, response = console.wrong_password
    check(response.status >= 400, f"the login did not fail: {describe_response(response)}")
    check_success(client.call("GetNews"), after="a call in the session")


@checks.must("console.login.csrf", CSRF, "login.token-required")
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


@checks.must("console.login.region", LOGIN, "login.region-required")
def login_region(console: CheckContext) -> None:
    """A missing region is missing_field; an unknown one is unknown_region, with the accepted ones in the message."""
    check_rejected(console.login_without("region")[1], MissingField, "region", after="without region")
    client = console.anonymous.copy()
    response = client.login(console.target.account, region=UNKNOWN_REGION)
    if not response.body and is_success_unless_busy(client.call("GetNews")):
        raise CheckSkipped(f"any region is accepted: {UNKNOWN_REGION} logged in")
    check_rejected(response, UnknownRegion, "region", after="with an unknown region")
    regions = console_data(console).get("regions")
    if not isinstance(regions, list):
        raise CausedBy("console.welcome.data", "regions is not an array")
    missing = [region for region in regions if region not in response.content["message"]]
    check(not missing, f"the message does not list {', '.join(missing)}")


@checks.must("console.login.form-only", LOGIN, "login.accepted")
def login_form_only(console: CheckContext) -> None:
    """Login accepts only form data."""
    client, account = console.anonymous, console.target.account
    fields = {"csrfmiddlewaretoken": client.token, "region": console.target.region, **account._asdict()}
    response = client.copy().send("POST", "/auth/login/", {"Content-Type": JSON}, json.dumps(fields).encode())
    check_rejected(response, UnsupportedMediaType)


@checks.must("console.login.repeated-cookies", SESSIONS, "login.accepted")
def login_repeated_cookies(console: CheckContext) -> None:
    """A login succeeds if one of several csrftoken cookies is valid and equals the field."""
    client = console.new_open_client()
    values = ("0" * 64, client.token, "1" * 64)
    cookies = "; ".join(f"{CSRF_COOKIE}={value}" for value in values)
    cookie = f"{cookies}; {SESSION_COOKIE}={client.session}"
    check_logged_in(client.login(console.target.account, {"Cookie": cookie}))


@checks.must("console.login.region-not-dialled", LOGIN, "login.accepted")
def login_region_not_dialled(console: CheckContext) -> None:
    """The console does not connect to an address sent as region; examined if the console is on loopback."""
    if not is_loopback(console.target.base):
        raise CheckSkipped("the console is not on loopback")
    with Listener() as listener:
        console.new_open_client().login(console.target.account, region=f"{listener.url}/v3")
        accepted = listener.accepted()
    check(not accepted, f"it opened {accepted} connections to the address")


@checks.must("console.login.order", ORDER, "login.token-required")
def login_order(console: CheckContext) -> None:
    """Login checks the media type before the token, and the token before the fields."""
    client, account = console.anonymous, console.target.account
    untyped = client.copy().login(account, {"Content-Type": "text/plain"}, csrfmiddlewaretoken=None)
    check_rejected(untyped, UnsupportedMediaType, after="with a wrong type and no token")
    tokenless = client.copy().login(account, csrfmiddlewaretoken=None, region=None)
    check_rejected(tokenless, CsrfFailed, after="without a token and without region")
