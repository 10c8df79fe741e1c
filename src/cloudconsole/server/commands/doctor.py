"""`cloudconsole doctor`: every check, in plain words or as JSON."""

import argparse
import json
import os
import sys
from collections.abc import Iterable
from typing import Any

from cloudconsole.core.clock import SystemClock
from cloudconsole.server.doctor.examination import Result, examine
from cloudconsole.server.doctor.setting_checks import read_case
from cloudconsole.server.settings import SETTINGS
from cloudconsole.server.settings_text import add_config_flag, add_setting_flags
from cloudconsole.server.visible import visible, visible_json


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
        findings = [result._asdict() for result in results]
        sys.stdout.write(_json({"ok": is_well, "findings": findings}))
    else:
        sys.stdout.write(_text(results))
    return 0 if is_well else 1


def _json(answer: dict[str, Any]) -> str:
    lines = json.dumps(answer, ensure_ascii=False, indent=2).split("\n")
    return "".join(f"{visible_json(line)}\n" for line in lines)


def _text(results: Iterable[Result]) -> str:
    lines = []
    for result in results:
        lines.append(f"{result.level:<8} {result.check}: {visible(result.text)}")
        if result.mend:
            lines.append(f"{'':<8} → {visible(result.mend)}")
    counts = {level: sum(result.level == level for result in results) for level in ("problem", "warning")}
    lines.append(f"problems: {counts['problem']}, warnings: {counts['warning']}")
    return "\n".join(lines) + "\n"
