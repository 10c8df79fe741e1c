"""Sessions and CSRF in calls, and logging out."""

from cloudconsole.conformance.checks import Group, hold
from cloudconsole.conformance.console.expecting import hold_empty, hold_logged_in, hold_refused, hold_success
from cloudconsole.conformance.examination import Examination
from cloudconsole.spec.constants import CSRF_COOKIE, SESSION_COOKIE
from cloudconsole.spec.errors import CsrfFailed, LoginRequired

checks = Group("console")

CSRF, SESSIONS = "api: CSRF", "api: Sessions and cookies"
MADE_UP = "0" * 64


@checks.must("console.csrf.missing", CSRF, "login.accepted")
def _(console: Examination) -> None:
    """A call without the header, or without the cookie, is csrf_failed."""
    main = console.main
    hold_refused(main.call("GetNews", headers={"X-CSRFToken": None}), CsrfFailed, after="without the header")
    bare = main.twin()
    bare.jar.pop(CSRF_COOKIE, None)
    answer = bare.call("GetNews", headers={"X-CSRFToken": main.token})
    hold_refused(answer, CsrfFailed, after="without the cookie")


@checks.must("console.csrf.unequal", CSRF, "login.accepted")
def _(console: Examination) -> None:
    """A call with another header than the cookie is csrf_failed, even if the console issued it."""
    for header in (MADE_UP, console.stranger.token):
        hold_refused(console.main.call("GetNews", headers={"X-CSRFToken": header}), CsrfFailed)


@checks.must("console.csrf.made-up", CSRF, "login.accepted")
def _(console: Examination) -> None:
    """A call with a made-up token in both cookie and header is csrf_failed."""
    hold_refused(console.main.twin(**{CSRF_COOKIE: MADE_UP}).call("GetNews"), CsrfFailed)


@checks.must("console.csrf.another-sessions", CSRF, "console.login.several-sessions")
def _(console: Examination) -> None:
    """A call with another session's token in both cookie and header is csrf_failed."""
    hold_refused(console.main.twin(**{CSRF_COOKIE: console.second.token}).call("GetNews"), CsrfFailed)


@checks.must("console.csrf.foreign-page", CSRF, "login.accepted")
def _(console: Examination) -> None:
    """A call with a foreign Origin, or from a cross-site or same-site page, is csrf_failed."""
    foreign = [
        ("Origin", "https://elsewhere.invalid"),
        ("Origin", "null"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
    ]
    for name, value in foreign:
        hold_refused(console.main.call("GetNews", headers={name: value}), CsrfFailed, after=f"with {name}: {value}")


@checks.must("console.csrf.own-page", CSRF, "login.accepted")
def _(console: Examination) -> None:
    """A call from a page of the console's own is taken; Referer is not read."""
    headers = {
        "Origin": console.subject.origin,
        "Sec-Fetch-Site": "same-origin",
        "Referer": "https://elsewhere.invalid/",
    }
    hold_success(console.main.call("GetNews", headers=headers))


@checks.must("console.session.required", SESSIONS, "login.accepted")
def _(console: Examination) -> None:
    """A call without cookies, with an anonymous session or with a made-up one is login_required."""
    token = {"X-CSRFToken": console.main.token}
    hold_refused(console.newcomer().call("GetNews", headers=token), LoginRequired, after="without cookies")
    hold_refused(console.stranger.call("GetNews"), LoginRequired, after="with an anonymous session")
    made_up = console.main.twin(**{SESSION_COOKIE: f"s{'0' * 48}"})
    hold_refused(made_up.call("GetNews"), LoginRequired, after="with a made-up session")


@checks.must("console.session.odd-cookies", SESSIONS, "login.accepted")
def _(console: Examination) -> None:
    """Stale, quoted, repeated and foreign cookies are harmless."""
    main = console.main
    own = f'{SESSION_COOKIE}="{main.session}"; {CSRF_COOKIE}={main.token}'
    odd = f"a[b]=1; $Version=1; =; {SESSION_COOKIE}=stale; {CSRF_COOKIE}={MADE_UP}; {own}; x"
    hold_success(main.twin().call("GetNews", headers={"Cookie": odd}))


@checks.must("console.logout.refusals", "api: Errors", "console.login.several-sessions")
def _(console: Examination) -> None:
    """A logout without a session is login_required, one without the token csrf_failed."""
    hold_refused(console.stranger.logout({"X-CSRFToken": None}), LoginRequired, after="without a session")
    hold_refused(console.second.logout({"X-CSRFToken": None}), CsrfFailed, after="without the token")


@checks.must("console.logout.ends", SESSIONS, "console.login.again", "console.csrf.another-sessions")
def _(console: Examination) -> None:
    """A logout answers 200 without a body, takes sessionid away, keeps csrftoken, and ends this session alone."""
    visitor = console.second
    before = visitor.twin()
    hold_empty(visitor.logout(), after="logout")
    hold(SESSION_COOKIE not in visitor.jar, "sessionid is not taken away")
    hold(visitor.token == before.token, "csrftoken is not kept")
    hold_refused(before.call("GetNews"), LoginRequired, after="a call with the ended session")
    hold_success(console.main.call("GetNews"), after="a call in another session")


@checks.must("console.logout.token-still-good", SESSIONS, "console.logout.ends")
def _(console: Examination) -> None:
    """After a logout the same csrftoken may log in again."""
    visitor = console.second
    token = visitor.token
    answer = visitor.login(console.subject.account)
    hold_logged_in(answer)
    hold(visitor.token == token, "csrftoken got another value at login")
    hold_success(visitor.call("GetNews"), after="a call after it")
