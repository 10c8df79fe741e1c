"""`cloudconsole conformance`: checks any console from outside, and reports."""

import argparse
import os
import signal
import ssl
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from cloudconsole._version import __version__
from cloudconsole.cli import output
from cloudconsole.cli.conformance_files import ReportFiles
from cloudconsole.cli.conformance_input import MOST_DOMAINS, Refused, read_subject, read_trust, seconds
from cloudconsole.conformance.checks import Check
from cloudconsole.conformance.examination import Examination
from cloudconsole.conformance.report import text
from cloudconsole.conformance.report.json_report import json_report
from cloudconsole.conformance.report.junit import junit_report
from cloudconsole.conformance.report.live import show_ending, show_live
from cloudconsole.conformance.report.summary import Run
from cloudconsole.conformance.running import Result, run_checks
from cloudconsole.conformance.sending import Sender, Unreachable
from cloudconsole.conformance.subject import Subject
from cloudconsole.conformance.table import PROFILES

if TYPE_CHECKING:
    from rich.console import Console

HOLDS, FAILED, USAGE, UNREACHABLE, TERMINATED = 0, 1, 2, 3, 143


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Passwords come from a file, from the variables CLOUDCONSOLE_PASSWORD and CLOUDCONSOLE_OTHER_PASSWORD, or are "
        "asked for. Exit codes: 0 all musts hold, 1 a must failed, 2 wrong usage, 3 could not connect."
    )
    parser.add_argument("base_url", metavar="BASE_URL", help="the console's address, before /api/")
    parser.add_argument("--region", required=True, help="the identity endpoint's address to log in with")
    parser.add_argument("--username", required=True, help="the account to log in with")
    parser.add_argument("--password-file", metavar="FILE", type=Path, help="file with its password")
    parser.add_argument(
        "--other-username", metavar="USERNAME", help="an account of another tenant, for what is kept apart"
    )
    parser.add_argument("--other-password-file", metavar="FILE", type=Path, help="file with that one's password")
    parser.add_argument(
        "--domain-id", metavar="ID", action="append", default=[],
        help=f"a domain of the account's, for GetDomainDetail; up to {MOST_DOMAINS} times",
    )  # fmt: skip
    parser.add_argument(
        "--profile", choices=sorted(PROFILES), default="interface",
        help="interface: what any console must do (the default); all: also what Cloud Console's own does beyond it",
    )  # fmt: skip
    parser.add_argument("--strict", action="store_true", help="fail also where a must could not be checked")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the report as JSON, too")
    parser.add_argument("--junit", metavar="FILE", type=Path, help="write the report as JUnit XML, too")
    trust = parser.add_mutually_exclusive_group()
    trust.add_argument("--ca-file", metavar="FILE", type=Path, help="trust the certificates in this PEM file")
    trust.add_argument("--insecure", action="store_true", help="trust any certificate")
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=seconds, default=10.0,
        help="how long each step of a request may take (10); all of it may take twice as long",
    )  # fmt: skip


class Terminated(Exception):
    """Somebody wants it to end, and not by the keyboard."""


def run(arguments: argparse.Namespace) -> int:
    try:
        subject, verify = read_subject(arguments), read_trust(arguments)
        with ReportFiles(arguments.json, arguments.junit) as files, _ending_in_order():
            whole = _examine(arguments, subject, verify)
            return _report(whole, files, strict=arguments.strict)
    except Refused as problem:
        sys.stderr.write(f"cloudconsole: {problem}\n")
        return USAGE
    except Unreachable as problem:
        sys.stderr.write(f"cloudconsole: {arguments.base_url}: {problem}\n")
        return UNREACHABLE
    except Terminated:
        return TERMINATED


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Within, SIGTERM interrupts as the keyboard does, so that what was begun is ended: sessions are logged out."""
    asked = False

    def interrupt(*_: object) -> None:
        nonlocal asked
        asked = True
        # Which ends the request under way in order; but shells let what runs in the background ignore it.
        if callable(signal.getsignal(signal.SIGINT)):
            signal.raise_signal(signal.SIGINT)
        else:
            # It may strike between the creation of a coroutine and its first step, of which Python would warn.
            warnings.simplefilter("ignore", RuntimeWarning)
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        if asked:
            raise Terminated from None
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _examine(arguments: argparse.Namespace, subject: Subject, verify: ssl.SSLContext | bool) -> Run:
    checks, started, began = PROFILES[arguments.profile], datetime.now(UTC), monotonic()
    accounts = dict(account for account in (subject.account, subject.other) if account is not None)
    with Sender(subject.base, accounts, verify=verify, timeout=arguments.timeout) as sender:
        examination = Examination(subject, sender)
        examination.knock()
        try:
            results = tuple(_shown(run_checks(checks, examination), checks))
        finally:
            examination.leave()
    return Run(
        version=__version__,
        base=subject.base,
        profile=arguments.profile,
        started=started,
        seconds=monotonic() - began,
        requests=sender.budget.requests,
        wrong_logins=sender.budget.wrong_logins,
        results=results,
    )


def _report(whole: Run, files: ReportFiles, *, strict: bool) -> int:
    _tell(whole, strict=strict)
    # What cannot be printed changes the exit code, which a report tells.
    output.flush()
    problem = None
    if files.junit is not None:
        try:
            files.junit.write(junit_report(whole))
        except Refused as refused:
            problem = refused
    conforms = whole.conforms(strict=strict)
    if files.json is not None:
        files.json.write(json_report(whole, ok=conforms and problem is None))
    if problem is not None:
        raise problem
    return HOLDS if conforms else FAILED


def _shown(results: Iterator[Result], checks: tuple[Check, ...]) -> Iterable[Result]:
    """The results, while they are shown as they come."""
    if _on_terminal():
        yield from show_live(results, checks, _console())
        return
    section = ""
    for result in results:
        if text.heading(result) != section:
            section = text.heading(result)
            output.write(f"{section}\n")
        output.write(f"{text.line(result)}\n")
        output.flush()
        yield result


def _tell(whole: Run, *, strict: bool) -> None:
    verdict = text.ending(whole, strict=strict)
    if _on_terminal():
        show_ending(whole.results, verdict, good=whole.conforms(strict=strict), console=_console())
    else:
        output.write(f"{verdict}\n")


def _on_terminal() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _console() -> "Console":
    # Loaded only where it is needed: builds have no terminal.
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False)
