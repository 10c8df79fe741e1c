"""Identity endpoints of an OpenStack, seen from outside: whether a Keystone answers there, and may be spoken to."""

from collections.abc import Iterator
from ssl import SSLCertVerificationError, SSLError
from typing import Final
from urllib.parse import urlsplit

from cloudconsole.backends.openstack.config import Endpoint
from cloudconsole.server.doctor.findings import Case, Finding, ok, problem, warning
from cloudconsole.server.doctor.outside import certificate_findings, clock_findings
from cloudconsole.server.doctor.probe import Answer, NoAnswer, ask, quote, speaks_https
from cloudconsole.server.net import is_loopback

VERSION_PATH: Final = "/v3"
_WHERE_IT_STANDS: Final = "it is what clouds.yaml calls auth_url, and an RC file OS_AUTH_URL"


def endpoints_of(case: Case) -> list[Endpoint]:
    """Those behind which there is an OpenStack."""
    return [each.keystone for each in case.settings.identity if each.keystone is not None]


def check_endpoints(case: Case) -> Iterator[Finding]:
    endpoints = endpoints_of(case)
    for endpoint in endpoints:
        yield from _endpoint(case, endpoint)
    if not endpoints:
        local = ", ".join(each.address for each in case.settings.identity)
        yield ok(f"none is of kind keystone{f'; at {local} the console knows its own accounts only' if local else ''}")


def _endpoint(case: Case, endpoint: Endpoint) -> Iterator[Finding]:
    address = endpoint.address
    yield from _plain_http(address)
    try:
        answer = ask(address, VERSION_PATH, ca_file=endpoint.ca_file)
    except NoAnswer as reason:
        yield _silence(address, reason)
        return
    yield _answered(address, answer)
    yield from clock_findings(f"the clock of {address}", answer, ": tokens end at another time than it seems")
    yield from certificate_findings(f"the certificate of {address}", answer, case.now, "renew it there")


def _plain_http(address: str) -> Iterator[Finding]:
    parts = urlsplit(address)
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        yield warning(
            f"{address} is plain http to another machine: passwords and tokens can be read on the way",
            "serve it by https and give that address",
        )


def _silence(address: str, reason: NoAnswer) -> Finding:
    cause = reason.__cause__
    if isinstance(cause, SSLCertVerificationError):
        return problem(
            f"the certificate of {address} is not to be trusted: {quote(cause.verify_message)}",
            "give the certificates that vouch for it as the endpoint's ca_file, or renew it there",
        )
    if isinstance(cause, SSLError) and cause.reason == "WRONG_VERSION_NUMBER":
        return problem(
            f"what answers at {address} speaks no https", "give its address with http:, or serve it by https"
        )
    if address.startswith("http:") and reason.was_reached and speaks_https(address):
        return problem(f"what answers at {address} speaks https, not plain http", "give its address with https:")
    if reason.was_reached:
        return problem(f"what is at {address} does not answer as a Keystone does: {reason}", _address_mend())
    return problem(
        f"nobody can log in through {address}, where nothing answers: {reason}",
        "look whether Keystone runs, at its address, the firewall and the name service entry",
    )


def _answered(address: str, answer: Answer) -> Finding:
    place = address + VERSION_PATH
    elsewhere = answer.headers["Location"]
    if 300 <= answer.status < 400 and elsewhere is not None:
        return problem(
            f"{place} sends callers on to {quote(repr(elsewhere))}, where no password is sent",
            "give the address where callers end up",
        )
    if answer.status >= 500:
        return problem(f"{place} answers {answer.status}: Keystone does not work", "look at its log and its database")
    version, status = answer.version.get("id"), answer.version.get("status")
    if answer.status != 200 or not str(version).startswith("v3"):
        return problem(f"{place} answers {answer.status}, and not as a Keystone of version 3 does", _address_mend())
    return ok(f"{address} is a Keystone of version {quote(version).removeprefix('v')}, {quote(status)}")


def _address_mend() -> str:
    return f"look at the address: {_WHERE_IT_STANDS}"
