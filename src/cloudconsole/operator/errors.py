"""What an operator is told when a change is refused; nothing was changed then."""

from collections.abc import Iterable

from cloudconsole.operator.validation import Path, format_path

FieldError = tuple[Path, str]
"""What is wrong with a thing: the way to the field, and the words."""


class OperatorError(Exception):
    """A refused change; the text says what is wrong and what mends it."""


class OverridableError(OperatorError):
    """A refusal by a rule that an operator may override: the same at a desk with `force` is done."""


class ValidationError(OperatorError):
    """A refusal for the fields that do not fit, all of them."""

    def __init__(self, findings: Iterable[FieldError]) -> None:
        self.errors = tuple(findings)
        super().__init__("; ".join(f"{format_path(path)}: {message}" for path, message in self.errors))


def raise_if_invalid(findings: Iterable[FieldError]) -> None:
    """Refuse where there is anything to say."""
    found = tuple(findings)
    if found:
        raise ValidationError(found)
