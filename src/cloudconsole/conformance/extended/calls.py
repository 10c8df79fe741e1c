"""Checks beyond the interface: request bodies, and GetDomainDetail."""

from typing import Any, NamedTuple

from cloudconsole.conformance.assertions import CausedBy, CheckSkipped, check, check_equal
from cloudconsole.conformance.checks import Check, CheckGroup
from cloudconsole.conformance.client import ACTION_NAMES, FORMS
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.extended.assertions import check_rejected, check_success
from cloudconsole.conformance.extended.envelope import SUCCESS_CHECKS
from cloudconsole.conformance.extended.uploads import LARGE
from cloudconsole.conformance.interface.payloads import checks_of
from cloudconsole.conformance.responses import RawResponse, is_success_unless_busy
from cloudconsole.spec.errors import (
    ApiError,
    BodyTooLarge,
    CsrfFailed,
    DomainNotFound,
    InvalidField,
    LoginRequired,
    MalformedBody,
    MissingField,
    UnknownAction,
    UnsupportedMediaType,
)
from cloudconsole.spec.operations import FORM, JSON

checks = CheckGroup("console")

ACTIONS = "api: Actions"
ERRORS = "errors"
DEPTH = 30_000
"""Deeper than the stack of most parsers, in a body below the limit."""


class Body(NamedTuple):
    id: str
    title: str
    body: bytes
    content_type: str | None = JSON
    error: type[ApiError] | None = None
    """None if the body is accepted."""
    field: str | None = None
    causes: tuple[str, ...] = ()


ACCEPTED = [
    Body("extra-fields", "Unknown extra fields are ignored", b'{"action":"GetNews","region":"x","a":[{}]}'),
    Body("repeated-json", "The last value of a repeated field in JSON counts", b'{"action":"No","action":"GetNews"}'),
    Body(
        "repeated-form",
        "The last value of a repeated field in a form counts",
        b"action=No&action=GetNews",
        FORM,
        causes=("console.forms.GetNews",),
    ),
    Body("byte-order-mark", "A byte-order mark before JSON is skipped", b'\xef\xbb\xbf{"action":"GetNews"}'),
    Body("charset-json", "JSON may declare charset UTF-8", b'{"action":"GetNews"}', f"{JSON}; charset=utf-8"),
    Body("charset-form", "A form may declare charset UTF-8", b"action=GetNews", f"{FORM};charset=UTF-8"),
]
REJECTED = [
    Body("other-charset", "Another charset", b"action=GetNews", f"{FORM}; charset=gbk", UnsupportedMediaType),
    Body("other-type", "Another Content-Type", b'{"action":"GetNews"}', "text/plain", UnsupportedMediaType),
    Body("no-type", "A missing Content-Type", b'{"action":"GetNews"}', None, UnsupportedMediaType),
    Body("not-json", "A body that is not JSON", b"action=GetNews", JSON, MalformedBody),
    Body("no-object", "JSON that is not an object", b'["GetNews"]', JSON, MalformedBody),
    Body("nan", "NaN in JSON", b'{"action":"GetNews","x":NaN}', JSON, MalformedBody),
    Body("half-character", "A lone surrogate in JSON", rb'{"action":"GetNews","x":"\ud800"}', JSON, MalformedBody),
    Body("not-utf-8-json", "JSON that is not UTF-8", b'{"action":"GetNews","x":"\xff"}', JSON, MalformedBody),
    Body("not-utf-8-form", "A form that is not UTF-8", b"action=GetNews&x=%FF", FORM, MalformedBody),
    Body("no-action", "A missing action", b"{}", JSON, MissingField, "action", ("calls.action-required",)),
    Body("empty-action", "An empty action in a form", b"action=", FORM, MissingField, "action"),
    Body("action-no-text", "An action that is not text", b'{"action":["GetNews"]}', JSON, InvalidField, "action"),
    Body("unknown-action", "An unknown action", b'{"action":"GetNothing"}', JSON, UnknownAction, "action"),
    Body("action-case", "An action in the wrong case", b"action=getnews", FORM, UnknownAction, "action"),
]


def _check(body: Body) -> Check:
    def examine(console: CheckContext) -> None:
        response = console.main.post(body.body, body.content_type)
        if body.error is None:
            check_success(response)
        else:
            check_rejected(response, body.error, body.field)

    title = f"{body.title} is {body.error.error}." if body.error else f"{body.title}."
    section, needs = ERRORS if body.error else ACTIONS, ("answers.GetNews",)
    return Check(f"console.body.{body.id}", "console", section, "must", title, examine, needs, body.causes)


def _same_in_both_forms(action: str) -> Check:
    def examine(console: CheckContext) -> None:
        as_json, as_form = (console.response_to(action, form) for form in FORMS)
        check_success(as_json, after="as JSON")
        check_success(as_form, after="as form data")
        if as_json.body != as_form.body:
            # The hour or the resources may have changed between the two.
            again = console.main.call(action, "JSON", console.fields(action))
            check(again.body == as_form.body, "the two responses differ")

    title = f"{action} accepts both body forms with the same response."
    needs, causes = (f"answers.{action}",), (*SUCCESS_CHECKS, *checks_of(action))
    return Check(f"console.forms.{action}", "console", ACTIONS, "must", title, examine, needs, causes)


checks += [_same_in_both_forms(action) for action in ACTION_NAMES]
checks += [_check(body) for body in ACCEPTED + REJECTED]


@checks.must("console.body.deep-json", ERRORS, "answers.GetNews")
def deep_json(console: CheckContext) -> str:
    """Deeply nested JSON is read or is malformed_body; it causes no server error."""
    response = console.main.post(b'{"action":"GetNews","x":' + b"[" * DEPTH + b"]" * DEPTH + b"}")
    if is_success_unless_busy(response):
        return "it is read"
    check_rejected(response, MalformedBody)
    return "it is rejected"


@checks.must("console.body.order", "api: Errors", "console.csrf.unequal")
def body_order(console: CheckContext) -> None:
    """A call is checked in this order: size, media type, session, CSRF, body, action, parameters."""
    anonymous, main = console.new_client(), console.main
    wrong = {"X-CSRFToken": "wrong"}
    if "console.body.too-large" in console.failed_checks:
        raise CausedBy("console.body.too-large", "the size is not limited")
    check_rejected(anonymous.post(LARGE, "text/plain", wrong), BodyTooLarge, after="all wrong")
    check_rejected(anonymous.post(b"\xff", "text/plain", wrong), UnsupportedMediaType, after="all but the size wrong")
    check_rejected(anonymous.post(b"\xff", JSON, wrong), LoginRequired, after="session, token and body wrong")
    check_rejected(main.post(b"\xff", JSON, wrong), CsrfFailed, after="token and body wrong")
    body = b'{"action":"GetNothing","domainId":false}'
    check_rejected(main.post(body), UnknownAction, "action", after="action and parameter wrong")


DOMAINS = "actions: GetDomainDetail"

UNKNOWN_ID = "0-of-the-conformance-kit"


@checks.must(
    "console.domain.missing-id", ERRORS, "login.accepted", causes=("answers.GetDomainDetail", "errors.no-domain-id")
)
def domain_missing_id(console: CheckContext) -> None:
    """GetDomainDetail without domainId, or with an empty one, is missing_field."""
    check_rejected(console.main.call("GetDomainDetail"), MissingField, "domainId", after="without")
    check_rejected(_get_domain(console, ""), MissingField, "domainId", after="empty")


@checks.must("console.domain.invalid-id", ERRORS, "login.accepted", causes=("answers.GetDomainDetail",))
def domain_invalid_id(console: CheckContext) -> None:
    """A domainId that is a boolean, longer than 64 characters or has control characters is invalid_field."""
    for value in (False, "9" * 65, "1\n"):
        check_rejected(_get_domain(console, value), InvalidField, "domainId", after=f"{value!r:.12}")


@checks.must("console.domain.unknown-id", DOMAINS, "login.accepted", causes=("answers.GetDomainDetail",))
def domain_unknown_id(console: CheckContext) -> None:
    """A domainId of no domain of the tenant, numeric or not, is domain_not_found."""
    for value in ("0", UNKNOWN_ID, "9" * 64):
        check_rejected(_get_domain(console, value), DomainNotFound, "domainId", after=f"{value:.12}")


@checks.must("console.domain.integer-id", DOMAINS, "answers.GetDomainDetail")
def domain_integer_id(console: CheckContext) -> None:
    """A domainId that is a JSON integer is read as its digits."""
    domain = console.target.domains[0]
    if not domain.isascii() or not domain.isdigit() or domain != str(int(domain)):
        raise CheckSkipped(f"{domain} cannot be written as an integer")
    check_equal(
        check_success(_get_domain(console, int(domain))), check_success(_get_domain(console, domain)), "the response"
    )


@checks.must("console.domain.another-tenants", DOMAINS, "answers.GetDomainDetail", "console.domain.unknown-id")
def domain_another_tenants(console: CheckContext) -> None:
    """Another tenant's domain gets the same error as one that does not exist."""
    other = console.other()
    foreign = other.call("GetDomainDetail", fields={"domainId": console.target.domains[0]})
    missing = other.call("GetDomainDetail", fields={"domainId": UNKNOWN_ID})
    check_rejected(missing, DomainNotFound, "domainId", after="a domain that does not exist")
    check_rejected(foreign, DomainNotFound, "domainId", after="another tenant's domain")
    check(foreign.body == missing.body, "the two errors differ")


def _get_domain(console: CheckContext, domain: Any) -> RawResponse:
    return console.main.call("GetDomainDetail", fields={"domainId": domain})
