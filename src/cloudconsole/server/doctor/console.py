"""Checks of the running console, its metrics and its ports."""

import errno
import socket
from collections.abc import Iterator
from typing import Final

from cloudconsole.server.config.settings import SettingError
from cloudconsole.server.doctor.context_and_findings import DoctorContext, Finding, ok, problem, warning
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
from cloudconsole.server.ip_addresses import connectable_address
from cloudconsole.server.metrics.server import PATH
from cloudconsole.server.runtime.tls import certificate_expiry
from cloudconsole.server.runtime.worker import ListenError, bind
from cloudconsole.spec.set_cookie import CSRF_COOKIE, SESSION_COOKIE

_MAX_TRIES: Final = 100


def port_in_use(case: DoctorContext, setting: str, host: str, port: int) -> Finding:
    """Report the program that listens there, and name a free port."""
    process = listener_on(port)
    free = _free_port(host, port)
    value = str(free) if setting == "port" else f"[{host}]:{free}" if ":" in host else f"{host}:{free}"
    return problem(
        f"{connectable_address(host)}:{port}, the address of {setting}, is in use by {process or 'another program'}: "
        "the console cannot listen there",
        f"stop that program, or set {setting} to a free address, such as {value}, for doctor too",
        case.command("serve", **{setting: value}),
    )


def _free_port(host: str, port: int) -> int:
    for candidate in range(port + 1, min(port + _MAX_TRIES, 65536)):
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
    origin = settings.public_origin or own
    if origin is None:
        yield ok("skipped: with port 0 its address is unknown")
        return
    try:
        # No certificate covers the listening address, so it is not verified there.
        response = probe(origin, trusting=origin == own)
    except NoResponse as reason:
        yield _no_response(case, origin, own, reason)
        return
    if response.is_console:
        yield from _response_findings(case, response)
    else:
        conflict = None if own is None else _port_conflict(case, own)
        yield from _response_findings(case, response) if conflict is None else [conflict]


def _port_conflict(case: DoctorContext, own: str) -> Finding | None:
    """Report another program that listens where the console should."""
    try:
        if probe(own, trusting=True).is_console:
            return None
    except NoResponse as reason:
        if not reason.was_reached or (own.startswith("http:") and speaks_https(own)):
            return None
    return port_in_use(case, "port", case.settings.host, case.settings.port)


def _no_response(case: DoctorContext, origin: str, own: str | None, reason: NoResponse) -> Finding:
    """Distinguish a console that is not running from one that is unreachable at its public origin."""
    try:
        if own is not None and own != origin:
            probe(own, trusting=True)
            return problem(
                f"it responds at {own}, but not at {origin}: {reason}",
                "check the proxy, its certificate, the firewall and the DNS entry",
            )
    except NoResponse:
        pass
    conflict = None if own is None else _port_conflict(case, own)
    if conflict is not None:
        return conflict
    if origin.startswith("http:") and reason.was_reached and speaks_https(origin):
        return problem(
            f"the server at {origin} speaks https, not plain http",
            "run doctor with the console's settings, including tls_certificate and tls_key",
        )
    if reason.was_reached:
        return problem(
            f"the server at {origin} does not respond like a console: {reason}",
            "find out which program it is, and run doctor with the console's settings",
        )
    return warning(
        f"no response from {origin}: {reason}", "start the console, then run doctor again", case.command("serve")
    )


def _response_findings(case: DoctorContext, response: ProbeResponse) -> Iterator[Finding]:
    if 300 <= response.status < 400:
        yield problem(
            f"{response.origin} redirects to {quoted(repr(response.headers['Location']))}",
            "set public_origin to the redirect's target",
        )
        return
    if response.status != 200 or response.welcome is None:
        yield problem(
            f"{response.origin}/api/ responds with status {response.status}, and not like a console",
            "check that the proxy forwards requests to this console with their Host, and that hosts includes it",
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
        yield ok(f"it responds correctly at {response.origin}")


def _renewal(case: DoctorContext, response: ProbeResponse) -> tuple[str, str]:
    """Return the fix for an expiring certificate; with a command if the file is already renewed."""
    file, end, process = case.settings.tls_certificate, response.certificate_end, listener_on(case.settings.port)
    try:
        if file is not None and end is not None and process and certificate_expiry(file).timestamp() > end:
            return f"make the console reload {file}, which is already renewed", shell("kill", "-HUP", process.pid)
    except SettingError:
        pass
    return "renew it; cloudconsole serve reloads certificate files on SIGHUP, for a proxy see its documentation", ""


def _cookies(response: ProbeResponse) -> Iterator[Finding]:
    is_https = response.origin.startswith("https:")
    for name, expected in _ATTRIBUTES.items():
        attributes = response.cookies.get(name)
        if attributes is None:
            yield problem(f"the cookie {name} is missing", "check that the proxy does not remove Set-Cookie headers")
            continue
        missing = expected - attributes
        if missing:
            yield problem(
                f"the cookie {name} lacks {', '.join(sorted(missing))}",
                "configure the proxy not to rewrite cookies",
            )
        if any(attribute.startswith("domain=") for attribute in attributes):
            yield problem(
                f"the cookie {name} has a Domain: other hosts of that domain receive it",
                "configure the proxy not to rewrite cookies",
            )
        if is_https and "secure" not in attributes:
            yield problem(
                f"the cookie {name} is not Secure: the console does not know that clients use https",
                "set public_origin to https://..., or add the proxy to proxies and make it send X-Forwarded-Proto",
            )
        if not is_https and "secure" in attributes:
            yield problem(
                f"the cookie {name} is Secure, but {response.origin} is not https: browsers drop it",
                "set public_origin to the https origin that clients use, or remove it",
            )


def _regions(case: DoctorContext, response: ProbeResponse) -> Iterator[Finding]:
    offered = (response.welcome or {}).get("regions")
    if not case.settings.identity and offered != [f"{response.origin}/v3"]:
        yield problem(
            f"at {response.origin} it offers the regions {quoted(offered)}: it does not know its public origin",
            "start it with the same public_origin, or make the proxy forward Host and X-Forwarded-Proto",
        )


def _cache(response: ProbeResponse) -> Iterator[Finding]:
    control, age = response.headers["Cache-Control"], response.headers["Age"]
    if control != "no-store" or age is not None:
        yield problem(
            f"a proxy caches or changes responses (Cache-Control: {quoted(control)}, Age: {quoted(age)})",
            "turn off caching for the console: a client could get the response of another",
        )


_OWN_METRICS: Final = b"cloudconsole_"


def check_metrics(case: DoctorContext) -> Iterator[Finding]:
    if case.settings.metrics is None:
        yield ok("disabled: metrics is not set")
        return
    host, port = case.settings.metrics
    address = f"{connectable_address(host)}:{port}"
    try:
        response = probe(f"http://{address}", PATH)
    except NoResponse as reason:
        yield port_in_use(case, "metrics", host, port) if reason.was_reached else _unused(case, host, port)
        return
    if response.status == 200 and _OWN_METRICS in response.body:
        yield ok(f"served at http://{address}{PATH}")
    else:
        yield port_in_use(case, "metrics", host, port)


def _unused(case: DoctorContext, host: str, port: int) -> Finding:
    """Check that the console could listen on an address without a listener."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return port_in_use(case, "metrics", host, port)
            if error.errno == errno.EADDRNOTAVAIL:
                return problem(f"this machine has no address {host}", "set metrics to an address of this machine")
    return ok(f"{connectable_address(host)}:{port} is free")
