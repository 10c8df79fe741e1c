"""What `GET /api/` says, and how it treats the cookies that come along."""

from typing import Any

from cloudconsole.conformance.checks import Group, hold, hold_all, hold_equal
from cloudconsole.conformance.console.expecting import hold_success
from cloudconsole.conformance.examination import Examination
from cloudconsole.conformance.shapes import INTEGER, TEXT, TEXTS, Kind, misfits, unlike
from cloudconsole.conformance.showing import shown
from cloudconsole.conformance.subject import ACTION_NAMES
from cloudconsole.spec.constants import CSRF_COOKIE, SESSION_COOKIE

checks = Group("console")

SECTION = "api: `GET /api/`"
COOKIES = "api: Sessions and cookies"
UNITS = {"ram": "MB", "disk": "GB", "volume": "GB", "personality": "B"}
WELCOME = {
    "actions": TEXTS,
    "regions": TEXTS,
    "currency": TEXT,
    "timeZone": TEXT,
    "monthDays": INTEGER,
    "units": Kind(f"{shown(UNITS)}", lambda value: value == UNITS),
}


@checks.must("console.welcome.data", SECTION, "session.opens")
def _(console: Examination) -> None:
    """GET /api/ names the actions, regions, currency, time zone, days of a month and units, and nothing else."""
    data = welcome(console)
    hold_all(misfits(data, WELCOME, "data"))
    hold_equal(sorted(data), sorted(WELCOME), "the set of fields")
    missing = [action for action in ACTION_NAMES if action not in data["actions"]]
    hold(not missing, f"actions lacks {', '.join(missing)}")
    hold_all(unlike([("currency", data["currency"])], "[A-Z]{3}", "an ISO 4217 code"))


@checks.must("console.welcome.keeps-cookies", COOKIES, "session.opens")
def _(console: Examination) -> None:
    """GET /api/ keeps a well-formed anonymous sessionid and an issued csrftoken, and sets both again."""
    again = console.before_login.twin()
    answer = again.open()
    for name in (CSRF_COOKIE, SESSION_COOKIE):
        cookie = answer.cookie(name)
        hold(cookie, f"{name} is not set again")
        hold(cookie and cookie.value == console.before_login.jar[name], f"{name} got another value")


@checks.must("console.welcome.replaces-made-up", COOKIES, "session.opens")
def _(console: Examination) -> None:
    """GET /api/ replaces cookies that the console did not issue, each on its own."""
    made_up = {CSRF_COOKIE: "0" * 64, SESSION_COOKIE: "madeup0123456789"}
    for name, value in made_up.items():
        visitor = console.before_login.twin(**{name: value})
        visitor.open()
        hold(visitor.jar.get(name) not in (None, value), f"a made-up {name} is kept")
        other = CSRF_COOKIE if name == SESSION_COOKIE else SESSION_COOKIE
        hold(visitor.jar.get(other) == console.before_login.jar[other], f"{other} is replaced along with {name}")


@checks.must("console.welcome.keeps-session", SECTION, "login.accepted")
def _(console: Examination) -> None:
    """GET /api/ in a session keeps it, gives a lost csrftoken back, and logs nobody out."""
    visitor = console.main.twin()
    visitor.jar.pop(CSRF_COOKIE, None)
    visitor.open()
    hold(visitor.session == console.main.session, "sessionid got another value")
    hold(visitor.token == console.main.token, "the lost csrftoken is not given back")
    hold_success(visitor.call("GetNews"), after="a call after it")


@checks.must("console.welcome.head", "api: HTTP", "session.opens")
def _(console: Examination) -> None:
    """HEAD works where GET does, with the same headers and no body."""
    answer = console.newcomer().send("HEAD", "/api/")
    hold_equal(answer.status, 200, "the status of HEAD /api/")
    hold(not answer.body, "HEAD /api/ has a body")
    missing = {name for name, _ in console.opened.headers} - {name for name, _ in answer.headers}
    hold(not missing, f"headers that only GET has: {', '.join(sorted(missing))}")


def welcome(console: Examination) -> Any:
    return hold_success(console.opened, after="GET /api/")
