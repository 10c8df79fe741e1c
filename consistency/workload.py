"""The workload: concurrent users, readers, writers and password guessers."""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any, Final

from consistency.admin_commands import AdminCommands, WriteResult
from consistency.admin_ui_client import AdminUiClient
from consistency.generators import REVOKE_SESSIONS, AccountGenerator, Change, WriteGenerator, write_generators
from consistency.history import FinalRead, Healed, HistoryRecorder, Write
from consistency.initial_cloud import Cloud, initial_account
from consistency.tenant_client import ACTIONS, TenantClients

READERS: Final = 6
RECOVERY_SECONDS: Final = 20
"""How long a replica may take to recover: it detects faults by timeouts of several seconds each."""
READER_PAUSE_SECONDS: Final = 0.5
"""Maximum pause after a failed read; otherwise reads that fail fast would dominate."""
USER_PAUSE_SECONDS: Final = 0.7
MAX_SESSIONS: Final = 3
ENDED_PROBABILITY: Final = 0.2
GUESSES: Final = 6
CONCURRENT_GUESSES: Final = 4
GUESS_START_SECONDS: Final = 30.0
MISTAKE_PROBABILITY: Final = 0.05
"""How often a user mistypes the password; ten failures in a row throttle the account for a while."""
RETRY_SECONDS: Final = 0.5
MAX_RETRY_SECONDS: Final = 4.0
UI_PROBABILITY: Final = 0.65
"""Makes about half of the changes succeed via the admin UI, where more attempts fail, some at sign-in."""


class Writer:
    """Makes each change by a command or via the admin UI of a replica, retrying until the outcome is known."""

    def __init__(self, recorder: HistoryRecorder, commands: AdminCommands, ui: AdminUiClient, rng: Random) -> None:
        self._recorder, self._commands, self._ui, self._rng = recorder, commands, ui, rng

    async def apply(self, change: Change) -> Write:
        """Make a change; return the attempt whose outcome is known."""
        self._commands.expect(change)
        pause, is_retry = RETRY_SECONDS, False
        while True:
            attempt = self._via_ui if self._rng.random() < UI_PROBABILITY else self._via_command
            write = await attempt(change, is_retry=is_retry)
            if write is not None and write.outcome != "unknown":
                return write
            is_retry = is_retry or write is not None
            await asyncio.sleep(pause)
            pause = min(pause * 2, MAX_RETRY_SECONDS)

    async def _via_command(self, change: Change, *, is_retry: bool) -> Write | None:
        begin = self._recorder.now()
        result = await asyncio.to_thread(self._commands.apply, change, is_retry=is_retry)
        return result and self._record(change, result, begin=begin, end=self._recorder.now())

    async def _via_ui(self, change: Change, *, is_retry: bool) -> Write | None:
        replica = self._rng.choice(self._ui.replicas)
        submission = await self._ui.apply(replica, change)
        if submission is None:
            return None
        begin, end, result = submission
        if is_retry and result.outcome == "rejected":
            result = await asyncio.to_thread(self._commands.resolve_rejection, change, result.problem)
            end = self._recorder.now()
        write = self._record(change, result, begin=begin, end=end, replica=replica)
        if write.outcome == "unknown":
            await self._revoke_sessions()
        return write

    async def _revoke_sessions(self) -> None:
        """End the operator's sessions before the next attempt.

        A replica may still process the submitted form much later. With its session gone it changes nothing: the admin
        UI validates the session in the transaction of the change.
        """
        operator = self._ui.operator
        revocation = Change(("account", operator), REVOKE_SESSIONS, initial_account(operator), {})
        outcome = None
        while outcome != "ok":
            write = await self._via_command(revocation, is_retry=True)
            outcome = write and write.outcome
            await asyncio.sleep(RETRY_SECONDS)
        await self._ui.read_everywhere()
        self._ui.forget_session()

    def _record(self, change: Change, result: WriteResult, **details: Any) -> Write:
        write = Write(register=change.register, value=change.value, verb=change.verb, **result._asdict(), **details)
        self._recorder.add(write)
        return write


class Workload:
    """All clients; they work until the history is complete."""

    def __init__(
        self,
        recorder: HistoryRecorder,
        tenants: TenantClients,
        commands: AdminCommands,
        uis: Sequence[AdminUiClient],
        cloud: Cloud,
        *,
        rate: float,
    ) -> None:
        """`uis` has a client per writer. Readers fill up to `rate` operations per second."""
        self._recorder, self._tenants, self._commands, self._cloud = recorder, tenants, commands, cloud
        self._rate = rate
        self._generators = list(write_generators(cloud, recorder.initial_state.seed))
        self._accounts = {
            account: generator
            for generator in self._generators
            if isinstance(generator, AccountGenerator)
            for account in generator.accounts
        }
        self._writers = {
            generator: Writer(recorder, commands, ui, self._rng("ways", ui.operator))
            for generator, ui in zip(self._generators, uis, strict=True)
        }

    async def run(self) -> None:
        """Return when the history is complete and every started change has a known outcome."""
        async with asyncio.TaskGroup() as tasks:
            for account in self._cloud.accounts:
                tasks.create_task(self._use(account, self._rng("user", account)))
            for number in range(READERS):
                tasks.create_task(self._read(self._rng("reader", str(number))))
            for generator in self._generators:
                tasks.create_task(self._write(generator))
            for account in self._cloud.unknown_accounts:
                tasks.create_task(self._guess(account, self._rng("guess", account)))

    async def finish(self) -> None:
        """With all faults healed, read everything on every replica, and then the store."""
        await self._wait_until_served()
        now = self._recorder.now()
        self._recorder.add(Healed(begin=now, end=now))
        for account in self._cloud.accounts:
            sessions = self._tenants.sessions[account]
            for replica in self._tenants.replicas:
                await self._tenants.login(replica, account, self._current(account)["password"])
            for session in list(sessions.ended):
                await self._tenants.read_everywhere(session, ACTIONS[0])
            for session in sessions.live[-2:]:
                await self._tenants.read_everywhere(session, *ACTIONS)
        begin = self._recorder.now()
        values = await asyncio.to_thread(self._commands.read_store)
        wrong = await asyncio.to_thread(self._commands.wrong_counters)
        costs = await asyncio.to_thread(self._commands.wrong_costs)
        self._recorder.add(
            FinalRead(begin=begin, end=self._recorder.now(), values=values, wrong_counters=wrong, wrong_costs=costs)
        )

    async def _wait_until_served(self) -> None:
        """Give every replica a limited time to notice that all faults are healed."""
        account = next((name for name in self._cloud.accounts if not self._current(name)["disabled"]), None)
        for replica in self._tenants.replicas if account else ():
            for _ in range(RECOVERY_SECONDS):
                if await self._tenants.login(replica, str(account), self._current(str(account))["password"]):
                    break
                await asyncio.sleep(1)

    def _current(self, account: str) -> dict[str, Any]:
        return self._accounts[account].current(account)

    async def _use(self, account: str, rng: Random) -> None:
        """Act as a user: open and close sessions."""
        sessions = self._tenants.sessions[account]
        while not self._recorder.complete.is_set():
            current = self._current(account)
            replica = rng.choice(self._tenants.replicas)
            if len(sessions.live) >= rng.randint(1, MAX_SESSIONS):
                session = rng.choice(sessions.live)
                await self._tenants.logout(replica, session)
                await self._tenants.read_everywhere(session, rng.choice(ACTIONS))
            elif not current["disabled"] or rng.random() < MISTAKE_PROBABILITY:
                mistake = "-" if rng.random() < MISTAKE_PROBABILITY else ""
                await self._tenants.login(replica, account, current["password"] + mistake)
            await self._recorder.wait(rng.expovariate(1 / USER_PAUSE_SECONDS))

    async def _guess(self, account: str, rng: Random) -> None:
        """Guess passwords: several attempts at once on all replicas, well beyond the throttling threshold."""
        await self._recorder.wait(rng.uniform(0, GUESS_START_SECONDS))
        for _ in range(GUESSES):
            if self._recorder.complete.is_set():
                return
            replicas = rng.choices(self._tenants.replicas, k=CONCURRENT_GUESSES)
            await asyncio.gather(*(self._tenants.login(replica, account, "a guess") for replica in replicas))

    async def _read(self, rng: Random) -> None:
        """Act as a reader: use any session on any replica, sometimes an ended one."""
        pools = list(self._tenants.sessions.values())
        while not self._recorder.complete.is_set():
            session = rng.choice(pools).choose(rng, ENDED_PROBABILITY)
            if session is None or len(self._recorder.operations) > self._rate * self._recorder.now():
                await asyncio.sleep(0.01)
            else:
                response = await self._tenants.read(rng.choice(self._tenants.replicas), session, rng.choice(ACTIONS))
                if response.is_unknown:
                    await self._recorder.wait(rng.uniform(0, READER_PAUSE_SECONDS))

    async def _write(self, generator: WriteGenerator) -> None:
        """Act as a writer: read everywhere before and after each change, when caches are most likely to be stale."""
        while not await self._recorder.wait(generator.rng.expovariate(1 / generator.pause_seconds)):
            change = generator.next()
            await self._read_affected(generator, change)
            write = await self._writers[generator].apply(change)
            if write.outcome == "ok":
                generator.completed(change)
                if change.register[0] == "account":
                    self._tenants.sessions[change.register[1]].end_before(write.begin)
            await self._read_affected(generator, change)

    async def _read_affected(self, generator: WriteGenerator, change: Change) -> None:
        pools = self._tenants.sessions
        if isinstance(generator, AccountGenerator):
            pool = pools[change.register[1]]
            # Before the change: the sessions that it will end. Afterwards: those that it has ended.
            sessions = (pool.live or list(pool.ended))[-2:]
        else:
            accounts = [name for name, tenant in self._cloud.accounts.items() if generator.tenant in (None, tenant)]
            live = [session for account in accounts for session in pools[account].live]
            sessions = [generator.rng.choice(live)] if live else []
        for session in sessions:
            await self._tenants.read_everywhere(session, generator.rng.choice(generator.actions))

    def _rng(self, *name: str) -> Random:
        return Random(f"{self._recorder.initial_state.seed} {' '.join(name)}")
