"""The user's own folders, where the desktop's rules (XDG) put them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

PREFIX: Final = "CLOUDCONSOLE_"
"""Of our variables."""
_OURS: Final = "cloudconsole"


def profiles_file(environment: Mapping[str, str] = os.environ) -> Path:
    return _folder(environment, "XDG_CONFIG_HOME", ".config") / "config.toml"


def sessions_file(environment: Mapping[str, str] = os.environ) -> Path:
    return _folder(environment, "XDG_STATE_HOME", ".local/state") / "sessions.json"


def _folder(environment: Mapping[str, str], variable: str, below_home: str) -> Path:
    chosen = Path(environment.get(variable, ""))
    # The rules say that a relative one is to be passed over.
    return (chosen if chosen.is_absolute() else _home() / below_home) / _OURS


def _home() -> Path:
    try:
        home = Path.home()
    except RuntimeError:
        # A user without a name, as in a container, and without HOME.
        home = Path()
    # A relative one would be another folder with every step.
    return home if home.is_absolute() else Path("/nonexistent")
