"""The settings: every one that is wrong, and those that are left when these are passed over."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cloudconsole.server.doctor.findings import Case, Finding, ok, problem
from cloudconsole.server.settings import SettingError, Settings, read_values
from cloudconsole.server.tls import read_certificate


def read_settings(environment: Mapping[str, str], flags: Mapping[str, str | None]) -> tuple[Settings, list[str]]:
    """The settings that can be used, and what is wrong with the rest."""
    values, problems = read_values(environment, flags)
    while True:
        try:
            return Settings(**values), problems
        except SettingError as refused:
            lines = str(refused).splitlines()
            problems += lines
            for name in [name for line in lines for name in _to_drop(line, values)]:
                values.pop(name, None)


def check_settings(case: Case) -> Iterator[Finding]:
    problems = [*case.setting_problems, *_certificate_problems(case.settings)]
    for text in problems:
        yield problem(text, "correct it or take it out: cloudconsole serve does not start with it")
    if not problems:
        yield ok("all that are given can be used")


def _to_drop(line: str, values: Mapping[str, Any]) -> list[str]:
    """The settings to pass over for a contradiction: the one it is about, or where that was not given, all in it."""
    named = [name for name in re.findall(r"\w+", line) if name in values]
    about = line.partition(":")[0]
    return [about] if about in named else named or list(values)


def _certificate_problems(settings: Settings) -> list[str]:
    try:
        read_certificate(settings)
    except SettingError as refused:
        return str(refused).splitlines()
    return []
