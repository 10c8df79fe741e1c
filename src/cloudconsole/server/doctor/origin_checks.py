"""The public origin, and proxies that nobody declared."""

import ipaddress
import socket
from collections.abc import Iterator
from typing import Final

from sqlalchemy import select

from cloudconsole.server.config.settings import Settings
from cloudconsole.server.doctor.findings import Case, Finding, ok, problem, warning
from cloudconsole.server.doctor.store_checks import looking_at
from cloudconsole.server.net import is_loopback, is_one_of
from cloudconsole.store.activity import UNDECLARED_SECONDS
from cloudconsole.store.tables import undeclared_proxies

MOST_NAMED: Final = 10


def check_origin(case: Case) -> Iterator[Finding]:
    settings = case.settings
    origin, host = settings.public_origin, settings.origin_host
    if origin is None or host is None:
        if settings.only_this_machine:
            yield ok("none is set, and only this machine can reach the console")
        else:
            yield warning(
                f"others are to reach the console, and no public origin is set: {_what_is_served(settings)}",
                "set public_origin to what browsers see, such as https://console.example.com",
            )
        return
    findings = [*_plain_http(origin, host), *_unresolved(host)]
    yield from findings
    if not findings:
        yield ok(f"{origin} is known to this machine")


def check_undeclared_proxies(case: Case) -> Iterator[Finding]:
    columns = undeclared_proxies.c
    recent = select(columns.address).where(columns.seen_at > case.now - UNDECLARED_SECONDS).order_by(columns.seen_at)
    with looking_at(case, "activity") as connection:
        addresses = connection.scalars(recent).all()
    undeclared = [address for address in addresses if not is_one_of(address, case.settings.proxies)]
    mend = "declare it in proxies if it is yours, or keep it from sending them"
    for address in undeclared[-MOST_NAMED:]:
        text = f"{address} sends forwarded headers and is not among the proxies: they are not believed"
        # One's own proxy is mostly near; from far away anyone may send such headers.
        yield problem(text, mend) if _is_near(address) else warning(text, mend)
    if not undeclared:
        yield ok("no forwarded headers came from an undeclared proxy in the last day")


def _plain_http(origin: str, host: str) -> Iterator[Finding]:
    if origin.startswith("http:") and not is_loopback(host):
        yield warning(
            f"{origin} is not https: passwords and sessions can be read on the way",
            "serve it by https and set public_origin accordingly",
        )


def _unresolved(host: str) -> Iterator[Finding]:
    try:
        socket.getaddrinfo(host, None)
    except OSError as error:
        yield warning(f"this machine finds no address for {host}: {error.strerror}", "mend its name service entry")


def _is_near(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_private
    except ValueError:
        return False


def _what_is_served(settings: Settings) -> str:
    if settings.hosts:
        return "it takes for its own whichever of its hosts they name"
    if is_loopback(settings.host):
        return "only loopback names are served, so calls that a proxy passes on under its name are refused"
    return "it believes whatever Host they send"
