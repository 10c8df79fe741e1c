"""`cloudconsole doctor`: every check, in plain words or as JSON."""

import argparse
import os
from collections.abc import Iterable

from cloudconsole.cli import output, printing
from cloudconsole.core.clock import SystemClock
from cloudconsole.server.doctor.examination import Result, examine
from cloudconsole.server.doctor.findings import Finding
from cloudconsole.server.doctor.setting_checks import read_case
from cloudconsole.server.settings import SETTINGS
from cloudconsole.server.settings_text import add_config_flag, add_setting_flags
from cloudconsole.spec.visible import visible


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s [--config FILE] [--quick] [--json] [--SETTING VALUE ...]"
    parser.epilog = "It takes the same settings as cloudconsole serve: give it those that the console runs with."
    parser.add_argument("--quick", action="store_true", help="look less deeply into the databases")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    add_config_flag(parser)
    add_setting_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    flags = {name: getattr(arguments, name) for name in ("config", *SETTINGS)}
    results = examine(read_case(os.environ, flags, SystemClock().now(), quick=arguments.quick))
    is_well = all(result.level != "problem" for result in results)
    if arguments.json:
        printing.print_json({"ok": is_well, "findings": [result._asdict() for result in results]})
    else:
        output.write(_text(results))
    return 0 if is_well else 1


def _text(results: Iterable[Result]) -> str:
    lines = []
    findings = _by_finding(results)
    for (level, said, mend), checks in findings.items():
        lines.append(f"{level:<8} {', '.join(checks)}: {visible(said)}")
        if mend:
            lines.append(f"{'':<8} → {visible(mend)}")
    counts = {level: sum(finding.level == level for finding in findings) for level in ("problem", "warning")}
    lines.append(f"problems: {counts['problem']}, warnings: {counts['warning']}")
    return "\n".join(lines) + "\n"


def _by_finding(results: Iterable[Result]) -> dict[Finding, list[str]]:
    """What many checks found alike, such as that they could not look, is told once."""
    checks: dict[Finding, list[str]] = {}
    for check, level, text, mend in results:
        checks.setdefault(Finding(level, text, mend), []).append(check)
    return checks
