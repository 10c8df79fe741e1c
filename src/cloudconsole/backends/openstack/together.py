"""Several questions at once: all are answered, or the gravest of what went wrong is raised and the others are left."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, Final, TypeVar

from cloudconsole.backends.openstack.answers import TokenRefused
from cloudconsole.spec.errors import UpstreamFailed, UpstreamTimeout

Result = TypeVar("Result")

_GRAVEST_LAST: Final = (UpstreamTimeout, UpstreamFailed, TokenRefused)


async def together(questions: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """The answers, in the order of the questions."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(question) for question in questions]
    except BaseExceptionGroup as failures:
        gravest = max(_singly(failures), key=_gravity)
        raise gravest from gravest.__cause__
    return [task.result() for task in tasks]


def _singly(failures: BaseExceptionGroup[BaseException]) -> Iterable[BaseException]:
    for failure in failures.exceptions:
        if isinstance(failure, BaseExceptionGroup):
            yield from _singly(failure)
        else:
            yield failure


def _gravity(failure: BaseException) -> int:
    """That of a fault of our own is the greatest: it must not hide behind another's."""
    for gravity, kind in enumerate(_GRAVEST_LAST):
        if isinstance(failure, kind):
            return gravity
    return len(_GRAVEST_LAST)
