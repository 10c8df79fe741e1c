"""`cloudconsole doctor`: run every check and print the findings as text or JSON."""

import argparse
import logging
import os
from collections.abc import Iterable
from dataclasses import replace

from cloudconsole.cli import output, stdout
from cloudconsole.core.clock import SystemClock
from cloudconsole.core.identity_urls_and_projects import normalise_region
from cloudconsole.operator.errors import OperatorError
from cloudconsole.server.commands.passwords import add_password_arguments, read_password
from cloudconsole.server.config.docs import add_config_flag, add_setting_flags
from cloudconsole.server.config.settings import SETTINGS
from cloudconsole.server.doctor.config import read_case
from cloudconsole.server.doctor.context_and_findings import DoctorContext, Finding, Login
from cloudconsole.server.doctor.openstack import keystone_endpoints
from cloudconsole.server.doctor.runner import Result, run_checks
from cloudconsole.server.logging import exit_with_error
from cloudconsole.spec.text_escaping import escape


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s [--config FILE] [--quick] [--json] [--as USER [--at ADDRESS]] [--SETTING VALUE ...]"
    parser.epilog = "Takes the settings of cloudconsole serve: pass the same ones."
    parser.add_argument("--quick", action="store_true", help="skip slow database checks")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument("--as", dest="user", metavar="USER", help="also log in to OpenStack as this user")
    parser.add_argument("--at", metavar="ADDRESS", help="identity endpoint for --as, if there are several")
    add_password_arguments(parser)
    add_config_flag(parser)
    add_setting_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    flags = {name: getattr(arguments, name) for name in ("config", *SETTINGS)}
    # Failures are reported as findings, not logged.
    logging.getLogger("cloudconsole").addHandler(logging.NullHandler())
    case = read_case(os.environ, flags, SystemClock().now(), quick=arguments.quick)
    try:
        case = replace(case, login=_login(arguments, case))
    except OperatorError as error:
        return exit_with_error(str(error))
    results = run_checks(case)
    is_ok = all(result.level != "problem" for result in results)
    if arguments.json:
        output.print_json({"ok": is_ok, "findings": [result._asdict() for result in results]})
    else:
        stdout.write(_text(results))
    return 0 if is_ok else 1


def _login(arguments: argparse.Namespace, case: DoctorContext) -> Login | None:
    if arguments.user is None:
        if arguments.at is not None or arguments.password_stdin or arguments.password_file is not None:
            raise OperatorError("--at and password options need --as USER")
        return None
    addresses = [endpoint.address for endpoint in keystone_endpoints(case)]
    if not addresses:
        raise OperatorError("--as: no Keystone identity endpoint is configured")
    chosen = addresses if arguments.at is None else [normalise_region(arguments.at)]
    if len(chosen) != 1 or chosen[0] not in addresses:
        raise OperatorError(f"--at: choose the endpoint to log in to: {' or '.join(addresses)}")
    return Login(chosen[0], arguments.user, read_password(arguments))


def _text(results: Iterable[Result]) -> str:
    lines = []
    findings = _by_finding(results)
    for (level, text, fix, command), checks in findings.items():
        lines.append(f"{level:<8} {', '.join(checks)}: {escape(text)}")
        if fix:
            lines.append(f"{'':<8} → {escape(fix)}{':' if command else ''}")
        if command:
            # On a separate line, so that it can be copied whole.
            lines.append(f"{'':<8}   {escape(command)}")
    counts = {level: sum(finding.level == level for finding in findings) for level in ("problem", "warning")}
    lines.append(f"problems: {counts['problem']}, warnings: {counts['warning']}")
    return "\n".join(lines) + "\n"


def _by_finding(results: Iterable[Result]) -> dict[Finding, list[str]]:
    """Group checks by identical finding, such as one shared reason for not running."""
    checks: dict[Finding, list[str]] = {}
    for check, level, text, fix, command in results:
        checks.setdefault(Finding(level, text, fix, command), []).append(check)
    return checks
