"""When more calls come than can be answered: who is served at once, and who is told to come back.

A worker's loop goes round: it reads what has come on all its connections, then does that work. A crowd shows in the
rounds: while one took long, many more calls have come, and together they are more than a burst. From then on a round
has a budget of processor time, and calls whose turn comes when it is used up are refused (503 with `Retry-After`).

To refuse costs more than half of what it costs to answer, most of it for reading and writing. So whoever was refused is
not read from until its turn comes, a few at a time; what it sent meanwhile has waited, and is refused, too. That way
most of the time is left for those who are served, and they are served about as soon as ever. As long as time is left
over, more and more are heard at a time: once all are, and nobody was refused for a moment, the crowd is gone.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

MIN_REQUESTS: Final = 64
LONG_ROUND: Final = 0.02
"""Of processor time: that others have the processor makes no crowd of less than a burst."""
BURST: Final = 512
"""Calls of a round, and of the long ones right before it, that are simply answered; what is more, is a crowd."""

BUDGET: Final = 0.001
"""And the time in which nothing was to be done right before, since calls that come in small bunches are no crowd."""
LEAST_SERVED: Final = 8
TICK: Final = 0.001
HEARD_A_TICK: Final = 2
"""And so many more with every tick since a round was too short for all."""
LATE: Final = 0.01
"""What was sent to a connection that rested longer may have waited that long."""

LASTING: Final = 0.1
"""Seconds since a round was too short for all, after which a crowd is gone if nobody waits to be heard again."""


class Connection(Protocol):
    is_paused: bool
    was_late: bool
    """Whether what it brings now may have waited while it was not read from."""

    def pause(self) -> None:
        """Read no more for now."""

    def resume(self) -> None:
        """Read on."""


class LoadShedder:
    """One worker's crowd; `is_on` while there is one."""

    __slots__ = (
        "_budget",
        "_fell_short",
        "_gathered",
        "_heard",
        "_hears",
        "_resting",
        "_round_began",
        "_round_work",
        "_seconds",
        "_started",
        "_work",
        "came",
        "is_on",
        "watches",
    )

    def __init__(
        self, seconds: Callable[[], float] = time.perf_counter, work: Callable[[], float] = time.thread_time
    ) -> None:
        self._seconds = seconds
        self._work = work
        self.is_on = False
        self.watches = False
        """While it does, calls that are about to begin ask whether they may."""
        self.came = 0
        """Calls since the last answer: the connections count them, and whoever writes answers begins anew."""
        self._started = self._gathered = self._hears = 0
        self._round_began = self._round_work = 0.0
        self._budget = BUDGET
        self._fell_short = 0.0
        """When a round was last too short for all."""
        self._resting: deque[tuple[Connection, float]] = deque()
        self._heard: list[Connection] = []

    def watch(self) -> None:
        """One more of many calls has come: look at the rounds, which would cost those of a quiet worker too much."""
        self._gathered += 1
        if not self.watches:
            self.watches = True
            # Rounds are not looked at while nobody comes.
            self.is_on = self.is_on and self._lasts(self._seconds())
            asyncio.get_running_loop().call_soon(self._begin_watching)

    def should_reject(self, *, came_late: bool) -> bool:
        """Whether a call that is about to begin must be refused."""
        if came_late or not self.is_on:
            return came_late
        self._started += 1
        falls_short = self._started > LEAST_SERVED and self._work() - self._round_work > self._budget
        if falls_short:
            self._fell_short = self._round_began
            self._hears = 0
        return falls_short

    def pause(self, connection: Connection) -> None:
        """Do not read from one that was refused until its turn comes."""
        if connection.is_paused:
            return
        if not self._resting and not self._heard:
            asyncio.get_running_loop().call_later(TICK, self._tick)
        connection.pause()
        self._resting.append((connection, self._seconds()))

    def _begin_watching(self) -> None:
        """Runs amidst the work of a round; what it asks for runs before that of the next."""
        self._begin_round()
        asyncio.get_running_loop().call_soon(self._go_round)

    def _go_round(self) -> None:
        """Runs once in every round, after calls have come and before their work is done; ends when there are few."""
        came, self.came = self.came, 0
        work = self._begin_round()
        if self.is_on:
            self.is_on = self._lasts(self._round_began)
            self._gathered = 0
        else:
            if work < LONG_ROUND or came < MIN_REQUESTS:
                self._gathered = came
            self.is_on = self._gathered > BURST
            self._fell_short = self._round_began
        self.watches = came >= (1 if self.is_on else MIN_REQUESTS)
        if self.watches:
            asyncio.get_running_loop().call_soon(self._go_round)

    def _lasts(self, now: float) -> bool:
        return bool(self._resting or self._heard) or now - self._fell_short < LASTING

    def _begin_round(self) -> float:
        """How much work the round before was."""
        began, before = self._round_began, self._round_work
        self._round_began, self._round_work = self._seconds(), self._work()
        work = self._round_work - before
        self._budget = BUDGET + min(self._round_began - began - work, LATE)
        self._started = 0
        return work

    def _tick(self) -> None:
        """Listen to some of those who rest. What one sent while it rested comes before the next tick."""
        for connection in self._heard:
            connection.was_late = False
        now = self._seconds()
        self._heard = []
        self._hears += HEARD_A_TICK
        for _ in range(min(self._hears, len(self._resting))):
            connection, since = self._resting.popleft()
            connection.was_late = now - since > LATE
            connection.resume()
            self._heard.append(connection)
        if self._heard:
            asyncio.get_running_loop().call_later(TICK, self._tick)
