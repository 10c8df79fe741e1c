"""`cloudconsole conformance`: check any console from outside, and write reports."""

import argparse
import os
import signal
import ssl
import stat
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final, TextIO

from cloudconsole._version import __version__
from cloudconsole.cli import stdout
from cloudconsole.cli.errors import UsageError
from cloudconsole.cli.passwords import ask_password, can_ask, in_file, in_variable
from cloudconsole.conformance import reports
from cloudconsole.conformance.checks import Check
from cloudconsole.conformance.client import Account, Sender, Target, Unreachable
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.reports import Run, json_report, junit_report, show_ending, show_live
from cloudconsole.conformance.runner import PROFILES, Result, run_checks
from cloudconsole.spec.constants import is_utf8_encodable
from cloudconsole.spec.urls import normalise_base_url

if TYPE_CHECKING:
    from rich.console import Console

MOST_DOMAINS: Final = 4
LONGEST_PASSWORD: Final = 1024


class Refused(Exception):
    """What was given cannot be used; the text says why."""


def read_subject(arguments: argparse.Namespace) -> Target:
    base = _base(arguments.base_url)
    for flag in ("region", "username", "other_username", "domain_id"):
        _refuse_other_encodings(f"--{flag.replace('_', '-')}", getattr(arguments, flag))
    if len(arguments.domain_id) > MOST_DOMAINS:
        raise Refused(f"--domain-id: at most {MOST_DOMAINS}, so that there are not too many requests")
    if arguments.other_username is None and arguments.other_password_file is not None:
        raise Refused("--other-password-file: give --other-username, too")
    if arguments.other_username == arguments.username:
        raise Refused("--other-username: must be another account than --username")
    account = Account(arguments.username, _password("", arguments.username, arguments.password_file, base))
    other = None
    if arguments.other_username is not None:
        password = _password("OTHER_", arguments.other_username, arguments.other_password_file, base)
        other = Account(arguments.other_username, password)
    return Target(base, arguments.region, account, other, tuple(dict.fromkeys(arguments.domain_id)))


def _refuse_other_encodings(source: str, given: str | list[str] | None) -> None:
    """What was not UTF-8 where it came from cannot be sent as text."""
    if not is_utf8_encodable("".join(given or ())):
        raise Refused(f"{source}: must be UTF-8 text")


def seconds(text: str) -> float:
    """A time limit, as argparse wants it."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 300:
        raise argparse.ArgumentTypeError("must be a number of seconds over 0 and at most 300")
    return value


def _base(given: str) -> str:
    try:
        return normalise_base_url(given)
    except ValueError as problem:
        raise Refused(f"BASE_URL: {problem}") from None


def _password(prefix: str, username: str, file: Path | None, base: str) -> str:
    """From the file, else from the environment, else asked for on the terminal."""
    flag, variable = f"--{prefix.lower().replace('_', '-')}password-file", f"CLOUDCONSOLE_{prefix}PASSWORD"
    given = in_file(flag, file) or in_variable(variable, os.environ.get(variable))
    if given is None and not can_ask():
        raise Refused(f"there is no terminal to ask for the password of {username}: give {flag} or {variable}")
    try:
        password = given.read() if given else ask_password(username, base)
    except UsageError as problem:
        raise Refused(str(problem)) from None
    if len(password) > LONGEST_PASSWORD:
        raise Refused(f"the password of {username} must have 1 to {LONGEST_PASSWORD} characters")
    _refuse_other_encodings(f"the password of {username}", password)
    return password


def read_trust(arguments: argparse.Namespace) -> ssl.SSLContext | bool:
    if arguments.ca_file is None:
        return not arguments.insecure
    try:
        return ssl.create_default_context(cafile=arguments.ca_file)
    except (ssl.SSLError, OSError) as problem:
        raise Refused(f"--ca-file: {arguments.ca_file}: {problem.strerror or 'has no certificates in PEM'}") from None


class ReportFile:
    """What is in the file already stays until there is a report to take its place."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_new = not path.exists()
        try:
            self._file: TextIO = path.open("a", encoding="utf-8")
        except OSError as problem:
            raise Refused(f"{path}: cannot be written: {problem.strerror}") from None

    def is_same_as(self, other: "ReportFile") -> bool:
        return os.path.samestat(os.fstat(self._file.fileno()), os.fstat(other._file.fileno()))

    def write(self, content: str) -> None:
        self._is_new = False
        try:
            with self._file:
                if stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
                    self._file.truncate(0)
                self._file.write(content)
        except OSError as problem:
            raise Refused(f"{self._path}: cannot be written: {problem.strerror}") from None

    def close(self) -> None:
        """Without a report there is no new file."""
        self._file.close()
        if self._is_new:
            self._path.unlink(missing_ok=True)


class ReportFiles:
    """The two reports, where they are wanted; a context manager."""

    def __init__(self, json: Path | None, junit: Path | None) -> None:
        self.json = None if json is None else ReportFile(json)
        try:
            self.junit = None if junit is None else ReportFile(junit)
        except Refused:
            self._close(self.json)
            raise
        if self.json and self.junit and self.json.is_same_as(self.junit):
            self._close(self.junit, self.json)
            raise Refused(f"--junit: {junit} is the file of --json; each report needs its own")

    def __enter__(self) -> "ReportFiles":
        return self

    def __exit__(self, *_: object) -> None:
        self._close(self.json, self.junit)

    @staticmethod
    def _close(*files: ReportFile | None) -> None:
        for file in files:
            if file is not None:
                file.close()


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


def _examine(arguments: argparse.Namespace, subject: Target, verify: ssl.SSLContext | bool) -> Run:
    checks, started, began = PROFILES[arguments.profile], datetime.now(UTC), monotonic()
    accounts = dict(account for account in (subject.account, subject.other) if account is not None)
    with Sender(subject.base, accounts, verify=verify, timeout=arguments.timeout) as sender:
        examination = CheckContext(subject, sender)
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
    stdout.flush()
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
        if reports.heading(result) != section:
            section = reports.heading(result)
            stdout.write(f"{section}\n")
        stdout.write(f"{reports.line(result)}\n")
        stdout.flush()
        yield result


def _tell(whole: Run, *, strict: bool) -> None:
    verdict = reports.ending(whole, strict=strict)
    if _on_terminal():
        show_ending(whole.results, verdict, good=whole.conforms(strict=strict), console=_console())
    else:
        stdout.write(f"{verdict}\n")


def _on_terminal() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _console() -> "Console":
    # Loaded only where it is needed: builds have no terminal.
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False)
