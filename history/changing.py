"""One writer at work: each change by a command or at the pages of a replica, again and again until it is known."""

import asyncio
from random import Random
from typing import Any, Final

from history.cloud import first_account
from history.operators import Made, Operators
from history.pages import Pages
from history.plan import SHUT_OUT, Change
from history.recorder import Recorder
from history.recording import Write

AGAIN_SECONDS: Final = 0.5
LONGEST_AGAIN_SECONDS: Final = 4.0
CHANCE_OF_PAGES: Final = 0.65
"""So that about half of the changes are made there: of its tries more come to nothing, at the sign-in already."""


class Changing:
    def __init__(self, recorder: Recorder, operators: Operators, pages: Pages, rng: Random) -> None:
        self._recorder, self._operators, self._pages, self._rng = recorder, operators, pages, rng

    async def make(self, change: Change) -> Write:
        """The try whose outcome is known, after all others of this change."""
        self._operators.expect(change)
        pause, again = AGAIN_SECONDS, False
        while True:
            at_pages = self._rng.random() < CHANCE_OF_PAGES
            write = await (self._at_pages(change, again=again) if at_pages else self._by_command(change, again=again))
            if write is not None and write.outcome != "unknown":
                return write
            again = again or write is not None
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_AGAIN_SECONDS)

    async def _by_command(self, change: Change, *, again: bool) -> Write | None:
        begin = self._recorder.now()
        made = await asyncio.to_thread(self._operators.make, change, again=again)
        return made and self._recorded(change, made, begin=begin, end=self._recorder.now())

    async def _at_pages(self, change: Change, *, again: bool) -> Write | None:
        replica = self._rng.choice(self._pages.replicas)
        sent = await self._pages.make(replica, change)
        if sent is None:
            return None
        begin, end, made = sent
        if again and made.outcome == "refused":
            made = await asyncio.to_thread(self._operators.look_again, change, made.problem)
            end = self._recorder.now()
        write = self._recorded(change, made, begin=begin, end=end, replica=replica)
        if write.outcome == "unknown":
            await self._shut_out()
        return write

    async def _shut_out(self) -> None:
        """End the operator's sessions, before anything else is tried.

        The form may still be lying in some replica, to be read when all is different. From now on it changes nothing:
        each change at the pages is made only if, in its very transaction, its session is good.
        """
        operator = self._pages.operator
        ending = Change(("account", operator), SHUT_OUT, first_account(operator), {})
        outcome = None
        while outcome != "done":
            write = await self._by_command(ending, again=True)
            outcome = write and write.outcome
            await asyncio.sleep(AGAIN_SECONDS)
        await self._pages.look_everywhere()
        self._pages.forget()

    def _recorded(self, change: Change, made: Made, **when: Any) -> Write:
        write = Write(register=change.register, value=change.value, verb=change.verb, **made._asdict(), **when)
        self._recorder.add(write)
        return write
