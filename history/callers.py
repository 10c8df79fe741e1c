"""Callers over HTTP, whose every step is recorded: they log in and out, and call actions on whichever replica."""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import count
from types import TracebackType
from typing import Final, Self

from history.holding import Held, Holding
from history.recorder import Recorder
from history.recording import Answer, Call, Login, Logout
from history.wires import Cookies, Place, Wire

ACTIONS: Final = ("GetUsageLimits", "GetConsumptionsEstimated", "GetNews")


def address(number: int) -> str:
    """One of those that all mean this machine."""
    return f"127.1.{number // 250}.{1 + number % 250}"


class Callers:
    def __init__(self, recorder: Recorder, places: Sequence[Place], accounts: Iterable[str]) -> None:
        self._recorder, self._places = recorder, places
        self.holdings = {account: Holding() for account in accounts}
        # An address each: failed logins throttle nobody else's.
        self._wires = {account: Wire(recorder.now, address(number)) for number, account in enumerate(self.holdings)}
        self._anonymous: dict[str, Cookies] = {}
        self._names = (f"s{number}" for number in count(1))

    @property
    def replicas(self) -> range:
        return range(len(self._places))

    async def log_in(self, replica: int, account: str, password: str) -> bool:
        """Whether that opened a session."""
        place, wire = self._places[replica], self._wires[account]
        if account not in self._anonymous:
            opened = await wire.open(place)
            if opened.answer.status != 200:
                return False
            self._anonymous[account] = Cookies(opened.cookies["sessionid"], opened.cookies["csrftoken"])
        anonymous = self._anonymous[account]
        reply = await wire.login(place, anonymous, account, password)
        session = ""
        if reply.answer.status == 200:
            session = next(self._names)
            cookies = Cookies(reply.cookies["sessionid"], anonymous.token)
            self.holdings[account].live.append(Held(session, account, cookies, reply.end))
        self._recorder.add(
            Login(
                begin=reply.begin,
                end=reply.end,
                account=account,
                password=password,
                replica=replica,
                session=session,
                answer=reply.answer,
            )
        )
        return bool(session)

    async def log_out(self, replica: int, held: Held) -> None:
        """Nobody's session any more, whatever comes of it."""
        reply = await self._wires[held.account].logout(self._places[replica], held.cookies)
        self.holdings[held.account].end(held)
        self._recorder.add(
            Logout(begin=reply.begin, end=reply.end, session=held.name, replica=replica, answer=reply.answer)
        )

    async def call(self, replica: int, held: Held, action: str) -> Answer:
        reply = await self._wires[held.account].call(self._places[replica], held.cookies, action)
        if reply.answer.status == 401:
            self.holdings[held.account].end(held)
        call = Call(
            begin=reply.begin,
            end=reply.end,
            session=held.name,
            replica=replica,
            action=action,
            answer=reply.answer,
        )
        self._recorder.add(call)
        return reply.answer

    async def look_everywhere(self, held: Held, *actions: str) -> None:
        """Call on every replica at once."""
        await asyncio.gather(*(self.call(replica, held, action) for replica in self.replicas for action in actions))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for wire in self._wires.values():
            await wire.close()
