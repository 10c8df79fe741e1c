"""Errors that reject an operator's change as a whole."""

from collections.abc import Iterable

from cloudconsole.operator.validation import Path, format_path

FieldError = tuple[Path, str]
"""The path of a field and the message."""


class OperatorError(Exception):
    """A rejected change; the message says what is wrong and how to fix it."""


class OverridableError(OperatorError):
    """A rejection by a rule that a transaction with `force` overrides."""


class ValidationError(OperatorError):
    """A rejection that lists every invalid field."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(f"{format_path(path)}: {message}" for path, message in self.errors))


def raise_if_invalid(errors: Iterable[FieldError]) -> None:
    errors = tuple(errors)
    if errors:
        raise ValidationError(errors)
