"""Sync and async consoles behind one blocking interface, so that one suite tests both."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import anyio.from_thread

from cloudconsole import AsyncConsole, Console

T = TypeVar("T")


class BlockingAsyncConsole:
    """An `AsyncConsole` whose event loop runs in a thread; calls from several threads become tasks."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._portals = anyio.from_thread.start_blocking_portal()
        self._portal = self._portals.__enter__()
        try:
            self._console = AsyncConsole(*arguments, **options)
        except BaseException:
            self._portals.__exit__(None, None, None)
            raise

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._console, name)
        if not callable(attribute):
            return attribute

        async def awaited(arguments: tuple[Any, ...], fields: dict[str, Any]) -> Any:
            return await attribute(*arguments, **fields)

        return lambda *arguments, **fields: self._portal.call(awaited, arguments, fields)

    def __repr__(self) -> str:
        return repr(self._console)

    def close(self) -> None:
        self._portal.call(self._console.aclose)
        self._portals.__exit__(None, None, None)


CONSOLES: dict[str, Callable[..., Any]] = {"sync": Console, "async": BlockingAsyncConsole}


def run_concurrently(number: int, call: Callable[[], T]) -> list[T | Exception]:
    """Run a number of calls concurrently; return the result or exception of each."""

    def one(_: int) -> T | Exception:
        try:
            return call()
        except Exception as error:  # noqa: BLE001
            return error

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(one, range(number)))
