"""Errors, as far as the interface has them."""

from collections.abc import Callable

from cloudconsole.conformance.assertions import check, check_no_problems
from cloudconsole.conformance.checks import CheckGroup
from cloudconsole.conformance.client import ConsoleClient
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.interface.session import check_not_served
from cloudconsole.conformance.responses import (
    RawResponse,
    check_not_busy,
    describe_response,
    is_successful,
    lenient_envelope,
)
from cloudconsole.conformance.schemas import INTEGER, TEXT, schema_errors

checks = CheckGroup("interface")

SECTION = "7 Errors"


@checks.must("errors.no-domain-id", SECTION, "login.accepted")
def errors_no_domain_id(console: CheckContext) -> str:
    """GetDomainDetail without domainId returns an error result instead of data."""
    response = _without_domain_id(console)
    check(not is_successful(response), describe_response(response))
    return describe_response(response)


@checks.should("errors.envelope", SECTION, "errors.no-domain-id")
def errors_envelope(console: CheckContext) -> None:
    """An error result is in the envelope, too: code holds its status code, an integer, and message its text."""
    response = _without_domain_id(console)
    check(lenient_envelope(response), f"no JSON object: {describe_response(response)}")
    check_no_problems(schema_errors(lenient_envelope(response), {"code": INTEGER, "message": TEXT}, "the error result"))


@checks.should("errors.code", SECTION, "errors.envelope")
def errors_code(console: CheckContext) -> None:
    """An error's code is HTTP-style: from 100 to 599."""
    code = lenient_envelope(_without_domain_id(console))["code"]
    check(100 <= code < 600, f"it is {code}")


@checks.info("errors.http-status", SECTION, "errors.envelope")
def errors_http_status(console: CheckContext) -> str:
    """Whether an error's HTTP status is its code; that is left open."""
    response = _without_domain_id(console)
    return f"HTTP {response.status}, code {lenient_envelope(response)['code']}"


@checks.should("login.wrong-credentials", SECTION, "login.accepted")
def login_wrong_credentials(console: CheckContext) -> str:
    """A login with wrong credentials opens nothing; how it is answered is left open."""
    return _hold_opens_nothing(console, lambda: console.wrong_login)


@checks.should("login.token-required", SECTION, "login.accepted")
def login_token_required(console: CheckContext) -> str:
    """A login without csrfmiddlewaretoken opens nothing: it is required, but how its lack is answered is left open."""
    return _hold_opens_nothing(console, lambda: console.login_without("csrfmiddlewaretoken"))


@checks.should("login.region-required", SECTION, "login.accepted")
def login_region_required(console: CheckContext) -> str:
    """A login without region opens nothing: it is required, but how its lack is answered is left open."""
    return _hold_opens_nothing(console, lambda: console.login_without("region"))


def _hold_opens_nothing(console: CheckContext, log_in: Callable[[], tuple[ConsoleClient, RawResponse]]) -> str:
    # First: without it there is no use in trying.
    telling = console.telling()
    visitor, response = log_in()
    check_not_busy(response)
    check_not_served([telling], lambda each: visitor.call(each.action, each.form, each.fields))
    return f"answered {describe_response(response)}"


def _without_domain_id(console: CheckContext) -> RawResponse:
    """In a body form that is known to work, so that nothing else is wrong with the call."""
    known = {working.action: working.form for working in console.working()}
    form = known.get("GetDomainDetail", next(iter(known.values())))
    return console.once("no domain id", lambda: console.main.call("GetDomainDetail", form))
