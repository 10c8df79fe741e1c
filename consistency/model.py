"""Model of a history: possible values of all registers over time, and the sessions."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from consistency import oracle
from consistency.history import Healed, History, HistoryError, Login, Logout, Register, Write
from consistency.registers import Effect, Span, Version, effects, timeline, versions


class Session(NamedTuple):
    opened: Login
    logouts: list[Logout]


class Model:
    def __init__(self, history: History) -> None:
        initial_state = history.initial_state
        self._tenants = initial_state.tenants
        writes: dict[Register, list[Write]] = {}
        self.sessions: dict[str, Session] = {}
        self.healed_at = float("inf")
        logouts: list[Logout] = []
        for operation in history.operations:
            if isinstance(operation, Write):
                writes.setdefault(operation.register, []).append(operation)
            elif isinstance(operation, Login) and operation.session:
                self.sessions[operation.session] = Session(operation, [])
            elif isinstance(operation, Logout):
                logouts.append(operation)
            elif isinstance(operation, Healed):
                self.healed_at = min(self.healed_at, operation.end)
        for logout in logouts:
            self.session(logout.session).logouts.append(logout)

        initial = dict(initial_state.values)
        self.effects: dict[Register, list[Effect]] = {
            register: effects(writes.get(register, [])) for register in {**initial, **writes}
        }
        self.versions: dict[Register, list[Version]] = {
            register: versions(initial.get(register), found) for register, found in self.effects.items()
        }
        self._derive(initial_state.epoch)

    def _derive(self, epoch: float) -> None:
        """Derive what responses are made of, per tenant and global."""
        self.quotas: dict[str, list[Version]] = {}
        self.used: dict[str, list[Span]] = {}
        self.billed: dict[str, list[Span]] = {}
        for tenant in set(self._tenants.values()):
            self.quotas[tenant] = self.versions[("quota", tenant)]
            resources = self._versions_of("resource", tenant)
            used = [[each._replace(value=oracle.used(each.value)) for each in found] for found in resources]
            billed = [oracle.billed_versions(found, epoch) for found in resources]
            # The zero entry makes the sum work for a tenant without resources.
            self.used[tenant] = timeline([_always(oracle.NOTHING_USED), *used], oracle.total)
            self.billed[tenant] = timeline([_always(oracle.NOTHING_BILLED), *billed], oracle.total)
        self.prices = timeline([self.versions[("price", *priced)] for priced in oracle.PRICED], tuple)
        self.news = timeline(self._versions_of("news"), oracle.published)

    def _versions_of(self, *prefix: str) -> list[list[Version]]:
        length = len(prefix)
        return [found for register, found in self.versions.items() if register[:length] == prefix]

    def session(self, name: str) -> Session:
        if name not in self.sessions:
            raise HistoryError(f"session {name} was never opened")
        return self.sessions[name]

    def tenant_of(self, session: str) -> str:
        return self._tenants[self.session(session).opened.account]

    def account_versions(self, account: str) -> Sequence[Version]:
        """Possible states of an account; None if it does not exist."""
        found: list[Version] = self.versions.get(("account", account), _always(None))
        return found

    def account_effects(self, account: str) -> Sequence[Effect]:
        return self.effects[("account", account)]

    def is_possible(self, register: Register, value: Any, begin: float, end: float) -> bool:
        """Whether a register may have had a value at some time between `begin` and `end`."""
        found = self.versions.get(register, _always(None))
        return any(each.value == value and each.since <= end and each.until > begin for each in found)


def _always(value: Any) -> list[Version]:
    return [Version(value, float("-inf"), float("inf"))]
