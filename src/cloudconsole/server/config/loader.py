"""Settings from their sources: defaults, then the config file, then environment variables, then flags."""

import difflib
import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cloudconsole.server.config.settings import (
    CLIENT_VARIABLES,
    CONFIG_FLAG,
    CONFIG_VARIABLE,
    ENVIRONMENT_PREFIX,
    SETTINGS,
    Setting,
    SettingError,
    Settings,
)
from cloudconsole.server.config.types import FILE


def read_settings_file(file: Path) -> dict[str, Any]:
    """What the file says, unchecked; a ValueError's text names the file and says in one line why it cannot be read."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as problem:
        raise ValueError(f"{file}: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{file}: this is not UTF-8 text") from None
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"{file}: this is not TOML: {problem}") from None


def load_settings(
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, str | None] | None = None,
    stand_ins: Mapping[str, Any] | None = None,
) -> Settings:
    """The settings in force; `config` among the flags names the file. What is unknown is as wrong as a wrong value.

    Stand-ins take the place of defaults.
    """
    reading = read_values(environment, flags)
    if reading.problems:
        raise SettingError("\n".join(reading.problems))
    return Settings(**{**(stand_ins or {}), **reading.values})


def read_values(
    environment: Mapping[str, str] | None = None, flags: Mapping[str, str | None] | None = None
) -> "SettingsLoader":
    """The values that were given and can be read, and what is wrong with the others."""
    variables = _variables(os.environ if environment is None else environment)
    given = {name: text for name, text in (flags or {}).items() if text is not None}
    config = variables.pop(CONFIG_VARIABLE, None)
    reading = SettingsLoader()
    if "config" in given:
        reading.read_file(CONFIG_FLAG, given.pop("config"))
    elif config is not None:
        reading.read_file(CONFIG_VARIABLE, config)
    reading.read_variables(variables)
    for name, text in given.items():
        reading.take(name, SETTINGS[name].flag, SETTINGS[name].kind.from_text, text)
    return reading


class SettingsLoader:
    """What was given so far, the later before the earlier, and all that is wrong with it."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.problems: list[str] = []
        self.unknown: set[str] = set()
        """Settings that were given in a way that cannot be read: they have no value, not even their default."""

    def read_file(self, source: str, path: str) -> None:
        try:
            file = FILE.from_text(path)
            content = read_settings_file(file)
        except ValueError as problem:
            self._refuse(f"{source}: {problem}", *SETTINGS)
            return
        for key, value in content.items():
            place = f"{file}: {key if key.isprintable() else ascii(key)}"
            if key in SETTINGS:
                self.take(key, place, SETTINGS[key].kind.from_file, value)
            else:
                self._refuse_name(place, key, lambda setting: setting.name)

    def read_variables(self, variables: Mapping[str, str]) -> None:
        for variable, text in variables.items():
            name = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
            if name in SETTINGS and variable == SETTINGS[name].variable:
                self.take(name, variable, SETTINGS[name].kind.from_text, text)
            else:
                self._refuse_name(variable, name, lambda setting: setting.variable)

    def take(self, name: str, source: str, read: Callable[[Any], Any], given: Any) -> None:
        try:
            self.values[name] = read(given)
            self.unknown.discard(name)
        except ValueError as problem:
            self._refuse(f"{source}: {problem}", name)

    def _refuse_name(self, source: str, name: str, shown: Callable[[Setting], str]) -> None:
        """There is no such setting; the nearest may be meant."""
        nearest = difflib.get_close_matches(name, SETTINGS, n=1)
        hint = f"; the nearest is {shown(SETTINGS[nearest[0]])}" if nearest else ""
        self._refuse(f"{source}: there is no such setting{hint} (see cloudconsole serve --help)", *nearest)

    def _refuse(self, problem: str, *settings: str) -> None:
        self.problems.append(problem)
        for name in settings:
            self.values.pop(name, None)
        self.unknown.update(settings)


def _variables(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: text
        for name, text in environment.items()
        if name.startswith(ENVIRONMENT_PREFIX) and name not in CLIENT_VARIABLES
    }
