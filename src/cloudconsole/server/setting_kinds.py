"""Kinds of settings: what each may hold, and how it is read from text and from a value of a TOML file."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any


class Kind(ABC):
    """What a setting may hold. A ValueError's text says what is wrong or what to give instead."""

    wanted: str
    """What may be given, in the words of help, documents and refusals."""
    metavar: str
    example: Any = None
    """One as a TOML file has it."""

    @abstractmethod
    def from_text(self, text: str) -> Any:
        """The value that a variable or a flag gives."""

    @abstractmethod
    def from_file(self, value: Any) -> Any:
        """The value that a TOML file gives."""

    def refusal(self) -> ValueError:
        return ValueError(f"give {self.wanted}")


class WholeNumber(Kind):
    metavar = "NUMBER"

    def __init__(self, low: int, high: int) -> None:
        self._low, self._high = low, high
        self.wanted = f"a whole number from {low} to {high}"

    def from_text(self, text: str) -> int:
        if not re.fullmatch(r"-?[0-9]{1,12}", text):
            raise self.refusal()
        return self.from_file(int(text))

    def from_file(self, value: Any) -> int:
        if type(value) is not int or not self._low <= value <= self._high:
            raise self.refusal()
        return value


class Switch(Kind):
    wanted = "true or false"
    metavar = "true|false"

    def from_text(self, text: str) -> bool:
        if text.lower() in ("true", "yes", "on", "1"):
            return True
        if text.lower() in ("false", "no", "off", "0"):
            return False
        raise self.refusal()

    def from_file(self, value: Any) -> bool:
        if type(value) is not bool:
            raise self.refusal()
        return value


class Choice(Kind):
    def __init__(self, *options: str) -> None:
        self._options = options
        self.wanted = f"{', '.join(options[:-1])} or {options[-1]}"
        self.metavar = "|".join(options)

    def from_text(self, text: str) -> str:
        if text not in self._options:
            raise self.refusal()
        return text

    def from_file(self, value: Any) -> str:
        return self.from_text(value)


class Word(Kind):
    """Text with a meaning, the same in a file as in a variable; `read` gives None where the text has none."""

    def __init__(self, read: Callable[[str], Any], metavar: str, wanted: str, *examples: str) -> None:
        self._read = read
        self.metavar = metavar
        self.wanted = f"{wanted}, such as {' or '.join(examples)}" if examples else wanted
        self.example = examples[0] if examples else None

    def from_text(self, text: str) -> Any:
        value = self._read(text)
        if value is None:
            raise self.refusal()
        return value

    def from_file(self, value: Any) -> Any:
        if not isinstance(value, str):
            raise self.refusal()
        return self.from_text(value)


class ListOf(Kind):
    """Several of one kind: an array in a file, separated by commas in text."""

    def __init__(self, item: Word) -> None:
        self._item = item
        self.metavar = f"{item.metavar},..."
        self.wanted = f"a list, each {item.wanted}"
        self.example = [item.example]

    def from_text(self, text: str) -> tuple[Any, ...]:
        return tuple(self._read(item.strip()) for item in text.split(",") if item.strip())

    def from_file(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise self.refusal()
        return tuple(self._read(item) for item in value)

    def _read(self, item: Any) -> Any:
        try:
            return self._item.from_file(item)
        except ValueError:
            raise ValueError(f"{item!r} is not {self._item.wanted}") from None
