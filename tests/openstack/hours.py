"""The clock hour, by which costs go."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from tests.openstack.direct import hour_start

Arguments = ParamSpec("Arguments")


def within_an_hour(test: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Run a test that deletes something and expects it to cost until the hour ends: once more where it ended meanwhile.

    Such a test makes all that it needs itself.
    """

    @wraps(test)
    def run(*arguments: Arguments.args, **named: Arguments.kwargs) -> None:
        hour = hour_start()
        try:
            test(*arguments, **named)
        except AssertionError:
            if hour_start() == hour:
                raise
            test(*arguments, **named)

    return run
