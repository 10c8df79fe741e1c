"""Who may read now, who waits, and who is told to come back."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from cloudconsole.spec.errors import Unavailable

BURST: Final = 500
"""So many may wait; more are a crowd."""
FEW_EACH: Final = 4
"""For each place, of those who wait for one in a crowd."""

Turn = asyncio.Future[bool]
"""Whether there is a place for the one that waits for it."""


class Places:
    """For so many at once; others wait in line.

    In a crowd a long line serves nobody in time. So only the last few who came stay in line, and are served about as
    soon as ever. The others leave: they are told to come back, one for each that was served. Not all at once, since
    who is told does come back, and to tell them again and again would take the time of those who are served. The crowd
    is gone when nobody waits, neither in line nor to be told.
    """

    def __init__(self, number: int) -> None:
        self._number = self._free = number
        self._line: deque[Turn] = deque()
        self._leaving: deque[Turn] = deque()
        self._is_crowded = False

    @asynccontextmanager
    async def taken(self, until: float) -> AsyncIterator[None]:
        """Hold a place; raises `Unavailable` where there is none by this time of the event loop's."""
        if self._free:
            self._free -= 1
        else:
            await self._wait(until)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, until: float) -> None:
        turn: Turn = asyncio.get_running_loop().create_future()
        self._line_up(turn)
        try:
            async with asyncio.timeout_at(until):
                has_place = await turn
        except TimeoutError as problem:
            self._give_up(turn)
            raise Unavailable from problem
        except asyncio.CancelledError:
            self._give_up(turn)
            raise
        if not has_place:
            # New connections for all who come back would take the time of those who are served.
            raise Unavailable(closes=False, of_store=True)

    def _line_up(self, turn: Turn) -> None:
        self._line.append(turn)
        self._is_crowded = self._is_crowded or len(self._line) > BURST
        while self._is_crowded and len(self._line) > FEW_EACH * self._number:
            self._leaving.append(self._line.popleft())

    def _give_up(self, turn: Turn) -> None:
        for those in (self._line, self._leaving):
            with suppress(ValueError):
                those.remove(turn)
        if not turn.cancelled() and turn.result():
            # Its place came in the same moment.
            self._pass_on()

    def _pass_on(self) -> None:
        _tell_next(self._leaving, has_place=False)
        if _tell_next(self._line, has_place=True):
            return
        self._free += 1
        if self._free == self._number:
            while _tell_next(self._leaving, has_place=False):
                pass
        self._is_crowded = self._is_crowded and bool(self._leaving)


def _tell_next(those: deque[Turn], *, has_place: bool) -> bool:
    """Whether there was one that still waits."""
    while those:
        turn = those.popleft()
        if not turn.done():
            turn.set_result(has_place)
            return True
    return False
