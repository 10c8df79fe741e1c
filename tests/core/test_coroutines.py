"""Coroutines that are started without a task."""

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any

import pytest

from cloudconsole.core.coroutines import ensure_task, start
from tests.fork_server import MAX_WAIT_SECONDS
from tests.harness import async_test


async def finish(rest: Awaitable[object]) -> object:
    return await rest


def run(work: Coroutine[Any, Any, object]) -> list[object]:
    """Start a coroutine outside of any task, and run the rest in one; return its state and result."""
    results: list[object] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        begun: asyncio.Future[Awaitable[object] | None] = loop.create_future()
        loop.call_soon(lambda: begun.set_result(start(work)))
        async with asyncio.timeout(MAX_WAIT_SECONDS):
            rest = await begun
            results.append("ended" if rest is None else "waits")
            if rest is not None:
                results.append(await loop.create_task(finish(rest)))

    asyncio.run(main())
    return results


def test_a_coroutine_that_never_waits_ends_at_once() -> None:
    async def inner() -> int:
        return 1

    async def work() -> int:
        return await inner() + 1

    assert run(work()) == ["ended"]


def test_one_that_waits_continues_in_a_task() -> None:
    async def work() -> list[object]:
        seen: list[object] = [asyncio.current_task()]
        await ensure_task()
        async with asyncio.timeout(60):
            seen.append(await asyncio.to_thread(lambda: 5))
        return [*seen, asyncio.current_task() is not None]

    assert run(work()) == ["waits", [None, 5, True]]


def test_an_awaited_error_is_raised_where_it_is_awaited() -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("expected")

    async def work() -> str:
        task = asyncio.get_running_loop().create_task(fail())
        try:
            await task
        except ValueError as problem:
            return str(problem)
        return "no error"

    assert run(work()) == ["waits", "expected"]


def test_an_error_before_the_first_wait_is_raised_by_start() -> None:
    async def work() -> None:
        raise ValueError("expected")

    with pytest.raises(ValueError, match="expected"):
        start(work())


@async_test
async def test_cancellation_reaches_the_coroutine() -> None:
    seen: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    rest = start(work())
    assert rest is not None
    task = asyncio.get_running_loop().create_task(finish(rest))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["cancelled"]


@async_test
async def test_a_task_needs_no_other() -> None:
    before = asyncio.current_task()
    await ensure_task()
    assert asyncio.current_task() is before
