"""Words that commands and pages have in common."""

from collections.abc import Mapping
from typing import Final

SWITCHED: Final = ("disabled", "enabled")
"""Fields that have verbs of their own."""

PAST: Final[Mapping[str, str]] = {
    "add": "added",
    "change": "changed",
    "disable": "disabled",
    "enable": "enabled",
    "end": "ended",
    "reset": "reset to the defaults",
    "remove": "removed",
}
"""What a verb did."""

NOTHING_TO_CHANGE: Final = "nothing to change"
