"""The console's own certificate and its key, whether the console runs or not."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from cloudconsole.server.config.settings import SettingError
from cloudconsole.server.doctor.findings import Case, Finding, ok, problem
from cloudconsole.server.doctor.outside import expiry_findings
from cloudconsole.server.doctor.shell import ROOT, as_root, shell
from cloudconsole.server.runtime.tls import certificate_expiry

_FOR_OTHERS = stat.S_IRWXO | stat.S_IWGRP
"""A group may read a key, such as Debian's ssl-cert."""


def check_certificate(case: Case) -> Iterator[Finding]:
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
