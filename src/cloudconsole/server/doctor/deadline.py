"""Work that may be slow in ways of its own: names, connections, handshakes and answers, each with another timeout."""

from collections.abc import Callable
from queue import Empty, Queue
from threading import Thread
from typing import TypeVar

Result = TypeVar("Result")


def within(seconds: float, work: Callable[[], Result]) -> Result:
    """What the work gives or raises, or a `TimeoutError`; what is not done then, is left to the process's end."""
    results: Queue[Result | Exception] = Queue()

    def do_it() -> None:
        try:
            results.put(work())
        except Exception as problem:  # noqa: BLE001
            results.put(problem)

    Thread(target=do_it, daemon=True).start()
    try:
        result = results.get(timeout=seconds)
    except Empty:
        raise TimeoutError from None
    if isinstance(result, Exception):
        raise result
    return result
