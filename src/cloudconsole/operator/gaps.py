"""What stands in a model where the given value had a problem of its own, so that the rest can still be checked."""

from collections.abc import Iterator
from typing import Any, Final

from pydantic import ValidatorFunctionWrapHandler, WrapValidator


class _Unusable:
    """A value that cannot be told. Its fields cannot be told either, and it has no items to look at."""

    def __getattr__(self, _field: str) -> Any:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())


UNUSABLE: Final[Any] = _Unusable()


def pass_unusable(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    return value if value is UNUSABLE else check(value)


OR_UNUSABLE: Final = WrapValidator(pass_unusable)
