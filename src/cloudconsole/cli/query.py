"""`--query`: select from a command's data by a JMESPath expression."""

import argparse
from typing import Any

from cloudconsole.cli import messages
from cloudconsole.cli.errors import UsageError
from cloudconsole.cli.i18n import translate
from cloudconsole.spec.text_escaping import LONG_LENGTH, escape_and_truncate


class Query:
    def __init__(self, expression: str) -> None:
        # Imported late: most commands have no query.
        import jmespath
        from jmespath.exceptions import JMESPathError

        # The library compares whatever a filter names, so Python's errors occur, too.
        self._failures = (JMESPathError, RecursionError, TypeError, ValueError)
        try:
            self._compiled = jmespath.compile(expression)
        except self._failures as problem:
            raise argparse.ArgumentTypeError(translate(messages.INVALID_QUERY, why=_first_line(problem))) from None

    def __call__(self, data: Any) -> Any:
        try:
            return self._compiled.search(data)
        except self._failures as problem:
            raise UsageError(translate(messages.FAILED_QUERY, why=_first_line(problem))) from None


def _first_line(problem: Exception) -> str:
    """Return the reason without the drawing that marks its place."""
    reason = str(problem).partition("\n")[0].removeprefix("Invalid jmespath expression: ").rstrip(" :,")
    return escape_and_truncate(reason, LONG_LENGTH)
