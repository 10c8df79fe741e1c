"""The clock hour, for which costs are estimated."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from tests.openstack.reference import hour_start

Arguments = ParamSpec("Arguments")


def within_an_hour(test: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Run a test that expects deleted resources to cost until the hour ends, and retry it if the hour changed.

    Such a test creates everything it needs.
    """

    @wraps(test)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        hour = hour_start()
        try:
            test(*args, **kwargs)
        except AssertionError:
            if hour_start() == hour:
                raise
            test(*args, **kwargs)

    return run
