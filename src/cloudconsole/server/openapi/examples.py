"""Examples of bodies and answers, recorded from a console over a part of the sample cloud."""

from importlib.resources import files
from typing import Any

import msgspec


class Example(msgspec.Struct):
    """What was sent and what came back; both empty for an action that is newer than the recording."""

    body: dict[str, str] = {}
    answer: dict[str, Any] = {}


class Examples:
    """By the name of an action or operation."""

    def __init__(self) -> None:
        recording = (files(__package__) / "examples.json").read_bytes()
        self._recorded = msgspec.json.decode(recording, type=dict[str, Example])

    def of(self, name: str) -> Example:
        return self._recorded.get(name) or Example()
