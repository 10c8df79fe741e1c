"""Write generators: one per writer, drawing changes from a seeded random source.

A generator is notified of each completed change and builds the next one on it; a change of unknown outcome is retried
first.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, Final, NamedTuple

from consistency.history import Register
from consistency.initial_cloud import (
    AMPLE_QUOTA,
    NEWS_SLOTS,
    NODE,
    PRICES_FROM,
    RESOURCE_SLOTS,
    Cloud,
    initial_password,
    news_date,
    news_url,
    price_text,
    time_text,
)
from consistency.oracle import LIMITS, PRICED

REVOKE_SESSIONS: Final = "revoke-sessions"
"""The verb for ending a writer's own operator sessions; not generated, but used after a lost response."""


class Change(NamedTuple):
    """An operator's verb, the register and its new value, and the input fields."""

    register: Register
    verb: str
    value: Any
    fields: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The key by which operators address the register."""
        entity, *names = self.register
        return "/".join([*names, PRICES_FROM]) if entity == "price" else names[-1]

    @property
    def is_forced(self) -> bool:
        """Whether the operator confirms it: it changes the cost of past hours, or limits below use."""
        return self.register[0] in ("price", "quota")


class WriteGenerator(ABC):
    """The changes of one writer; each register has exactly one generator."""

    actions: tuple[str, ...]
    """Actions in which tenants see its changes."""
    tenant: str | None = None
    """The affected tenant; None for all."""
    pause_seconds = 1.5
    """Average pause between two changes."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self._current: dict[Register, Any] = {}

    @abstractmethod
    def next(self) -> Change: ...

    def completed(self, change: Change) -> None:
        self._current[change.register] = change.value


class QuotaGenerator(WriteGenerator):
    actions = ("GetUsageLimits",)

    def __init__(self, rng: Random, tenant: str) -> None:
        super().__init__(rng)
        self.tenant = tenant

    def next(self) -> Change:
        number = self.rng.randrange(1000, 10_000)
        # Several fields at once: a response with only some of them updated is a fractured read.
        fields = {"instances": number, "cores": number + 1, "gigabytes": AMPLE_QUOTA + number, "image_meta": number}
        register = ("quota", str(self.tenant))
        return Change(register, "change", {**dict.fromkeys(LIMITS, AMPLE_QUOTA), **fields}, fields)


class ResourceGenerator(WriteGenerator):
    """A few resources of a tenant: repeatedly added, resized, ended and removed."""

    actions = ("GetUsageLimits", "GetConsumptionsEstimated")

    def __init__(self, rng: Random, tenant: str, letter: str) -> None:
        super().__init__(rng)
        self.tenant = tenant
        self._names = [f"{tenant}-{letter}-{slot}" for slot in range(RESOURCE_SLOTS)]

    def next(self) -> Change:
        name = self.rng.choice(self._names)
        register = ("resource", str(self.tenant), name)
        current = self._current.get(register)
        if current is None:
            kind = self.rng.choice(KINDS)
            value = {"kind": kind, **self._sizes(kind), "ended": False}
            node = {} if kind == "security_group" else {"node": NODE}
            fields = {"tenant": self.tenant, "id": name, "kind": kind, "name": name, **node, **_nonzero(value)}
            return Change(register, "add", value, fields)
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


class PriceGenerator(WriteGenerator):
    actions = ("GetConsumptionsEstimated",)
    pause_seconds = 1.0

    def next(self) -> Change:
        price = self.rng.randrange(1, 10**8)
        return Change(("price", *self.rng.choice(PRICED)), "change", price, {"price": price_text(price)})


class NewsGenerator(WriteGenerator):
    actions = ("GetNews",)
    pause_seconds = 1.0

    def next(self) -> Change:
        slot = self.rng.randrange(1, NEWS_SLOTS + 1)
        register = ("news", str(slot))
        current = self._current.get(register)
        title = f"News of {self.rng.randrange(10**6)}"
        if current is None:
            value = {"title": title, "url": news_url(slot), "date": news_date(slot), "disabled": False}
            fields = {"id": slot, "date": time_text(news_date(slot)), "title": title, "url": news_url(slot)}
            return Change(register, "add", value, fields)
        if self.rng.random() < 0.3:
            return Change(register, "remove", None, {})
        if self.rng.random() < 0.5:
            return Change(register, "change", {**current, "title": title}, {"title": title})
        verb = "enable" if current["disabled"] else "disable"
        return Change(register, verb, {**current, "disabled": not current["disabled"]}, {})


class AccountGenerator(WriteGenerator):
    """The accounts of a tenant: disabled, enabled, given new passwords, logged out."""

    actions = ("GetUsageLimits", "GetConsumptionsEstimated", "GetNews")
    # Each change ends sessions, and without sessions nothing is read.
    pause_seconds = 3.0

    def __init__(self, rng: Random, accounts: list[str]) -> None:
        super().__init__(rng)
        self.accounts = accounts
        self._passwords = 0
        for account in accounts:
            self._current[("account", account)] = {"disabled": False, "password": initial_password(account)}

    def next(self) -> Change:
        account = self.rng.choice(self.accounts)
        disabled = [name for name in self.accounts if self.current(name)["disabled"]]
        if disabled:
            # Enable it first: a disabled account cannot read anything.
            register = ("account", disabled[0])
            return Change(register, "enable", {**self._current[register], "disabled": False}, {})
        register = ("account", account)
        verb = self.rng.choice(("disable", "password", "end-sessions"))
        if verb == "disable":
            return Change(register, verb, {**self._current[register], "disabled": True}, {})
        if verb == "end-sessions":
            return Change(register, verb, self._current[register], {})
        self._passwords += 1
        password = f"{account}-password-{self._passwords}"
        return Change(register, verb, {**self._current[register], "password": password}, {"password": password})

    def current(self, account: str) -> dict[str, Any]:
        """Return the state of an account as far as its writer knows."""
        value: dict[str, Any] = self._current[("account", account)]
        return value


def write_generators(cloud: Cloud, seed: int) -> Iterator[WriteGenerator]:
    """Yield all generators of a cloud; two per tenant for resources, so that its counters see concurrent writes."""

    def rng(*name: str) -> Random:
        return Random(f"{seed} {' '.join(name)}")

    for tenant in cloud.tenants:
        yield QuotaGenerator(rng("quota", tenant), tenant)
        for letter in "xy":
            yield ResourceGenerator(rng("resource", tenant, letter), tenant, letter)
        yield AccountGenerator(
            rng("account", tenant), [name for name, owner in cloud.accounts.items() if owner == tenant]
        )
    yield PriceGenerator(rng("price"))
    yield NewsGenerator(rng("news"))
