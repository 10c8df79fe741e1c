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
from cloudconsole.server.doctor.context_and_findings import DoctorContext, Finding, ok, problem, warning
from cloudconsole.server.doctor.fix_commands import ROOT, as_root, shell
from cloudconsole.server.doctor.http_probe import expiry_findings
from cloudconsole.server.doctor.store import read_connection
from cloudconsole.server.ip_addresses import is_in_networks, is_loopback
from cloudconsole.server.runtime.tls import certificate_expiry, read_certificate
from cloudconsole.store.activity_writes import UNDECLARED_SECONDS
from cloudconsole.store.tables import undeclared_proxies


def read_case(
    environment: Mapping[str, str], flags: Mapping[str, str | None], now: float, *, quick: bool
) -> DoctorContext:
    """Build the context from all valid settings; the others are unknown."""
    loader = read_values(environment, flags)
    values, problems, unknown = loader.values, loader.problems, loader.unknown
    given = {name: text for name, text in flags.items() if text is not None}
    while True:
        try:
            return DoctorContext(Settings(**values), problems, now, quick, frozenset(unknown), flags=given)
        except SettingError as error:
            problems += str(error).splitlines()
            unknown |= error.settings
            values = {name: value for name, value in values.items() if name not in unknown}


def check_settings(case: DoctorContext) -> Iterator[Finding]:
    problems = [*case.setting_problems, *_certificate_problems(case.settings)]
    for text in problems:
        yield problem(text, "correct or remove it: cloudconsole serve does not start with it")
    if not problems:
        yield ok("all valid")


def _certificate_problems(settings: Settings) -> list[str]:
    try:
        read_certificate(settings)
    except SettingError as error:
        return str(error).splitlines()
    return []


MAX_LISTED: Final = 10


def check_origin(case: DoctorContext) -> Iterator[Finding]:
    settings = case.settings
    origin, host = settings.public_origin, settings.origin_host
    if origin is None or host is None:
        if settings.only_this_machine:
            yield ok("not set; the console is reachable from this machine only")
        else:
            yield warning(
                f"public_origin is not set, but the console is not for loopback only: {_served_hosts(settings)}",
                "set public_origin to the origin that browsers see, such as https://console.example.com",
            )
        return
    findings = [*_plain_http(origin, host), *_unresolved(host)]
    yield from findings
    if not findings:
        yield ok(f"{origin} resolves")


def check_undeclared_proxies(case: DoctorContext) -> Iterator[Finding]:
    columns = undeclared_proxies.c
    recent = select(columns.address).where(columns.seen_at > case.now - UNDECLARED_SECONDS).order_by(columns.seen_at)
    with read_connection(case, "activity") as connection:
        addresses = connection.scalars(recent).all()
    undeclared = [address for address in addresses if not is_in_networks(address, case.settings.proxies)]
    fix = "add it to proxies if it is yours, or stop it from sending them"
    for address in undeclared[-MAX_LISTED:]:
        text = f"{address} sends forwarded headers but is not in proxies: the headers are ignored"
        # The operator's proxy usually has a private address; on public ones, anyone may send such headers.
        yield problem(text, fix) if _is_private(address) else warning(text, fix)
    if not undeclared:
        yield ok("no forwarded headers from undeclared proxies in the last day")


def _plain_http(origin: str, host: str) -> Iterator[Finding]:
    if origin.startswith("http:") and not is_loopback(host):
        yield warning(
            f"{origin} is not https: passwords and sessions can be intercepted",
            "serve it over https and change public_origin",
        )


def _unresolved(host: str) -> Iterator[Finding]:
    try:
        socket.getaddrinfo(host, None)
    except OSError as error:
        yield warning(f"this machine cannot resolve {host}: {error.strerror}", "fix its DNS entry")


def _is_private(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_private
    except ValueError:
        return False


def _served_hosts(settings: Settings) -> str:
    if settings.hosts:
        return "it accepts every host in hosts"
    if is_loopback(settings.host):
        return "only loopback hosts are served, so requests that a proxy forwards with its own Host are rejected"
    return "it trusts any Host header"


_FOR_OTHERS = stat.S_IRWXO | stat.S_IWGRP
"""A group may read a key, such as Debian's ssl-cert."""


def check_certificate(case: DoctorContext) -> Iterator[Finding]:
    certificate, key = case.settings.tls_certificate, case.settings.tls_key
    if certificate is None or key is None:
        yield ok("not set: the console serves plain http")
        return
    findings = [*_expiry(certificate, case.now), *_key_permissions(key)]
    yield from findings
    if not findings:
        yield ok(f"{certificate} is valid, and {key} is private")


def _expiry(certificate: Path, now: float) -> Iterator[Finding]:
    try:
        expiry = certificate_expiry(certificate).timestamp()
    except SettingError:
        # Reported by the settings check.
        return
    fix = "renew it; a running console reloads the files on SIGHUP"
    yield from expiry_findings(f"the certificate in {certificate}", expiry, now, fix)


def _key_permissions(key: Path) -> Iterator[Finding]:
    try:
        status = key.stat()
    except OSError:
        return
    if status.st_mode & _FOR_OTHERS:
        words = ("chmod", "g-w,o-rwx", key)
        command = shell(*words) if os.geteuid() in (status.st_uid, ROOT) else as_root(*words)
        yield problem(f"other users have access to the private key in {key}", "restrict its permissions", command)


def check_token_keys(case: DoctorContext) -> Iterator[Finding]:
    settings = case.settings
    if not settings.has_keystone:
        yield ok("not needed: no Keystone identity endpoint")
        return
    # Imported here: only needed with OpenStack.
    from cloudconsole.backends.openstack.secret_files import FOR_OTHERS, SecretFileError
    from cloudconsole.backends.openstack.token_encryption_and_keys import read_keys

    file = settings.token_key_file
    if not file.exists():
        yield _missing_keys(file, in_data=settings.token_keys is None)
        return
    try:
        keys = read_keys(file)
    except SecretFileError as error:
        is_open = file.is_file() and file.stat().st_mode & FOR_OTHERS
        command = shell("chmod", "600", file) if is_open else ""
        yield problem(str(error), "cloudconsole serve does not start with it", command)
    else:
        yield ok(f"{file} has {len(keys)} {'key' if len(keys) == 1 else 'keys'} and is private")


def _missing_keys(file: Path, *, in_data: bool) -> Finding:
    if in_data or file.parent.is_dir():
        return ok(f"{file} will be created when the console starts")
    return problem(
        f"no directory {file.parent}: {file.name} cannot be created",
        "create it, or set token_keys",
        shell("mkdir", "-p", "-m", "700", file.parent),
    )
