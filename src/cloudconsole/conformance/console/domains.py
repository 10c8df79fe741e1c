"""Asking for a domain: ids that are taken, ids that cannot be, and domains of others."""

from typing import Any

from cloudconsole.conformance.answers import Answer
from cloudconsole.conformance.checks import Group, Skipped, hold, hold_equal
from cloudconsole.conformance.console.expecting import hold_refused, hold_success
from cloudconsole.conformance.examination import Examination
from cloudconsole.spec.errors import DomainNotFound, InvalidField, MissingField

checks = Group("console")

SECTION, ERRORS = "actions: GetDomainDetail", "errors"
NONE = "0-of-the-conformance-kit"


@checks.must("console.domain.missing-id", ERRORS, "login.accepted")
def _(console: Examination) -> None:
    """GetDomainDetail without domainId, or with an empty one, is missing_field."""
    hold_refused(console.main.call("GetDomainDetail"), MissingField, "domainId", after="without")
    hold_refused(_ask(console, ""), MissingField, "domainId", after="empty")


@checks.must("console.domain.invalid-id", ERRORS, "login.accepted")
def _(console: Examination) -> None:
    """A domainId that is a boolean, over 64 characters or has control characters is invalid_field."""
    for value in (False, "9" * 65, "1\n"):
        hold_refused(_ask(console, value), InvalidField, "domainId", after=f"{value!r:.12}")


@checks.must("console.domain.unknown-id", SECTION, "login.accepted")
def _(console: Examination) -> None:
    """A domainId that is none of the tenant's, numeric or not, is domain_not_found."""
    for value in ("0", NONE, "9" * 64):
        hold_refused(_ask(console, value), DomainNotFound, "domainId", after=f"{value:.12}")


@checks.must("console.domain.integer-id", SECTION, "answers.GetDomainDetail")
def _(console: Examination) -> None:
    """A domainId that is a JSON integer is taken as its digits."""
    domain = console.subject.domains[0]
    if not domain.isascii() or not domain.isdigit() or domain != str(int(domain)):
        raise Skipped(f"{domain} cannot be written as an integer")
    hold_equal(hold_success(_ask(console, int(domain))), hold_success(_ask(console, domain)), "the answer")


@checks.must("console.domain.another-tenants", SECTION, "answers.GetDomainDetail")
def _(console: Examination) -> None:
    """Another tenant's domain is refused word for word like one that does not exist."""
    other = console.other()
    anothers = other.call("GetDomainDetail", fields={"domainId": console.subject.domains[0]})
    nobodys = other.call("GetDomainDetail", fields={"domainId": NONE})
    hold_refused(nobodys, DomainNotFound, "domainId", after="a domain that does not exist")
    hold_refused(anothers, DomainNotFound, "domainId", after="another tenant's domain")
    hold(anothers.body == nobodys.body, "the two refusals differ")


def _ask(console: Examination, domain: Any) -> Answer:
    return console.main.call("GetDomainDetail", fields={"domainId": domain})
