"""Checks of the configuration: settings, origin and proxies, certificate, token keys."""

import ipaddress
import os
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from sqlalchemy import select

from cloudconsole.server.config.loader import read_values
from cloudconsole.server.config.settings import SettingError, Settings
from cloudconsole.server.doctor.fix_commands import ROOT, as_root, shell
from cloudconsole.server.doctor.http_probe import expiry_findings
from cloudconsole.server.doctor.results import DoctorContext, Finding, ok, problem, warning
from cloudconsole.server.doctor.store import read_connection
from cloudconsole.server.net import is_in_networks, is_loopback
from cloudconsole.server.runtime.tls import certificate_expiry, read_certificate
from cloudconsole.store.activity import UNDECLARED_SECONDS
from cloudconsole.store.tables import undeclared_proxies


def read_case(
    environment: Mapping[str, str], flags: Mapping[str, str | None], now: float, *, quick: bool
) -> DoctorContext:
    """The console that the settings mean, as far as they can be used."""
    reading = read_values(environment, flags)
    values, problems, unknown = reading.values, reading.problems, reading.unknown
    given = {name: text for name, text in flags.items() if text is not None}
    while True:
        try:
            return DoctorContext(Settings(**values), problems, now, quick, frozenset(unknown), flags=given)
        except SettingError as refused:
            problems += str(refused).splitlines()
            unknown |= refused.settings
            values = {name: value for name, value in values.items() if name not in unknown}


def check_settings(case: DoctorContext) -> Iterator[Finding]:
    problems = [*case.setting_problems, *_certificate_problems(case.settings)]
    for text in problems:
        yield problem(text, "correct it or take it out: cloudconsole serve does not start with it")
    if not problems:
        yield ok("all that are given can be used")


def _certificate_problems(settings: Settings) -> list[str]:
    try:
        read_certificate(settings)
    except SettingError as refused:
        return str(refused).splitlines()
    return []


MOST_NAMED: Final = 10


def check_origin(case: DoctorContext) -> Iterator[Finding]:
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


def check_undeclared_proxies(case: DoctorContext) -> Iterator[Finding]:
    columns = undeclared_proxies.c
    recent = select(columns.address).where(columns.seen_at > case.now - UNDECLARED_SECONDS).order_by(columns.seen_at)
    with read_connection(case, "activity") as connection:
        addresses = connection.scalars(recent).all()
    undeclared = [address for address in addresses if not is_in_networks(address, case.settings.proxies)]
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


_FOR_OTHERS = stat.S_IRWXO | stat.S_IWGRP
"""A group may read a key, such as Debian's ssl-cert."""


def check_certificate(case: DoctorContext) -> Iterator[Finding]:
    certificate, key = case.settings.tls_certificate, case.settings.tls_key
    if certificate is None or key is None:
        yield ok("none is set: the console speaks plain http")
        return
    findings = [*_expiry(certificate, case.now), *_openness(key)]
    yield from findings
    if not findings:
        yield ok(f"{certificate} has not expired, and {key} is closed to others")


def _expiry(certificate: Path, now: float) -> Iterator[Finding]:
    try:
        expiry = certificate_expiry(certificate).timestamp()
    except SettingError:
        # The check of the settings reports that.
        return
    mend = "renew it; a running console reloads the files on SIGHUP"
    yield from expiry_findings(f"the certificate in {certificate}", expiry, now, mend)


def _openness(key: Path) -> Iterator[Finding]:
    try:
        status = key.stat()
    except OSError:
        return
    if status.st_mode & _FOR_OTHERS:
        words = ("chmod", "g-w,o-rwx", key)
        command = shell(*words) if os.geteuid() in (status.st_uid, ROOT) else as_root(*words)
        yield problem(f"other users have access to the private key in {key}", "close it to others", command)


def check_token_keys(case: DoctorContext) -> Iterator[Finding]:
    settings = case.settings
    if not settings.has_keystone:
        yield ok("none are needed: no identity endpoint is of kind keystone")
        return
    # Only a console in front of OpenStack loads cryptography.
    from cloudconsole.backends.openstack.token_encryption import FOR_OTHERS, KeyFileError, read_keys

    file = settings.token_key_file
    if not file.exists():
        yield _unmade(file, in_data=settings.token_keys is None)
        return
    try:
        keys = read_keys(file)
    except KeyFileError as wrong:
        is_open = file.is_file() and file.stat().st_mode & FOR_OTHERS
        command = shell("chmod", "600", file) if is_open else ""
        yield problem(str(wrong), "cloudconsole serve does not start with it", command)
    else:
        yield ok(f"{file} has {len(keys)} and is closed to others")


def _unmade(file: Path, *, in_data: bool) -> Finding:
    if in_data or file.parent.is_dir():
        return ok(f"{file} will be made when the console starts")
    return problem(
        f"there is no folder {file.parent} in which {file.name} could be made",
        "create it, or set token_keys",
        shell("mkdir", "-p", "-m", "700", file.parent),
    )
