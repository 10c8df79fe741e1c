"""Checks beyond the interface: CSRF protection of calls."""

from cloudconsole.conformance.checks import CheckGroup
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.extended.assertions import check_rejected, check_success
from cloudconsole.spec.errors import CsrfFailed
from cloudconsole.spec.set_cookie import CSRF_COOKIE

checks = CheckGroup("console")

CSRF = "api: CSRF"
MADE_UP = "0" * 64


@checks.must("console.csrf.missing", CSRF, "csrf.header-required", "answers.GetNews")
def csrf_missing(console: CheckContext) -> None:
    """A call without the header, or without the cookie, is csrf_failed."""
    main = console.main
    check_rejected(main.call("GetNews", headers={"X-CSRFToken": None}), CsrfFailed, after="without the header")
    without_cookie = main.copy()
    without_cookie.jar.pop(CSRF_COOKIE, None)
    response = without_cookie.call("GetNews", headers={"X-CSRFToken": main.token})
    check_rejected(response, CsrfFailed, after="without the cookie")


@checks.must("console.csrf.unequal", CSRF, "csrf.header-compared", "answers.GetNews")
def csrf_unequal(console: CheckContext) -> None:
    """A call whose header differs from the cookie is csrf_failed, even if the console issued the token."""
    for header in (MADE_UP, console.anonymous.token):
        check_rejected(console.main.call("GetNews", headers={"X-CSRFToken": header}), CsrfFailed)


@checks.must("console.csrf.made-up", CSRF, "answers.GetNews")
def csrf_made_up(console: CheckContext) -> None:
    """A call with a made-up token in both cookie and header is csrf_failed."""
    check_rejected(console.main.copy(**{CSRF_COOKIE: MADE_UP}).call("GetNews"), CsrfFailed)


@checks.must("console.csrf.another-sessions", CSRF, "console.login.several-sessions")
def csrf_another_sessions(console: CheckContext) -> None:
    """A call with another session's token in both cookie and header is csrf_failed."""
    check_rejected(console.main.copy(**{CSRF_COOKIE: console.second.token}).call("GetNews"), CsrfFailed)


@checks.must("console.csrf.foreign-page", CSRF, "answers.GetNews")
def csrf_foreign_page(console: CheckContext) -> None:
    """A call with a foreign Origin, or from a cross-site or same-site page, is csrf_failed."""
    foreign = [
        ("Origin", "https://elsewhere.invalid"),
        ("Origin", "null"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
    ]
    for name, value in foreign:
        check_rejected(console.main.call("GetNews", headers={name: value}), CsrfFailed, after=f"with {name}: {value}")


@checks.must("console.csrf.own-page", CSRF, "answers.GetNews", causes=("calls.own-origin",))
def csrf_own_page(console: CheckContext) -> None:
    """A call from the console's own page is accepted; Referer is ignored."""
    headers = {
        "Origin": console.target.origin,
        "Sec-Fetch-Site": "same-origin",
        "Referer": "https://elsewhere.invalid/",
    }
    check_success(console.main.call("GetNews", headers=headers))
