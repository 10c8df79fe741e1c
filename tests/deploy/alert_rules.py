"""The alert rules as the tests read them."""

from pathlib import Path
from typing import Any, Final

import yaml

FILE: Final = Path(__file__).parents[2] / "deploy/prometheus/alerts.yml"


def read_rules() -> dict[str, dict[str, Any]]:
    """Each rule by its alert's name."""
    (group,) = yaml.safe_load(FILE.read_text())["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}
