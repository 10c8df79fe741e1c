"""The settings: every one that is wrong, and what can be looked at all the same."""

from collections.abc import Iterator, Mapping

from cloudconsole.server.config.loader import read_values
from cloudconsole.server.config.settings import SettingError, Settings
from cloudconsole.server.doctor.findings import Case, Finding, ok, problem
from cloudconsole.server.runtime.tls import read_certificate


def read_case(environment: Mapping[str, str], flags: Mapping[str, str | None], now: float, *, quick: bool) -> Case:
    """The console that the settings mean, as far as they can be used."""
    reading = read_values(environment, flags)
    values, problems, unknown = reading.values, reading.problems, reading.unknown
    given = {name: text for name, text in flags.items() if text is not None}
    while True:
        try:
            return Case(Settings(**values), problems, now, quick, frozenset(unknown), flags=given)
        except SettingError as refused:
            problems += str(refused).splitlines()
            unknown |= refused.settings
            values = {name: value for name, value in values.items() if name not in unknown}


def check_settings(case: Case) -> Iterator[Finding]:
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
