"""Errors, as far as the interface has them."""

from cloudconsole.conformance.checks import Group, hold, hold_all
from cloudconsole.conformance.examination import Examination
from cloudconsole.conformance.interface.session import hold_not_served
from cloudconsole.conformance.reading import content_of, is_success, told
from cloudconsole.conformance.sending import Answer
from cloudconsole.conformance.shapes import INTEGER, TEXT, misfits

checks = Group("interface")

SECTION = "7 Errors"


@checks.must("errors.no-domain-id", SECTION, "login.accepted")
def _(console: Examination) -> str:
    """GetDomainDetail without domainId returns an error result instead of data."""
    answer = _without_domain_id(console)
    hold(not is_success(answer), told(answer))
    return told(answer)


@checks.must("errors.envelope", SECTION, "errors.no-domain-id")
def _(console: Examination) -> None:
    """An error result is in the envelope, too: code holds its status code, an integer, and message its text."""
    answer = _without_domain_id(console)
    hold(content_of(answer), f"no JSON object: {told(answer)}")
    hold_all(misfits(content_of(answer), {"code": INTEGER, "message": TEXT}, "the error result"))


@checks.info("errors.http-status", SECTION, "errors.envelope")
def _(console: Examination) -> str:
    """Whether an error's HTTP status is its code; that is left open."""
    answer = _without_domain_id(console)
    return f"HTTP {answer.status}, code {content_of(answer)['code']}"


@checks.should("login.wrong-credentials", SECTION, "login.accepted")
def _(console: Examination) -> str:
    """A login with wrong credentials opens nothing; how it is answered is left open."""
    visitor, answer = console.wrong_login
    hold_not_served(console.working()[:1], lambda each: visitor.call(each.action, each.form, each.fields))
    return f"answered {told(answer)}"


@checks.should("login.token-required", SECTION, "login.accepted")
def _(console: Examination) -> str:
    """A login without csrfmiddlewaretoken opens nothing: it is required, but how its lack is answered is left open."""
    visitor = console.newcomer()
    visitor.open()
    console.will_leave(visitor)
    answer = visitor.login(console.subject.account, csrfmiddlewaretoken=None)
    hold_not_served(console.working()[:1], lambda each: visitor.call(each.action, each.form, each.fields))
    return f"answered {told(answer)}"


def _without_domain_id(console: Examination) -> Answer:
    """In a body form that is known to work, so that nothing else is wrong with the call."""
    known = {working.action: working.form for working in console.working()}
    form = known.get("GetDomainDetail", next(iter(known.values())))
    return console.once("no domain id", lambda: console.main.call("GetDomainDetail", form))
