"""Load settings from their sources: defaults, config file, environment variables, flags."""

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
from cloudconsole.store.file_permissions import reason_for_distrust


def read_settings_file(file: Path) -> dict[str, Any]:
    """Parse the file without validation; raise ValueError with a one-line reason that names the file."""
    try:
        with file.open(encoding="utf-8-sig") as opened:
            reason = reason_for_distrust(os.fstat(opened.fileno()))
            text = "" if reason else opened.read()
    except OSError as problem:
        raise ValueError(f"{file}: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{file}: not UTF-8 text") from None
    if reason:
        raise ValueError(f"{file} {reason.en}")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"{file}: not TOML: {problem}") from None


def load_settings(
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, str | None] | None = None,
    default_overrides: Mapping[str, Any] | None = None,
) -> Settings:
    """Return the effective settings; unknown settings are errors.

    The flag `config` names the file. `default_overrides` replace defaults.
    """
    loader = read_values(environment, flags)
    if loader.problems:
        raise SettingError("\n".join(loader.problems))
    return Settings(**{**(default_overrides or {}), **loader.values})


def read_values(
    environment: Mapping[str, str] | None = None, flags: Mapping[str, str | None] | None = None
) -> "SettingsLoader":
    """Return the valid values, and the problems of the others."""
    variables = _variables(os.environ if environment is None else environment)
    given = {name: text for name, text in (flags or {}).items() if text is not None}
    config = variables.pop(CONFIG_VARIABLE, None)
    loader = SettingsLoader()
    if "config" in given:
        loader.read_file(CONFIG_FLAG, given.pop("config"))
    elif config is not None:
        loader.read_file(CONFIG_VARIABLE, config)
    loader.read_variables(variables)
    for name, text in given.items():
        loader.take(name, SETTINGS[name].flag, SETTINGS[name].kind.from_text, text)
    return loader


class SettingsLoader:
    """Values and problems collected so far; later sources override earlier ones."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.problems: list[str] = []
        self.unknown: set[str] = set()
        """Settings with an invalid value; they have no value at all, not even their default."""

    def read_file(self, source: str, path: str) -> None:
        try:
            file = FILE.from_text(path)
            content = read_settings_file(file)
        except ValueError as problem:
            self._reject(f"{source}: {problem}", *SETTINGS)
            return
        for key, value in content.items():
            location = f"{file}: {key if key.isprintable() else ascii(key)}"
            if key in SETTINGS:
                self.take(key, location, SETTINGS[key].kind.from_file, value)
            else:
                self._reject_name(location, key, lambda setting: setting.name)

    def read_variables(self, variables: Mapping[str, str]) -> None:
        for variable, text in variables.items():
            name = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
            if name in SETTINGS and variable == SETTINGS[name].variable:
                self.take(name, variable, SETTINGS[name].kind.from_text, text)
            else:
                self._reject_name(variable, name, lambda setting: setting.variable)

    def take(self, name: str, source: str, read: Callable[[Any], Any], given: Any) -> None:
        try:
            self.values[name] = read(given)
            self.unknown.discard(name)
        except ValueError as problem:
            self._reject(f"{source}: {problem}", name)

    def _reject_name(self, source: str, name: str, spelling: Callable[[Setting], str]) -> None:
        """Report an unknown setting and suggest the nearest one."""
        nearest = difflib.get_close_matches(name, SETTINGS, n=1)
        hint = f"; did you mean {spelling(SETTINGS[nearest[0]])}?" if nearest else ""
        self._reject(f"{source}: unknown setting{hint} (see cloudconsole serve --help)", *nearest)

    def _reject(self, problem: str, *settings: str) -> None:
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
