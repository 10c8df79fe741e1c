"""Builder of hand-written histories: one tenant, round numbers as times."""

from typing import Any

from consistency.checker import check
from consistency.history import FinalRead, Healed, History, InitialState, Login, Logout, Read, Register, Response, Write
from consistency.oracle import LIMITS, PRICED, USED

LIMITED = dict.fromkeys(LIMITS, 10)
PRICE = 1000
ENABLED = {"disabled": False, "password": "p0"}
DISABLED = {"disabled": True, "password": "p0"}
QUOTA: Register = ("quota", "t1")
ACCOUNT: Register = ("account", "u1")
VOLUME_PRICE: Register = ("price", "volume", "gb")
EPOCH = 1_800_000_000.0
"""The start of an hour."""


def limited(number: int) -> dict[str, int]:
    return {**LIMITED, "instances": number, "cores": number}


def volume(size: int, *, ended: bool = False) -> dict[str, Any]:
    return {"kind": "volume", "vcpus": 0, "ram": 0, "size": size, "ended": ended}


def news(title: str, date: int = 1_750_000_000, *, disabled: bool = False) -> dict[str, Any]:
    return {"title": title, "url": "https://news.example.com/", "date": date, "disabled": disabled}


def resource(name: str) -> Register:
    return ("resource", "t1", name)


class HistoryBuilder:
    """Adds operations with their start and end times; `problems` has the checker's verdict."""

    def __init__(self) -> None:
        initial: list[tuple[Register, Any]] = [(QUOTA, LIMITED), (ACCOUNT, ENABLED), (("news", "1"), None)]
        initial += [(("price", *priced), PRICE) for priced in PRICED]
        self.history = History(
            InitialState(
                seed=1, epoch=EPOCH, tenants={"u1": "t1", "u2": "t1"}, values=[*initial, (("account", "u2"), ENABLED)]
            )
        )

    def write(
        self, begin: float, end: float, register: Register, value: Any, outcome: Any = "ok", *, changed: bool = True
    ) -> None:
        self.history.add(
            Write(begin=begin, end=end, register=register, value=value, verb="set", outcome=outcome, changed=changed)
        )

    def login(
        self, begin: float, end: float, status: int | None = 200, password: str = "p0", account: str = "u1"
    ) -> str:
        name = f"s{len(self.history.operations)}"
        self.history.add(
            Login(
                begin=begin,
                end=end,
                account=account,
                password=password,
                replica=0,
                session=name if status == 200 else "",
                response=Response(status),
            )
        )
        return name

    def logout(self, begin: float, end: float, session: str, status: int | None = 200) -> None:
        self.history.add(Logout(begin=begin, end=end, session=session, replica=0, response=Response(status)))

    def read(self, begin: float, end: float, session: str, answer: Response, action: str = "GetFlavors") -> None:
        self.history.add(Read(begin=begin, end=end, session=session, replica=1, action=action, response=answer))

    def use(self, begin: float, end: float, session: str, status: int | None = 200) -> None:
        """Add a read that only tests whether the session is accepted."""
        self.read(begin, end, session, Response(status))

    def usage(self, begin: float, end: float, limits: dict[str, int] = LIMITED, **used: int) -> None:
        """Add a GetUsageLimits response in a valid session."""
        data = {LIMITS[name]: limit for name, limit in limits.items()}
        data |= {**dict.fromkeys(USED, 0), **used}
        self.read(begin, end, self._valid_session(), Response(200, data=data), "GetUsageLimits")

    def volumes(self, begin: float, end: float, *sizes: int, limits: dict[str, int] = LIMITED) -> None:
        self.usage(begin, end, limits, totalVolumesUsed=len(sizes), totalGigabytesUsed=sum(sizes))

    def costs(self, begin: float, end: float, **billionths: int) -> None:
        """Add a GetConsumptionsEstimated response with hourly costs by kind."""
        data = [
            {"res_type": kind}
            | {name: _text(hour * hours) for name, hours in {"hour": 1, "day": 24, "month": 720, "year": 8760}.items()}
            for kind, hour in billionths.items()
        ]
        self.read(begin, end, self._valid_session(), Response(200, data=data), "GetConsumptionsEstimated")

    def news(self, begin: float, end: float, *titles: str) -> None:
        data = [{"date": "2025-06-15 15:06:40", "url": "https://news.example.com/", "title": title} for title in titles]
        self.read(begin, end, self._valid_session(), Response(200, data=data), "GetNews")

    def final_read(
        self, begin: float, end: float, *values: tuple[Register, Any], wrong: tuple[str, ...] = (), **more: list[str]
    ) -> None:
        """Add a final read: these values, and the initial ones of all other registers."""
        stored = {**dict(self.history.initial_state.values), **dict(values)}
        stored = {register: value for register, value in stored.items() if value is not None}
        stored_values = list(stored.items())
        self.history.add(FinalRead(begin=begin, end=end, values=stored_values, wrong_counters=list(wrong), **more))

    def healed(self, moment: float) -> None:
        self.history.add(Healed(begin=moment, end=moment))

    def _valid_session(self) -> str:
        return self.login(-2, -1, account="u2")

    @property
    def problems(self) -> list[str]:
        return [anomaly.problem for anomaly in check(self.history).anomalies]

    @property
    def problem(self) -> str:
        (problem,) = self.problems
        return problem


def _text(billionths: int) -> str:
    return f"{billionths // 10**9}.{billionths % 10**9:09}"
