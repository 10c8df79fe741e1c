"""Per-user files, in the XDG base directories."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

PREFIX: Final = "CLOUDCONSOLE_"
"""Prefix of all environment variables."""
_NAME: Final = "cloudconsole"


def profiles_file(environment: Mapping[str, str] = os.environ) -> Path:
    return _directory(environment, "XDG_CONFIG_HOME", ".config") / "config.toml"


def sessions_file(environment: Mapping[str, str] = os.environ) -> Path:
    return _directory(environment, "XDG_STATE_HOME", ".local/state") / "sessions.json"


def _directory(environment: Mapping[str, str], variable: str, below_home: str) -> Path:
    configured = Path(environment.get(variable, ""))
    # The XDG specification says to ignore relative paths.
    return (configured if configured.is_absolute() else _home() / below_home) / _NAME


def _home() -> Path:
    try:
        home = Path.home()
    except RuntimeError:
        # No passwd entry, as in a container, and no HOME.
        home = Path()
    # A relative path would depend on the working directory.
    return home if home.is_absolute() else Path("/nonexistent")
