"""The attributes of both cookies, to the last one."""

import re
from collections.abc import Callable

from cloudconsole.conformance.checks import Group, hold_all
from cloudconsole.conformance.cookies import SetCookie
from cloudconsole.conformance.examination import Examination
from cloudconsole.spec.constants import CSRF_COOKIE, SESSION_COOKIE

checks = Group("console")

SECTION = "api: Sessions and cookies"
LIFETIME = 52 * 7 * 24 * 3600
IMF_FIXDATE = r"[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT"


@checks.must("console.cookies.once", SECTION, "login.accepted")
def _(console: Examination) -> None:
    """GET /api/ and login set each cookie once, and no other."""
    wanted = sorted([CSRF_COOKIE, SESSION_COOKIE])
    steps = {"GET /api/": console.opened, "login": console.logged_in}
    seen = {step: sorted(cookie.name for cookie in answer.set_cookies) for step, answer in steps.items()}
    hold_all([f"{step} sets {', '.join(names) or 'none'}" for step, names in seen.items() if names != wanted])


@checks.must("console.cookies.values", SECTION, "login.accepted")
def _(console: Examination) -> None:
    """Cookie values are letters and digits only."""
    _hold_of_each(console, lambda cookie: bool(re.fullmatch("[A-Za-z0-9]+", cookie.value)), "other characters in it")


@checks.must("console.cookies.scope", SECTION, "login.accepted")
def _(console: Examination) -> None:
    """Cookies are host-only, for Path=/ and SameSite=Lax."""
    _hold_of_each(console, lambda cookie: "domain" not in cookie.attributes, "a Domain")
    _hold_of_each(console, lambda cookie: cookie.attributes.get("path") == "/", "another Path than /")
    _hold_of_each(console, lambda cookie: cookie.attributes.get("samesite") == "Lax", "no SameSite=Lax")


@checks.must("console.cookies.secure", SECTION, "login.accepted")
def _(console: Examination) -> None:
    """Cookies are Secure exactly when the console is reached by https."""
    by_https = console.subject.base.startswith("https:")
    wrong = "no Secure, though reached by https" if by_https else "Secure, though reached by http"
    _hold_of_each(console, lambda cookie: ("secure" in cookie.attributes) == by_https, wrong)


@checks.must("console.cookies.csrftoken-lifetime", SECTION, "login.accepted")
def _(console: Examination) -> None:
    """csrftoken has both Expires, as an IMF-fixdate, and a Max-Age of 52 weeks."""
    _hold_of_each(console, lambda cookie: cookie.max_age == LIFETIME, "no Max-Age of 52 weeks", CSRF_COOKIE)
    fixed = re.compile(IMF_FIXDATE)
    _hold_of_each(
        console, lambda cookie: bool(fixed.fullmatch(cookie.attributes.get("expires", ""))), "no Expires", CSRF_COOKIE
    )


@checks.must("console.cookies.csrftoken-readable", SECTION, "login.accepted")
def _(console: Examination) -> None:
    """csrftoken can be read by scripts: it is not HttpOnly."""
    _hold_of_each(console, lambda cookie: "httponly" not in cookie.attributes, "HttpOnly", CSRF_COOKIE)


def _hold_of_each(console: Examination, is_good: Callable[[SetCookie], bool], wrong: str, *names: str) -> None:
    """Of every cookie that was set on the way to a login, or of those of these names."""
    hold_all(
        [
            f"{cookie.name} set by {step} has {wrong}"
            for step, answer in (("GET /api/", console.opened), ("login", console.logged_in))
            for cookie in answer.set_cookies
            if cookie.name in (names or (CSRF_COOKIE, SESSION_COOKIE)) and not is_good(cookie)
        ]
    )
