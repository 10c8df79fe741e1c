"""What is going to be changed: one planner for each writer, who draws change after change from a seed.

A planner is told when a change is done, and plans the next one from there; one of unknown outcome is done again first.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, Final, NamedTuple

from history.amounts import LIMITS, PRICED
from history.cloud import (
    NEWS_SLOTS,
    NODE,
    PRICES_FROM,
    RESOURCE_SLOTS,
    ROOM,
    Cloud,
    first_password,
    news_date,
    news_url,
    price_text,
    time_text,
)
from history.recording import Register

SHUT_OUT: Final = "shut-out"
"""The verb for ending an operator's own sessions: no plan has it, it follows from what breaks."""


class Change(NamedTuple):
    """An operator's verb, what it makes of which register, and what it is given."""

    register: Register
    verb: str
    value: Any
    given: Mapping[str, Any]

    @property
    def key(self) -> str:
        """By which operators name what is changed."""
        noun, *names = self.register
        return "/".join([*names, PRICES_FROM]) if noun == "price" else names[-1]


class Planner(ABC):
    """One writer's plans; all that is planned for a register comes from one planner."""

    actions: tuple[str, ...]
    """What tenants see of its changes."""
    tenant: str | None = None
    """Which tenant's; None where all do."""
    pause_seconds = 1.5
    """Between two of its changes, on average."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self._now: dict[Register, Any] = {}

    @abstractmethod
    def next(self) -> Change: ...

    def done(self, change: Change) -> None:
        self._now[change.register] = change.value


class QuotaPlanner(Planner):
    actions = ("GetUsageLimits",)

    def __init__(self, rng: Random, tenant: str) -> None:
        super().__init__(rng)
        self.tenant = tenant

    def next(self) -> Change:
        number = self.rng.randrange(1000, 10_000)
        # Several at once: an answer with some of them from before would be torn.
        given = {"instances": number, "cores": number + 1, "gigabytes": ROOM + number, "image_meta": number}
        register = ("quota", str(self.tenant))
        return Change(register, "change", {**dict.fromkeys(LIMITS, ROOM), **given}, given)


class ResourcePlanner(Planner):
    """A few resources of a tenant: recorded, resized, ended and removed again and again."""

    actions = ("GetUsageLimits", "GetConsumptionsEstimated")

    def __init__(self, rng: Random, tenant: str, letter: str) -> None:
        super().__init__(rng)
        self.tenant = tenant
        self._names = [f"{tenant}-{letter}-{slot}" for slot in range(RESOURCE_SLOTS)]

    def next(self) -> Change:
        name = self.rng.choice(self._names)
        register = ("resource", str(self.tenant), name)
        current = self._now.get(register)
        if current is None:
            kind = self.rng.choice(KINDS)
            value = {"kind": kind, **self._sizes(kind), "ended": False}
            node = {} if kind == "security_group" else {"node": NODE}
            given = {"tenant": self.tenant, "id": name, "kind": kind, "name": name, **node, **_nonzero(value)}
            return Change(register, "add", value, given)
        if not current["ended"] and self.rng.random() < 0.3:
            return Change(register, "end", {**current, "ended": True}, {})
        sizes = self._sizes(current["kind"])
        if not current["ended"] and any(sizes.values()) and self.rng.random() < 0.5:
            value = {**current, **sizes}
            return Change(register, "change", value, _nonzero(value))
        return Change(register, "remove", None, {})

    def _sizes(self, kind: str) -> dict[str, int]:
        draw = self.rng.randrange
        if kind == "instance":
            return {"vcpus": draw(1, 9), "ram": draw(1, 17) * 700, "size": 0}
        return {"vcpus": 0, "ram": 0, "size": draw(1, 500) if kind in ("image", "volume", "snapshot") else 0}


KINDS: Final = ("instance", "volume", "image", "loadbalance", "snapshot", "floating_ip", "security_group")


def _nonzero(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value[name] for name in ("vcpus", "ram", "size") if value[name]}


class PricePlanner(Planner):
    actions = ("GetConsumptionsEstimated",)
    pause_seconds = 1.0

    def next(self) -> Change:
        price = self.rng.randrange(1, 10**8)
        return Change(("price", *self.rng.choice(PRICED)), "change", price, {"price": price_text(price)})


class NewsPlanner(Planner):
    actions = ("GetNews",)
    pause_seconds = 1.0

    def next(self) -> Change:
        slot = self.rng.randrange(1, NEWS_SLOTS + 1)
        register = ("news", str(slot))
        current = self._now.get(register)
        title = f"News of {self.rng.randrange(10**6)}"
        if current is None:
            value = {"title": title, "url": news_url(slot), "date": news_date(slot), "disabled": False}
            told = {"id": slot, "date": time_text(news_date(slot)), "title": title, "url": news_url(slot)}
            return Change(register, "add", value, told)
        if self.rng.random() < 0.3:
            return Change(register, "remove", None, {})
        if self.rng.random() < 0.5:
            return Change(register, "change", {**current, "title": title}, {"title": title})
        verb = "enable" if current["disabled"] else "disable"
        return Change(register, verb, {**current, "disabled": not current["disabled"]}, {})


class AccountPlanner(Planner):
    """A tenant's accounts: disabled and enabled again, given other passwords, logged out everywhere."""

    actions = ("GetUsageLimits", "GetConsumptionsEstimated", "GetNews")
    # Each ends sessions, and without those nobody sees anything.
    pause_seconds = 3.0

    def __init__(self, rng: Random, accounts: list[str]) -> None:
        super().__init__(rng)
        self.accounts = accounts
        self._passwords = 0
        for account in accounts:
            self._now[("account", account)] = {"disabled": False, "password": first_password(account)}

    def next(self) -> Change:
        account = self.rng.choice(self.accounts)
        disabled = [name for name in self.accounts if self.current(name)["disabled"]]
        if disabled:
            # Before anything else: what nobody can log in to shows nothing.
            register = ("account", disabled[0])
            return Change(register, "enable", {**self._now[register], "disabled": False}, {})
        register = ("account", account)
        verb = self.rng.choice(("disable", "password", "end-sessions"))
        if verb == "disable":
            return Change(register, verb, {**self._now[register], "disabled": True}, {})
        if verb == "end-sessions":
            return Change(register, verb, self._now[register], {})
        self._passwords += 1
        password = f"{account}-password-{self._passwords}"
        return Change(register, verb, {**self._now[register], "password": password}, {"password": password})

    def current(self, account: str) -> dict[str, Any]:
        """What the account is, as far as this writer knows."""
        value: dict[str, Any] = self._now[("account", account)]
        return value


def planners(cloud: Cloud, seed: int) -> Iterator[Planner]:
    """All writers of a cloud; two for each tenant's resources, since its counters must bear that."""

    def rng(*name: str) -> Random:
        return Random(f"{seed} {' '.join(name)}")

    for tenant in cloud.tenants:
        yield QuotaPlanner(rng("quota", tenant), tenant)
        for letter in "xy":
            yield ResourcePlanner(rng("resource", tenant, letter), tenant, letter)
        yield AccountPlanner(
            rng("account", tenant), [name for name, owner in cloud.accounts.items() if owner == tenant]
        )
    yield PricePlanner(rng("price"))
    yield NewsPlanner(rng("news"))
