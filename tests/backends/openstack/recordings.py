"""Responses recorded from real services.

The project has two servers and a deleted one, three volumes, four images (one hidden, one without data) and two load
balancers; lists have two items per page.
"""

import json
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parent / "recorded"

PROJECT = "ec6af04054034425b932407de1d21231"
HOUR = 1_794_772_800
"""The hour of the recordings: 20:00 UTC on 15 November 2026."""
DELETED_SERVER = "1442cfc4-1a19-4cc5-a420-5c9c554c6924"


def recorded(name: str) -> Any:
    return json.loads((DIRECTORY / f"{name}.json").read_text())


def pages(name: str) -> list[Any]:
    return [json.loads(file.read_text()) for file in sorted(DIRECTORY.glob(f"{name}_page?.json"))]


def recorded_items(name: str) -> list[Any]:
    """Return the items of all pages of a recorded list."""
    key = name.split("_")[1]
    return [item for page in pages(name) for item in page[key]]
