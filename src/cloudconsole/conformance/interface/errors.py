"""Errors, as far as the interface has them."""

from collections.abc import Callable

from cloudconsole.conformance.assertions import hold, hold_all
from cloudconsole.conformance.checks import Group
from cloudconsole.conformance.client import Visitor
from cloudconsole.conformance.context import Examination
from cloudconsole.conformance.interface.session import hold_not_served
from cloudconsole.conformance.responses import Answer, content_of, hold_not_busy, succeeded, told
from cloudconsole.conformance.schemas import INTEGER, TEXT, misfits

checks = Group("interface")

SECTION = "7 Errors"


@checks.must("errors.no-domain-id", SECTION, "login.accepted")
def errors_no_domain_id(console: Examination) -> str:
    """GetDomainDetail without domainId returns an error result instead of data."""
    answer = _without_domain_id(console)
    hold(not succeeded(answer), told(answer))
    return told(answer)


@checks.should("errors.envelope", SECTION, "errors.no-domain-id")
def errors_envelope(console: Examination) -> None:
    """An error result is in the envelope, too: code holds its status code, an integer, and message its text."""
    answer = _without_domain_id(console)
    hold(content_of(answer), f"no JSON object: {told(answer)}")
    hold_all(misfits(content_of(answer), {"code": INTEGER, "message": TEXT}, "the error result"))


@checks.should("errors.code", SECTION, "errors.envelope")
def errors_code(console: Examination) -> None:
    """An error's code is HTTP-style: from 100 to 599."""
    code = content_of(_without_domain_id(console))["code"]
    hold(100 <= code < 600, f"it is {code}")


@checks.info("errors.http-status", SECTION, "errors.envelope")
def errors_http_status(console: Examination) -> str:
    """Whether an error's HTTP status is its code; that is left open."""
    answer = _without_domain_id(console)
    return f"HTTP {answer.status}, code {content_of(answer)['code']}"


@checks.should("login.wrong-credentials", SECTION, "login.accepted")
def login_wrong_credentials(console: Examination) -> str:
    """A login with wrong credentials opens nothing; how it is answered is left open."""
    return _hold_opens_nothing(console, lambda: console.wrong_login)


@checks.should("login.token-required", SECTION, "login.accepted")
def login_token_required(console: Examination) -> str:
    """A login without csrfmiddlewaretoken opens nothing: it is required, but how its lack is answered is left open."""
    return _hold_opens_nothing(console, lambda: console.login_without("csrfmiddlewaretoken"))


@checks.should("login.region-required", SECTION, "login.accepted")
def login_region_required(console: Examination) -> str:
    """A login without region opens nothing: it is required, but how its lack is answered is left open."""
    return _hold_opens_nothing(console, lambda: console.login_without("region"))


def _hold_opens_nothing(console: Examination, log_in: Callable[[], tuple[Visitor, Answer]]) -> str:
    # First: without it there is no use in trying.
    telling = console.telling()
    visitor, answer = log_in()
    hold_not_busy(answer)
    hold_not_served([telling], lambda each: visitor.call(each.action, each.form, each.fields))
    return f"answered {told(answer)}"


def _without_domain_id(console: Examination) -> Answer:
    """In a body form that is known to work, so that nothing else is wrong with the call."""
    known = {working.action: working.form for working in console.working()}
    form = known.get("GetDomainDetail", next(iter(known.values())))
    return console.once("no domain id", lambda: console.main.call("GetDomainDetail", form))
