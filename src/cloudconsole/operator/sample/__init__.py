"""A small cloud to look at: two tenants, their operator, and something of everything."""

from pathlib import Path
from typing import Final

SAMPLE_FILE: Final = Path(__file__).with_name("cloud.yaml")

SAMPLE_PASSWORDS: Final[dict[str, str]] = {
    "demo": "console-demo",
    "other": "console-other",
    "operator": "console-operator",
}
"""Passwords by username: known to all the world, so the sample is for one's own machine."""
