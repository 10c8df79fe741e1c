"""Start a coroutine without a task: one that never has to wait ends where it was started."""

import asyncio
from collections.abc import Awaitable, Coroutine, Generator
from functools import partial
from types import coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


def start(work: Coroutine[Any, Any, Result]) -> Awaitable[Result] | None:
    """Run a coroutine until it waits for the first time; return the rest, to await in a task, or None at its end."""
    try:
        awaited = work.send(None)
    except StopIteration:
        return None
    return _rest(work, awaited)


@coroutine
def _rest(work: Coroutine[Any, Any, Result], awaited: Any) -> Generator[Any, Any, Result]:
    """Do what `await` does for a coroutine that is not started: pass on what it waits for, and what it gets."""
    while True:
        try:
            step = partial(work.send, (yield awaited))
        except BaseException as problem:  # noqa: BLE001 - also cancellation
            step = partial(work.throw, problem)
        try:
            awaited = step()
        except StopIteration as end:
            result: Result = end.value
            return result


async def ensure_task() -> None:
    """Continue in a task, which `asyncio.timeout` and other libraries need; see `start`."""
    if asyncio.current_task() is None:
        await asyncio.sleep(0)
