"""Histories made by hand: of one cloud with one tenant, told by moments that are easy to read."""

from typing import Any

from history.amounts import LIMITS, PRICED, USED
from history.checker import check
from history.recording import (
    Answer,
    AnyOperation,
    Beginning,
    Call,
    Login,
    Logout,
    Quiet,
    Recording,
    Register,
    Stored,
    Write,
)

LIMITED = dict.fromkeys(LIMITS, 10)
PRICE = 1000
ENABLED = {"disabled": False, "password": "p0"}
DISABLED = {"disabled": True, "password": "p0"}
QUOTA: Register = ("quota", "t1")
ACCOUNT: Register = ("account", "u1")
VOLUME_PRICE: Register = ("price", "volume", "gb")
EPOCH = 1_800_000_000.0
"""A full hour: the moment 0 is its beginning."""


def limited(number: int) -> dict[str, int]:
    return {**LIMITED, "instances": number, "cores": number}


def volume(size: int, *, ended: bool = False) -> dict[str, Any]:
    return {"kind": "volume", "vcpus": 0, "ram": 0, "size": size, "ended": ended}


def news(title: str, date: int = 1_750_000_000, *, disabled: bool = False) -> dict[str, Any]:
    return {"title": title, "url": "https://news.example.com/", "date": date, "disabled": disabled}


def resource(name: str) -> Register:
    return ("resource", "t1", name)


class Story:
    """Adds what happened, each from one moment to another; `problems` is what the checker says to it all."""

    def __init__(self) -> None:
        initial: list[tuple[Register, Any]] = [(QUOTA, LIMITED), (ACCOUNT, ENABLED), (("news", "1"), None)]
        initial += [(("price", *priced), PRICE) for priced in PRICED]
        self.recording = Recording(
            Beginning(
                seed=1, epoch=EPOCH, tenants={"u1": "t1", "u2": "t1"}, values=[*initial, (("account", "u2"), ENABLED)]
            )
        )

    def _add(self, operation: AnyOperation) -> None:
        self.recording.add(operation)

    def write(
        self, begin: float, end: float, register: Register, value: Any, outcome: Any = "done", *, changed: bool = True
    ) -> None:
        self._add(
            Write(begin=begin, end=end, register=register, value=value, verb="set", outcome=outcome, changed=changed)
        )

    def login(
        self, begin: float, end: float, status: int | None = 200, password: str = "p0", account: str = "u1"
    ) -> str:
        name = f"s{len(self.recording.operations)}"
        self._add(
            Login(
                begin=begin,
                end=end,
                account=account,
                password=password,
                replica=0,
                session=name if status == 200 else "",
                answer=Answer(status),
            )
        )
        return name

    def logout(self, begin: float, end: float, session: str, status: int | None = 200) -> None:
        self._add(Logout(begin=begin, end=end, session=session, replica=0, answer=Answer(status)))

    def call(self, begin: float, end: float, session: str, answer: Answer, action: str = "GetFlavors") -> None:
        self._add(Call(begin=begin, end=end, session=session, replica=1, action=action, answer=answer))

    def enter(self, begin: float, end: float, session: str, status: int | None = 200) -> None:
        """A call of which only matters whether it is let in."""
        self.call(begin, end, session, Answer(status))

    def usage(self, begin: float, end: float, limits: dict[str, int] = LIMITED, **used: int) -> None:
        """GetUsageLimits answers so, in a session that is good."""
        data = {LIMITS[name]: limit for name, limit in limits.items()}
        data |= {**dict.fromkeys(USED, 0), **used}
        self.call(begin, end, self._good(), Answer(200, data=data), "GetUsageLimits")

    def volumes(self, begin: float, end: float, *sizes: int, limits: dict[str, int] = LIMITED) -> None:
        self.usage(begin, end, limits, totalVolumesUsed=len(sizes), totalGigabytesUsed=sum(sizes))

    def costs(self, begin: float, end: float, **billionths: int) -> None:
        """GetConsumptionsEstimated answers so much an hour for these kinds."""
        data = [
            {"res_type": kind}
            | {name: _text(hour * hours) for name, hours in {"hour": 1, "day": 24, "month": 720, "year": 8760}.items()}
            for kind, hour in billionths.items()
        ]
        self.call(begin, end, self._good(), Answer(200, data=data), "GetConsumptionsEstimated")

    def news(self, begin: float, end: float, *titles: str) -> None:
        data = [{"date": "2025-06-15 15:06:40", "url": "https://news.example.com/", "title": title} for title in titles]
        self.call(begin, end, self._good(), Answer(200, data=data), "GetNews")

    def stored(self, begin: float, end: float, *values: tuple[Register, Any], wrong: tuple[str, ...] = ()) -> None:
        """The store holds this, and everything else as it was at the beginning."""
        held = {**dict(self.recording.beginning.values), **dict(values)}
        held = {register: value for register, value in held.items() if value is not None}
        self._add(Stored(begin=begin, end=end, values=list(held.items()), wrong_counters=list(wrong)))

    def quiet(self, moment: float) -> None:
        self._add(Quiet(begin=moment, end=moment))

    def _good(self) -> str:
        return self.login(-2, -1, account="u2")

    @property
    def problems(self) -> list[str]:
        return [finding.problem for finding in check(self.recording).findings]

    @property
    def problem(self) -> str:
        (problem,) = self.problems
        return problem


def _text(billionths: int) -> str:
    return f"{billionths // 10**9}.{billionths % 10**9:09}"
