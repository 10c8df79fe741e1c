"""Interface checks: errors, as far as the interface specifies them."""

from collections.abc import Callable

from cloudconsole.conformance.assertions import check, check_no_problems
from cloudconsole.conformance.checks import CheckGroup
from cloudconsole.conformance.client import ConsoleClient
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.field_types import INTEGER, TEXT, schema_errors
from cloudconsole.conformance.interface.session import check_not_served
from cloudconsole.conformance.responses import (
    RawResponse,
    check_not_busy,
    describe_response,
    is_success_unless_busy,
    lenient_envelope,
)

checks = CheckGroup("interface")

SECTION = "7 Errors"


@checks.must("errors.no-domain-id", SECTION, "login.accepted")
def errors_no_domain_id(console: CheckContext) -> str:
    """GetDomainDetail without domainId returns an error instead of data."""
    response = _without_domain_id(console)
    check(not is_success_unless_busy(response), describe_response(response))
    return describe_response(response)


@checks.should("errors.json", SECTION, "errors.no-domain-id", causes=("answers.GetDomainDetail",))
def errors_json(console: CheckContext) -> None:
    """An error is JSON, too, not HTML or plain text."""
    response = _without_domain_id(console)
    check(lenient_envelope(response), f"not a JSON object: {describe_response(response)}")


@checks.should("errors.envelope", SECTION, "errors.json")
def errors_envelope(console: CheckContext) -> None:
    """An error is in the envelope, too: code is an integer status code and message is text."""
    response = _without_domain_id(console)
    check_no_problems(schema_errors(lenient_envelope(response), {"code": INTEGER, "message": TEXT}, "the error result"))


@checks.should("errors.code", SECTION, "errors.envelope")
def errors_code(console: CheckContext) -> None:
    """An error's code is an HTTP-style status from 100 to 599."""
    code = lenient_envelope(_without_domain_id(console))["code"]
    check(100 <= code < 600, f"it is {code}")


@checks.info("errors.http-status", SECTION, "errors.envelope")
def errors_http_status(console: CheckContext) -> str:
    """Whether an error's HTTP status equals its code; the interface does not specify it."""
    response = _without_domain_id(console)
    return f"HTTP {response.status}, code {lenient_envelope(response)['code']}"


@checks.should("login.wrong-credentials", SECTION, "login.accepted")
def login_wrong_credentials(console: CheckContext) -> str:
    """A login with wrong credentials grants no access; the interface does not specify the response."""
    return _check_no_access(console, lambda: console.wrong_login)


@checks.should("login.token-required", SECTION, "login.accepted")
def login_token_required(console: CheckContext) -> str:
    """A login without the required csrfmiddlewaretoken grants no access; the response is not specified."""
    return _check_no_access(console, lambda: console.login_without("csrfmiddlewaretoken"))


@checks.should("login.region-required", SECTION, "login.accepted")
def login_region_required(console: CheckContext) -> str:
    """A login without the required region grants no access; the response is not specified."""
    return _check_no_access(console, lambda: console.login_without("region"))


def _check_no_access(console: CheckContext, log_in: Callable[[], tuple[ConsoleClient, RawResponse]]) -> str:
    # First: without such a call the login need not be tried.
    protected = console.protected_call()
    client, response = log_in()
    check_not_busy(response)
    check_not_served([protected], lambda each: client.call(each.action, each.form, each.fields))
    return f"response: {describe_response(response)}"


def _without_domain_id(console: CheckContext) -> RawResponse:
    """Call without domainId, in a body form that is known to work."""
    known = {working.action: working.form for working in console.working()}
    form = known.get("GetDomainDetail", next(iter(known.values())))
    return console.once("no domain id", lambda: console.main.call("GetDomainDetail", form))
