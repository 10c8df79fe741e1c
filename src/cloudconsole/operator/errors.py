"""What an operator is told when a change is refused; nothing was changed then."""


class OperatorError(Exception):
    """A refused change; the text says what is wrong and what mends it."""
