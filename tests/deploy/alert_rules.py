"""Parse the alert rules."""

from pathlib import Path
from typing import Any, Final

import yaml

FILE: Final = Path(__file__).parents[2] / "deploy/prometheus/alerts.yml"


def read_context() -> dict[str, dict[str, Any]]:
    """Return the rules by alert name."""
    (group,) = yaml.safe_load(FILE.read_text())["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}
