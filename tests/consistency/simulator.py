"""Simulated console with a configurable lease; times are drawn at random, not waited for."""

from collections.abc import Iterator
from random import Random
from typing import Any, Final, NamedTuple

from consistency.history import (
    History,
    InitialState,
    Login,
    Logout,
    Operation,
    Outcome,
    Read,
    Register,
    Response,
    Write,
)

from consistency import oracle
from tests.consistency.history_builder import ENABLED, EPOCH, LIMITED, PRICE, limited, news, volume

REPLICATION_WAIT: Final = 0.6
LENGTH: Final = 60.0
ACCOUNT: Final = ("account", "u1")
REGISTERS: Final[list[Register]] = [
    ("quota", "t1"),
    *(("resource", "t1", name) for name in "abc"),
    ("price", "volume", "gb"),
    *(("news", number) for number in "12"),
    ACCOUNT,
]


class Effect(NamedTuple):
    moment: float
    value: Any


class Simulation:
    """The true sequence of effects, drawn from a seed, and the history that clients observe."""

    def __init__(self, seed: int, lease: float) -> None:
        self._rng, self._lease = Random(seed), lease
        prices: dict[Register, Any] = {("price", *priced): PRICE for priced in oracle.PRICED}
        self._initial: dict[Register, Any] = {("quota", "t1"): LIMITED, ACCOUNT: ENABLED, **prices}
        self._effects: dict[Register, list[Effect]] = {register: [] for register in REGISTERS}
        self._operations: list[Any] = []
        for register in REGISTERS:
            self._write(register)
        for number in range(30):
            self._session(f"s{number}")

    def history(self) -> History:
        initial_state = InitialState(seed=0, epoch=EPOCH, tenants={"u1": "t1"}, values=list(self._initial.items()))
        return History(initial_state, sorted(self._operations, key=lambda operation: operation.end))

    def _now(self, register: Register, moment: float) -> Any:
        values = [each.value for each in self._effects[register] if each.moment <= moment]
        return values[-1] if values else self._initial.get(register)

    def _write(self, register: Register) -> None:
        """A writer: retries each change until its outcome is known; an abandoned attempt may still take effect."""
        draw, moment = self._rng.uniform, self._rng.uniform(0, 2)
        while moment < LENGTH:
            value, done_at = self._value(register), None
            # Like a password reset, which ends sessions even if repeated.
            always_changes = register == ACCOUNT and self._rng.random() < 0.5
            while True:
                begin, outcome = moment, self._outcome()
                # A write waits for an earlier one of the same row.
                takes_effect = max(begin, done_at or begin) + draw(0, 0.3)
                is_done = done_at is not None and not always_changes
                if outcome == "ok":
                    end = takes_effect + REPLICATION_WAIT + draw(0, 0.2)
                else:
                    end = begin + draw(0.1, 1.5)
                    takes_effect += draw(0, 2)
                if not is_done and (outcome == "ok" or self._rng.random() < 0.5):
                    self._effects[register].append(Effect(takes_effect, value))
                    done_at = takes_effect
                fields = {"register": register, "value": value, "verb": "set", "outcome": outcome}
                self._add(Write, begin, end, **fields, changed=not is_done)
                moment = end + draw(0, 1.5)
                if outcome == "ok":
                    break
            # Let sessions live long enough to be used.
            moment += draw(0, 12) if register == ACCOUNT else 0

    def _outcome(self) -> Outcome:
        return "unknown" if self._rng.random() < 0.3 else "ok"

    def _value(self, register: Register) -> Any:
        number = self._rng.randrange(1000)
        match register[0]:
            case "quota":
                return limited(number)
            case "resource":
                return self._rng.choice([None, volume(number + 1), volume(number + 1, ended=True)])
            case "news":
                return self._rng.choice([None, news(f"{number}", date=1_750_000_000 + int(register[1]))])
            case "account":
                return {"disabled": number % 3 == 0, "password": f"p{number}"}
            case _:
                return number + 1

    def _session(self, session: str) -> None:
        """A login, reads during and after its session, and a logout."""
        draw = self._rng.uniform
        begin = draw(-2, LENGTH)
        opened = begin + draw(0, 0.3)
        account = self._now(ACCOUNT, opened)
        password = self._now(ACCOUNT, opened - draw(0, 2))["password"]
        accepted = not account["disabled"] and account["password"] == password
        fields = {"account": "u1", "password": password, "replica": 0, "session": session if accepted else ""}
        self._add(Login, begin, opened + draw(0, 0.3), **fields, response=Response(200 if accepted else 401))
        if not accepted:
            return
        left = opened + draw(1, 10)
        for _ in range(25):
            self._read(session, opened, left)
        status = 200 if self._is_live(opened, left, left - 0.001) else 401
        end, known = left + REPLICATION_WAIT + draw(0, 0.2), self._rng.random() < 0.8
        response = Response(status if known else None)
        self._add(Logout, left - draw(0, 0.2), end, session=session, replica=0, response=response)

    def _read(self, session: str, opened: float, left: float) -> None:
        draw = self._rng.uniform
        begin = opened + 0.4 + draw(0, 12)
        end = begin + draw(0.01, 2)
        seen = draw(max(begin - self._lease, opened), end)
        if not self._is_live(opened, left, seen):
            self._add(Read, begin, end, session=session, replica=0, action="GetNews", response=Response(401))
            return
        action, data = self._rng.choice(list(self._responses(seen)))
        self._add(Read, begin, end, session=session, replica=0, action=action, response=Response(200, data=data))

    def _is_live(self, opened: float, left: float, moment: float) -> bool:
        return moment < left and not any(opened < each.moment <= moment for each in self._effects[ACCOUNT])

    def _responses(self, moment: float) -> Iterator[tuple[str, Any]]:
        resources = [self._now(register, moment) for register in REGISTERS if register[0] == "resource"]
        used = dict(zip(oracle.USED, oracle.total([oracle.used(each) for each in resources]), strict=True))
        quota = self._now(("quota", "t1"), moment)
        yield "GetUsageLimits", {**used, **{field: quota[name] for name, field in oracle.LIMITS.items()}}
        size = sum(each["size"] for each in resources if each is not None)
        hour = size * self._now(("price", "volume", "gb"), moment)
        times = {"hour": 1, "day": 24, "month": 720, "year": 8760}
        item = {"res_type": "volume", **{name: f"{hour * hours / 10**9:.9f}" for name, hours in times.items()}}
        yield "GetConsumptionsEstimated", [item] if hour else []
        items = [self._now(("news", number), moment) for number in "21"]
        shown = [
            {"title": each["title"], "url": each["url"], "date": f"2025-06-15 15:06:4{each['date'] % 10}"}
            for each in items
            if each is not None
        ]
        yield "GetNews", shown

    def _add(self, kind: type[Operation], begin: float, end: float, **fields: Any) -> None:
        self._operations.append(kind(begin=begin, end=end, **fields))
