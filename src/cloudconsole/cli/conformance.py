"""`cloudconsole conformance`: check any console and write reports."""

import argparse
import os
import signal
import ssl
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

from cloudconsole._version import __version__
from cloudconsole.cli import conformance_messages as messages
from cloudconsole.cli import stdout
from cloudconsole.cli.argument_parser import Parser, add_completion
from cloudconsole.cli.config import use_profile_language
from cloudconsole.cli.errors import UsageError, print_error, system_error
from cloudconsole.cli.i18n import FLAG, LANGUAGES, current_language, translate
from cloudconsole.cli.messages import LANG_FLAG
from cloudconsole.cli.passwords import ask_password, can_ask, in_file, in_variable
from cloudconsole.cli.report_files import ReportFiles
from cloudconsole.cli.runner import describe_tls_errors
from cloudconsole.conformance import reports
from cloudconsole.conformance.assertions import CheckSkipped
from cloudconsole.conformance.checks import Check
from cloudconsole.conformance.client import Account, ConsoleClient, Sender, Target
from cloudconsole.conformance.connection import NoResponse, Unreachable
from cloudconsole.conformance.context import CheckContext, LoginRejected, listed_regions, looks_like_console
from cloudconsole.conformance.redaction import redact
from cloudconsole.conformance.reports import Run, json_report, junit_report, show_ending, show_live
from cloudconsole.conformance.responses import describe_response
from cloudconsole.conformance.runner import PROFILES, Result, names, run_checks, select
from cloudconsole.spec.console_url import normalise_base_url
from cloudconsole.spec.text_escaping import LONG_LENGTH, escape_and_truncate, is_utf8_encodable

if TYPE_CHECKING:
    from rich.console import Console

MAX_DOMAINS: Final = 4
MAX_PASSWORD_LENGTH: Final = 1024


def _read_target(arguments: argparse.Namespace) -> Target:
    if arguments.base_url is None:
        raise UsageError(translate(messages.REQUIRED, names="BASE_URL, --username"))
    base = _base(arguments.base_url)
    for flag in ("region", "username", "other_username", "domain_id"):
        _reject_non_utf8(f"--{flag.replace('_', '-')}", getattr(arguments, flag))
    if len(arguments.domain_id) > MAX_DOMAINS:
        raise UsageError(translate(messages.TOO_MANY_DOMAINS, most=MAX_DOMAINS))
    if arguments.username is None:
        raise UsageError(translate(messages.REQUIRED, names="--username"))
    if arguments.other_username is None and arguments.other_password_file is not None:
        raise UsageError(translate(messages.NEEDS_OTHER_USERNAME))
    if arguments.other_username == arguments.username:
        raise UsageError(translate(messages.SAME_USERNAME))
    account = Account(arguments.username, _password("", arguments.username, arguments.password_file, base))
    other = None
    if arguments.other_username is not None:
        password = _password("OTHER_", arguments.other_username, arguments.other_password_file, base)
        other = Account(arguments.other_username, password)
    return Target(base, arguments.region or "", account, other, tuple(dict.fromkeys(arguments.domain_id)))


def _reject_non_utf8(source: str, given: str | list[str] | None) -> None:
    if not is_utf8_encodable("".join(given or ())):
        raise UsageError(translate(messages.NOT_UTF8, source=source))


def seconds(text: str) -> float:
    """Parse a time limit for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 300:
        raise argparse.ArgumentTypeError(translate(messages.SECONDS))
    return value


def _base(given: str) -> str:
    try:
        return normalise_base_url(given)
    except ValueError:
        raise UsageError(translate(messages.INVALID_BASE_URL)) from None


def _password(prefix: str, username: str, file: Path | None, base: str) -> str:
    """Read the password from the file or the environment, else prompt for it."""
    flag, variable = f"--{prefix.lower().replace('_', '-')}password-file", f"CLOUDCONSOLE_{prefix}PASSWORD"
    given = in_file(flag, file) or in_variable(variable, os.environ.get(variable))
    if given is None and not can_ask():
        raise UsageError(translate(messages.NO_PASSWORD, username=username, flag=flag, variable=variable))
    password = given.read() if given else ask_password(username, base)
    if len(password) > MAX_PASSWORD_LENGTH:
        raise UsageError(translate(messages.PASSWORD_LENGTH, username=username, most=MAX_PASSWORD_LENGTH))
    _reject_non_utf8(translate(messages.PASSWORD_OF, username=username), password)
    return password


def _read_verify(arguments: argparse.Namespace) -> ssl.SSLContext | bool:
    if arguments.ca_file is None:
        return not arguments.insecure
    try:
        return ssl.create_default_context(cafile=arguments.ca_file)
    except (ssl.SSLError, OSError) as problem:
        reason = system_error(problem) or translate(messages.NO_CERTIFICATE)
        raise UsageError(translate(messages.CA_FILE, file=arguments.ca_file, reason=reason)) from None


CONFORMS, FAILED, USAGE, UNREACHABLE, NOT_LOGGED_IN, TERMINATED = 0, 1, 2, 3, 4, 143


def add_arguments(parser: Parser) -> None:
    parser.elsewhere["--profile"] = "--suite"
    parser.epilog = translate(messages.EPILOG)
    parser.add_argument("base_url", metavar="BASE_URL", nargs="?", help=translate(messages.BASE_URL_ARGUMENT))
    parser.add_argument(
        "--region",
        help=translate(messages.REGION_FLAG),
    )
    parser.add_argument("--username", help=translate(messages.USERNAME_FLAG))
    parser.add_argument("--password-file", metavar="FILE", type=Path, help=translate(messages.PASSWORD_FILE_FLAG))
    parser.add_argument("--other-username", metavar="USERNAME", help=translate(messages.OTHER_USERNAME_FLAG))
    parser.add_argument(
        "--other-password-file", metavar="FILE", type=Path, help=translate(messages.OTHER_PASSWORD_FILE_FLAG)
    )
    parser.add_argument(
        "--domain-id", metavar="ID", action="append", default=[],
        help=translate(messages.DOMAIN_ID_FLAG, most=MAX_DOMAINS),
    )  # fmt: skip
    parser.add_argument(
        "--suite", choices=sorted(PROFILES), default="interface",
        help=translate(messages.SUITE_FLAG),
    )  # fmt: skip
    only = parser.add_argument(
        "--only", metavar="ID", action="append", default=[],
        help=translate(messages.ONLY_FLAG),
    )  # fmt: skip
    add_completion(only, lambda: [check.id for check in PROFILES["all"]])
    parser.add_argument("--list", action="store_true", help=translate(messages.LIST_FLAG))
    parser.add_argument("--verify", metavar="FILE", type=Path, help=translate(messages.VERIFY_FLAG))
    parser.add_argument("--strict", action="store_true", help=translate(messages.STRICT_FLAG))
    parser.add_argument("--json", metavar="FILE", type=Path, help=translate(messages.JSON_FLAG))
    parser.add_argument("--junit", metavar="FILE", type=Path, help=translate(messages.JUNIT_FLAG))
    trust = parser.add_mutually_exclusive_group()
    trust.add_argument("--ca-file", metavar="FILE", type=Path, help=translate(messages.CA_FILE_FLAG))
    trust.add_argument("--insecure", action="store_true", help=translate(messages.INSECURE_FLAG))
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=seconds, default=10.0,
        help=translate(messages.TIMEOUT_FLAG),
    )  # fmt: skip
    parser.add_argument(FLAG, choices=LANGUAGES, help=translate(LANG_FLAG))


class Terminated(BaseException):
    """SIGTERM was received; like KeyboardInterrupt, no check may catch it."""


def run(arguments: argparse.Namespace) -> int:
    use_profile_language(arguments)
    try:
        checks = _selected(arguments)
        if arguments.verify is not None:
            return _verify(arguments.verify)
        if arguments.list:
            stdout.write(reports.listing(checks, current_language()))
            return CONFORMS
        target, verify = _read_target(arguments), _read_verify(arguments)
        with ReportFiles(arguments.json, arguments.junit) as files, _terminating_cleanly():
            report = _run(arguments, target, verify, checks)
            return _report(report, files)
    except UsageError as problem:
        print_error(str(problem))
        return USAGE
    except Unreachable as problem:
        print_error(translate(messages.NOT_CONNECTED, base=arguments.base_url, reason=_connection_problem(problem)))
        return UNREACHABLE
    except LoginRejected as problem:
        print_error(translate(messages.NOT_LOGGED_IN, problem=problem))
        return NOT_LOGGED_IN
    except Terminated:
        return TERMINATED


def _connection_problem(problem: Unreachable) -> str:
    """Say why no connection is possible, and what to do about a TLS error."""
    cause = problem.__cause__
    if isinstance(cause, ssl.SSLError):
        return describe_tls_errors(str(cause))
    return str(problem).removeprefix("could not connect: ")


@contextmanager
def _terminating_cleanly() -> Iterator[None]:
    """Raise `Terminated` at SIGTERM, so that sessions are logged out."""

    def terminate(*_: object) -> None:
        raise Terminated

    previous = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _selected(arguments: argparse.Namespace) -> tuple[Check, ...]:
    checks = PROFILES[arguments.suite]
    try:
        return select(checks, arguments.only) if arguments.only else checks
    except ValueError as problem:
        given = str(problem)
        near = get_close_matches(given, names(checks), 1)
        hint = translate(messages.HINT_ALL if arguments.suite == "all" else messages.HINT_INTERFACE)
        if near:
            hint = translate(messages.DID_YOU_MEAN, near=near[0])
        name = escape_and_truncate(given, LONG_LENGTH)
        raise UsageError(translate(messages.UNKNOWN_CHECK, name=name, profile=arguments.suite, hint=hint)) from None


def _verify(file: Path) -> int:
    try:
        summary = reports.verified_summary(file.read_text("utf-8"), current_language())
    except OSError as problem:
        raise UsageError(translate(messages.VERIFY_FAILED, file=file, reason=system_error(problem))) from None
    except (ValueError, RecursionError):
        reason = translate(messages.NOT_A_REPORT)
        raise UsageError(translate(messages.VERIFY_FAILED, file=file, reason=reason)) from None
    text = translate(messages.CHANGED) if summary is None else translate(messages.UNCHANGED, summary=summary)
    text = escape_and_truncate(text, LONG_LENGTH)
    stdout.write(f"{translate(messages.VERIFIED, file=file, result=text)}\n")
    return FAILED if summary is None else CONFORMS


def _with_region(target: Target, sender: Sender) -> Target:
    """Choose the region that the console lists, if none was given."""
    if target.region:
        return target
    try:
        response = ConsoleClient(sender, "").open()
    except Unreachable:
        raise
    except (NoResponse, CheckSkipped) as problem:
        raise UsageError(translate(messages.NO_REGION, reason=problem)) from None
    regions = listed_regions(response)
    if not looks_like_console(response):
        reason = redact(describe_response(response), sender.secrets)
        raise UsageError(translate(messages.NOT_A_CONSOLE, base=target.base, reason=reason))
    if not regions:
        reason = redact(describe_response(response), sender.secrets)
        raise UsageError(translate(messages.NO_REGION, reason=reason))
    if len(regions) > 1:
        listed = escape_and_truncate(", ".join(regions), LONG_LENGTH)
        raise UsageError(translate(messages.SEVERAL_REGIONS, regions=listed))
    return target._replace(region=regions[0])


LOGIN, OTHER_LOGIN = "login.accepted", "console.domain.another-tenants"
"""Checks that need a login with the account and with the other account."""


def _run(
    arguments: argparse.Namespace, target: Target, verify: ssl.SSLContext | bool, checks: tuple[Check, ...]
) -> Run:
    started, began = datetime.now(UTC), monotonic()
    accounts = dict(account for account in (target.account, target.other) if account is not None)
    with Sender(target.base, accounts, verify=verify, timeout=arguments.timeout) as sender:
        target = _with_region(target, sender)
        context = CheckContext(target, sender)
        context.check_reachable()
        ids = {check.id for check in checks}
        try:
            if LOGIN in ids:
                context.check_accounts(with_other=OTHER_LOGIN in ids)
            results = tuple(_show(run_checks(checks, context), checks))
        finally:
            context.log_out_all()
    return Run(
        version=__version__,
        base=target.base,
        region=target.region,
        profile=arguments.suite,
        only=tuple(arguments.only),
        strict=arguments.strict,
        started=started,
        seconds=monotonic() - began,
        requests=sender.limits.requests,
        wrong_logins=sender.limits.wrong_logins,
        results=results,
    )


def _report(report: Run, files: ReportFiles) -> int:
    _show_ending(report)
    # A failed write changes the exit code, which the report contains.
    stdout.flush()
    problem = None
    if files.junit is not None:
        try:
            files.junit.write(junit_report(report))
        except UsageError as error:
            problem = error
    if files.json is not None:
        files.json.write(json_report(report, ok=report.conforms and problem is None))
    if problem is not None:
        raise problem
    return CONFORMS if report.conforms else FAILED


def _show(results: Iterator[Result], checks: tuple[Check, ...]) -> Iterable[Result]:
    """Show the results as they arrive, and pass them on."""
    if _on_terminal():
        yield from show_live(results, checks, _console(), current_language())
        return
    section = ""
    for result in results:
        if reports.heading(result) != section:
            section = reports.heading(result)
            stdout.write(f"{section}\n")
        stdout.write(f"{reports.line(result, current_language())}\n")
        stdout.flush()
        yield result


def _show_ending(report: Run) -> None:
    verdict = reports.ending(report, current_language())
    if _on_terminal():
        show_ending(report.results, verdict, current_language(), good=report.conforms, console=_console())
    else:
        stdout.write(f"{verdict}\n")


def _on_terminal() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _console() -> "Console":
    # Imported late: CI builds have no terminal.
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False)
