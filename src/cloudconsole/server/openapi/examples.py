"""Recorded examples of requests and responses."""

from importlib.resources import files
from typing import Any

import msgspec


class Example(msgspec.Struct):
    """Recorded request body and response."""

    body: dict[str, Any]
    response: dict[str, Any]


class Examples:
    """Recorded examples by action or operation."""

    def __init__(self) -> None:
        recording = (files(__package__) / "examples.json").read_bytes()
        self._recorded = msgspec.json.decode(recording, type=dict[str, Example])

    def of(self, name: str) -> Example | None:
        """Return None for the action of a package, and for one that was not recorded yet."""
        return self._recorded.get(name)
