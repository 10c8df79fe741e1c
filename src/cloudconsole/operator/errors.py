"""What an operator is told when a change is refused; nothing was changed then."""


class OperatorError(Exception):
    """A refused change; the text says what is wrong and what mends it."""


class Overridable(OperatorError):
    """A refusal by a rule that an operator may override: the same at a desk with `force` is done."""
