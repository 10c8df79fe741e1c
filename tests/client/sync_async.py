"""Both kinds of console behind one blocking face, so that one suite serves both."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import anyio.from_thread

from cloudconsole import AsyncConsole, Console

T = TypeVar("T")


class Blocking:
    """An `AsyncConsole` in an event loop of its own thread; calls from several threads are tasks there."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._portals = anyio.from_thread.start_blocking_portal()
        self._portal = self._portals.__enter__()
        try:
            self._console = AsyncConsole(*arguments, **options)
        except BaseException:
            self._portals.__exit__(None, None, None)
            raise

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._console, name)
        if not callable(found):
            return found

        async def awaited(arguments: tuple[Any, ...], fields: dict[str, Any]) -> Any:
            return await found(*arguments, **fields)

        return lambda *arguments, **fields: self._portal.call(awaited, arguments, fields)

    def __repr__(self) -> str:
        return repr(self._console)

    def close(self) -> None:
        self._portal.call(self._console.aclose)
        self._portals.__exit__(None, None, None)


FACES: dict[str, Callable[..., Any]] = {"sync": Console, "async": Blocking}


def together(number: int, call: Callable[[], T]) -> list[T | Exception]:
    """As many calls at once; gives what came of each."""

    def one(_: int) -> T | Exception:
        try:
            return call()
        except Exception as problem:  # noqa: BLE001
            return problem

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(one, range(number)))
