"""Many clients at once: users who log in and out, readers everywhere, operators who change things; all is recorded."""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any, Final

from history.callers import ACTIONS, Callers
from history.changing import Changing
from history.cloud import Cloud
from history.operators import Operators
from history.pages import Pages
from history.plan import AccountPlanner, Change, Planner, planners
from history.recorder import Recorder
from history.recording import Quiet, Stored

READERS: Final = 6
OVER_IT_SECONDS: Final = 20
"""How long a replica may take until it serves again: it notices by deadlines of some seconds each."""
READER_PAUSE_SECONDS: Final = 0.5
"""After a call that failed, at most: else those that fail at once would be most of the calls."""
USER_PAUSE_SECONDS: Final = 0.7
MOST_SESSIONS: Final = 3
CHANCE_OF_ENDED: Final = 0.2
GUESSES: Final = 6
GUESSES_AT_ONCE: Final = 4
GUESSING_SECONDS: Final = 30.0
CHANCE_OF_REFUSAL: Final = 0.05
"""How often a user mistypes the password: ten such failures in a row and nobody gets in for a while."""


class Clients:
    """All who work on the console until there are enough operations in the recording."""

    def __init__(
        self,
        recorder: Recorder,
        callers: Callers,
        operators: Operators,
        pages: Sequence[Pages],
        cloud: Cloud,
        *,
        rate: float,
    ) -> None:
        """So many operations a second, as far as readers can make up for what is missing; pages for each writer."""
        self._recorder, self._callers, self._operators, self._cloud = recorder, callers, operators, cloud
        self._rate = rate
        self._planners = list(planners(cloud, recorder.beginning.seed))
        self._accounts = {
            account: planner
            for planner in self._planners
            if isinstance(planner, AccountPlanner)
            for account in planner.accounts
        }
        self._changing = {
            planner: Changing(recorder, operators, its_pages, self._rng("ways", its_pages.operator))
            for planner, its_pages in zip(self._planners, pages, strict=True)
        }

    async def work(self) -> None:
        """Returns when there are enough operations, and every change that was begun has a known outcome."""
        async with asyncio.TaskGroup() as tasks:
            for account in self._cloud.accounts:
                tasks.create_task(self._use(account, self._rng("user", account)))
            for number in range(READERS):
                tasks.create_task(self._read(self._rng("reader", str(number))))
            for planner in self._planners:
                tasks.create_task(self._change(planner))
            for account in self._cloud.nobodies:
                tasks.create_task(self._guess(account, self._rng("guess", account)))

    async def finish(self) -> None:
        """With nothing broken any more: what everybody sees everywhere, and what the store holds."""
        await self._wait_until_served()
        now = self._recorder.now()
        self._recorder.add(Quiet(begin=now, end=now))
        for account in self._cloud.accounts:
            holding = self._callers.holdings[account]
            for replica in self._callers.replicas:
                await self._callers.log_in(replica, account, self._current(account)["password"])
            for held in list(holding.ended):
                await self._callers.look_everywhere(held, ACTIONS[0])
            for held in holding.live[-2:]:
                await self._callers.look_everywhere(held, *ACTIONS)
        begin = self._recorder.now()
        values = await asyncio.to_thread(self._operators.stored)
        wrong = await asyncio.to_thread(self._operators.wrong_counters)
        self._recorder.add(Stored(begin=begin, end=self._recorder.now(), values=values, wrong_counters=wrong))

    async def _wait_until_served(self) -> None:
        """Every replica may take some seconds to find out that nothing is broken any more, but no longer."""
        account = next((name for name in self._cloud.accounts if not self._current(name)["disabled"]), None)
        for replica in self._callers.replicas if account else ():
            for _ in range(OVER_IT_SECONDS):
                if await self._callers.log_in(replica, str(account), self._current(str(account))["password"]):
                    break
                await asyncio.sleep(1)

    def _current(self, account: str) -> dict[str, Any]:
        return self._accounts[account].current(account)

    async def _use(self, account: str, rng: Random) -> None:
        """A user: now and then one more session, or one less."""
        holding = self._callers.holdings[account]
        while not self._recorder.enough.is_set():
            current = self._current(account)
            replica = rng.choice(self._callers.replicas)
            if len(holding.live) >= rng.randint(1, MOST_SESSIONS):
                held = rng.choice(holding.live)
                await self._callers.log_out(replica, held)
                await self._callers.look_everywhere(held, rng.choice(ACTIONS))
            elif not current["disabled"] or rng.random() < CHANCE_OF_REFUSAL:
                mistake = "-" if rng.random() < CHANCE_OF_REFUSAL else ""
                await self._callers.log_in(replica, account, current["password"] + mistake)
            await self._recorder.wait(rng.expovariate(1 / USER_PAUSE_SECONDS))

    async def _guess(self, account: str, rng: Random) -> None:
        """Somebody who guesses a password, several times at once and everywhere, until long after it is no use."""
        await self._recorder.wait(rng.uniform(0, GUESSING_SECONDS))
        for _ in range(GUESSES):
            if self._recorder.enough.is_set():
                return
            at_once = rng.choices(self._callers.replicas, k=GUESSES_AT_ONCE)
            await asyncio.gather(*(self._callers.log_in(replica, account, "a guess") for replica in at_once))

    async def _read(self, rng: Random) -> None:
        """A reader: anybody's session, on any replica, now and then one that has ended."""
        holdings = list(self._callers.holdings.values())
        while not self._recorder.enough.is_set():
            held = rng.choice(holdings).choose(rng, CHANCE_OF_ENDED)
            if held is None or len(self._recorder.operations) > self._rate * self._recorder.now():
                await asyncio.sleep(0.01)
            else:
                answer = await self._callers.call(rng.choice(self._callers.replicas), held, rng.choice(ACTIONS))
                if answer.is_unknown:
                    await self._recorder.wait(rng.uniform(0, READER_PAUSE_SECONDS))

    async def _change(self, planner: Planner) -> None:
        """A writer: looks everywhere before and after each change, when what is kept there is most likely old."""
        while not await self._recorder.wait(planner.rng.expovariate(1 / planner.pause_seconds)):
            change = planner.next()
            await self._look(planner, change)
            write = await self._changing[planner].make(change)
            if write.outcome == "done":
                planner.done(change)
                if change.register[0] == "account":
                    self._callers.holdings[change.register[1]].end_before(write.begin)
            await self._look(planner, change)

    async def _look(self, planner: Planner, change: Change) -> None:
        holdings = self._callers.holdings
        if isinstance(planner, AccountPlanner):
            holding = holdings[change.register[1]]
            # Before the change those it will end, after it those it has ended.
            watched = (holding.live or list(holding.ended))[-2:]
        else:
            seeing = [name for name, tenant in self._cloud.accounts.items() if planner.tenant in (None, tenant)]
            live = [held for account in seeing for held in holdings[account].live]
            watched = [planner.rng.choice(live)] if live else []
        for held in watched:
            await self._callers.look_everywhere(held, planner.rng.choice(planner.actions))

    def _rng(self, *name: str) -> Random:
        return Random(f"{self._recorder.beginning.seed} {' '.join(name)}")
