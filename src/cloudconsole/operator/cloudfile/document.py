"""The plain data of a YAML file, which knows its lines."""

from dataclasses import dataclass, field
from typing import Any

from cloudconsole.operator.cloudfile.problems import Problem
from cloudconsole.operator.words import Path, path_text

Lines = dict[int, dict[str | int, int]]
"""Where the parts of each mapping and list stand, by the `id` of the mapping or list."""


class Unreadable(Exception):
    """Text that cannot be read on from here."""

    def __init__(self, line: int, message: str, path: Path = ()) -> None:
        super().__init__(message)
        self.problem = Problem(line, path_text(path), message)


@dataclass
class Document:
    """The data of a file, or None where it could not be read to its end, and the problems met on the way."""

    data: dict[str, Any] | None = None
    problems: list[Problem] = field(default_factory=list)
    faulty: set[Path] = field(default_factory=set)
    """Paths of values that could not be had, and about which there is nothing more to say."""
    lines: Lines = field(default_factory=dict)

    def line_of(self, path: Path) -> int:
        """The line of a value, or of the nearest thing around it that is there."""
        line = 1
        value: Any = self.data
        for step in path:
            lines = self.lines.get(id(value), {})
            if step not in lines:
                break
            line, value = lines[step], value[step]
        return line
