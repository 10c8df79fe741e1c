"""Checks of the running console, of its metrics, and of the ports it needs."""

import errno
import socket
from collections.abc import Iterator
from typing import Final

from cloudconsole.server.config.settings import SettingError
from cloudconsole.server.doctor.fix_commands import shell
from cloudconsole.server.doctor.http_probe import (
    NoResponse,
    ProbeResponse,
    certificate_findings,
    clock_findings,
    probe,
    quoted,
    speaks_https,
)
from cloudconsole.server.doctor.processes import listener_on
from cloudconsole.server.doctor.results import DoctorContext, Finding, ok, problem, warning
from cloudconsole.server.metrics.server import PATH
from cloudconsole.server.net import connectable_address
from cloudconsole.server.runtime.tls import certificate_expiry
from cloudconsole.server.runtime.worker import ListenError, bind
from cloudconsole.spec.constants import CSRF_COOKIE, SESSION_COOKIE

_MOST_TRIES: Final = 100


def port_in_use(case: DoctorContext, setting: str, host: str, port: int) -> Finding:
    """Report the program that listens there, and name a free port."""
    process = listener_on(port)
    free = _free_port(host, port)
    value = str(free) if setting == "port" else f"[{host}]:{free}" if ":" in host else f"{host}:{free}"
    return problem(
        f"{connectable_address(host)}:{port}, the address of {setting}, is taken by {process or 'another program'}: "
        "the console cannot listen there",
        f"stop that program, or set {setting} to a free address, such as {value}, and give doctor the same",
        case.command("serve", **{setting: value}),
    )


def _free_port(host: str, port: int) -> int:
    for candidate in range(port + 1, min(port + _MOST_TRIES, 65536)):
        try:
            bind(host, candidate).close()
        except ListenError:
            continue
        return candidate
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


_ATTRIBUTES: Final = {SESSION_COOKIE: {"httponly", "path=/", "samesite=lax"}, CSRF_COOKIE: {"path=/", "samesite=lax"}}


def check_console(case: DoctorContext) -> Iterator[Finding]:
    settings = case.settings
    own = f"{settings.own_scheme}://{connectable_address(settings.host)}:{settings.port}" if settings.port else None
    place = settings.public_origin or own
    if place is None:
        yield ok("port 0 is set, so there is no telling where it runs: not looked at")
        return
    try:
        # Its own address is in no certificate; what is looked at then is the rest.
        response = probe(place, trusting=place == own)
    except NoResponse as reason:
        yield _silence(case, place, own, reason)
        return
    if response.is_console:
        yield from _seen(case, response)
    else:
        taken = None if own is None else _taken(case, own)
        yield from _seen(case, response) if taken is None else [taken]


def _taken(case: DoctorContext, own: str) -> Finding | None:
    """Report another program that listens where the console should."""
    try:
        if probe(own, trusting=True).is_console:
            return None
    except NoResponse as reason:
        if not reason.was_reached or (own.startswith("http:") and speaks_https(own)):
            return None
    return port_in_use(case, "port", case.settings.host, case.settings.port)


def _silence(case: DoctorContext, place: str, own: str | None, reason: NoResponse) -> Finding:
    """Whether the console is not running, or only not to be reached at its public origin."""
    try:
        if own is not None and own != place:
            probe(own, trusting=True)
            return problem(
                f"it answers at {own}, but not at {place}: {reason}",
                "look at the proxy, its certificate, the firewall and the name service entry",
            )
    except NoResponse:
        pass
    taken = None if own is None else _taken(case, own)
    if taken is not None:
        return taken
    if place.startswith("http:") and reason.was_reached and speaks_https(place):
        return problem(
            f"what answers at {place} speaks https, not plain http",
            "give doctor the settings that the console runs with, tls_certificate and tls_key among them",
        )
    if reason.was_reached:
        return problem(
            f"something is at {place} that does not answer as a console does: {reason}",
            "look what it is, and whether doctor has the settings that the console runs with",
        )
    return warning(
        f"nothing answers at {place}: {reason}", "start the console, then run doctor again", case.command("serve")
    )


def _seen(case: DoctorContext, response: ProbeResponse) -> Iterator[Finding]:
    if 300 <= response.status < 400:
        yield problem(
            f"{response.origin} sends callers on to {quoted(repr(response.headers['Location']))}",
            "set public_origin to the place where callers end up",
        )
        return
    if response.status != 200 or response.welcome is None:
        yield problem(
            f"{response.origin}/api/ answers {response.status}, and not as a console does",
            "look whether the proxy passes calls on to this console with their Host, and whether hosts has that",
        )
        return
    findings = [
        *_cookies(response),
        *_regions(case, response),
        *_cache(response),
        *clock_findings("its clock", response),
        *certificate_findings("its certificate", response, case.now, *_renewal(case, response)),
    ]
    yield from findings
    if not findings:
        yield ok(f"it answers at {response.origin} as it should")


def _renewal(case: DoctorContext, response: ProbeResponse) -> tuple[str, str]:
    """Return the advice for a certificate that expires, in words and, where the file is a later one, as a command."""
    file, end, process = case.settings.tls_certificate, response.certificate_end, listener_on(case.settings.port)
    try:
        if file is not None and end is not None and process and certificate_expiry(file).timestamp() > end:
            return f"let the console reload {file}, which has a later one", shell("kill", "-HUP", process.pid)
    except SettingError:
        pass
    return "renew it; cloudconsole serve reloads certificate files on SIGHUP, a proxy in its own way", ""


def _cookies(response: ProbeResponse) -> Iterator[Finding]:
    is_https = response.origin.startswith("https:")
    for name, wanted in _ATTRIBUTES.items():
        attributes = response.cookies.get(name)
        if attributes is None:
            yield problem(f"the cookie {name} does not arrive", "look whether the proxy takes Set-Cookie headers out")
            continue
        missing = wanted - attributes
        if missing:
            yield problem(
                f"the cookie {name} arrives without {', '.join(sorted(missing))}",
                "look whether the proxy rewrites cookies, and let it leave them alone",
            )
        if any(attribute.startswith("domain=") for attribute in attributes):
            yield problem(
                f"the cookie {name} arrives with a Domain: neighbouring hosts get it, too",
                "let the proxy leave cookies alone",
            )
        if is_https and "secure" not in attributes:
            yield problem(
                f"the cookie {name} is not Secure: the console does not know that callers come by https",
                "set public_origin to https://..., or declare the proxy in proxies and let it send X-Forwarded-Proto",
            )
        if not is_https and "secure" in attributes:
            yield problem(
                f"the cookie {name} is Secure, but {response.origin} is not https: browsers drop it",
                "set public_origin to the https address that callers use, or leave it out",
            )


def _regions(case: DoctorContext, response: ProbeResponse) -> Iterator[Finding]:
    offered = (response.welcome or {}).get("regions")
    if not case.settings.identity and offered != [f"{response.origin}/v3"]:
        yield problem(
            f"at {response.origin} it offers the regions {quoted(offered)}: it does not know how it was reached",
            "start it with the same public_origin, or let the proxy pass on Host and X-Forwarded-Proto",
        )


def _cache(response: ProbeResponse) -> Iterator[Finding]:
    control, age = response.headers["Cache-Control"], response.headers["Age"]
    if control != "no-store" or age is not None:
        yield problem(
            f"something between caches or changes answers (Cache-Control: {quoted(control)}, Age: {quoted(age)})",
            "turn caching off for the console: one caller could get another's answer",
        )


_OWN_METRICS: Final = b"cloudconsole_"


def check_metrics(case: DoctorContext) -> Iterator[Finding]:
    if case.settings.metrics is None:
        yield ok("none are served: metrics is not set")
        return
    host, port = case.settings.metrics
    address = f"{connectable_address(host)}:{port}"
    try:
        response = probe(f"http://{address}", PATH)
    except NoResponse as reason:
        yield port_in_use(case, "metrics", host, port) if reason.was_reached else _unused(case, host, port)
        return
    if response.status == 200 and _OWN_METRICS in response.body:
        yield ok(f"they are served at http://{address}{PATH}")
    else:
        yield port_in_use(case, "metrics", host, port)


def _unused(case: DoctorContext, host: str, port: int) -> Finding:
    """Tell whether the console could listen on an address where nothing answers."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return port_in_use(case, "metrics", host, port)
            if error.errno == errno.EADDRNOTAVAIL:
                return problem(f"this machine has no address {host}", "set metrics to an address of this machine")
    return ok(f"{connectable_address(host)}:{port} is free for them")
