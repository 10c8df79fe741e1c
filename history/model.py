"""A recording seen as registers: what each may have been at every moment, and who had which session when."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from history import amounts
from history.recording import Login, Logout, Quiet, Recording, RecordingError, Register, Write
from history.registers import Effect, Span, Version, effects, timeline, versions


class Session(NamedTuple):
    opened: Login
    logouts: list[Logout]


class Model:
    def __init__(self, recording: Recording) -> None:
        beginning = recording.beginning
        self._tenants = beginning.tenants
        writes: dict[Register, list[Write]] = {}
        self.sessions: dict[str, Session] = {}
        self.quiet_from = float("inf")
        logouts: list[Logout] = []
        for operation in recording.operations:
            if isinstance(operation, Write):
                writes.setdefault(operation.register, []).append(operation)
            elif isinstance(operation, Login) and operation.session:
                self.sessions[operation.session] = Session(operation, [])
            elif isinstance(operation, Logout):
                logouts.append(operation)
            elif isinstance(operation, Quiet):
                self.quiet_from = min(self.quiet_from, operation.end)
        for logout in logouts:
            self.session(logout.session).logouts.append(logout)

        initial = dict(beginning.values)
        self.effects: dict[Register, list[Effect]] = {
            register: effects(writes.get(register, [])) for register in {**initial, **writes}
        }
        self.versions: dict[Register, list[Version]] = {
            register: versions(initial.get(register), found) for register, found in self.effects.items()
        }
        self._put_together(beginning.epoch)

    def _put_together(self, epoch: float) -> None:
        """What answers are made of, by tenant and for all."""
        self.quotas: dict[str, list[Version]] = {}
        self.used: dict[str, list[Span]] = {}
        self.billed: dict[str, list[Span]] = {}
        for tenant in set(self._tenants.values()):
            self.quotas[tenant] = self.versions[("quota", tenant)]
            resources = self._of("resource", tenant)
            used = [[each._replace(value=amounts.used(each.value)) for each in found] for found in resources]
            billed = [amounts.billed_versions(found, epoch) for found in resources]
            # With nothing among them, so that there is something to sum up where a tenant has no resource at all.
            self.used[tenant] = timeline([_always(amounts.NOTHING_USED), *used], amounts.total)
            self.billed[tenant] = timeline([_always(amounts.NOTHING_BILLED), *billed], amounts.total)
        self.prices = timeline([self.versions[("price", *priced)] for priced in amounts.PRICED], tuple)
        self.news = timeline(self._of("news"), amounts.published)

    def _of(self, *beginning: str) -> list[list[Version]]:
        length = len(beginning)
        return [found for register, found in self.versions.items() if register[:length] == beginning]

    def session(self, name: str) -> Session:
        if name not in self.sessions:
            raise RecordingError(f"nobody opened the session {name}")
        return self.sessions[name]

    def tenant_of(self, session: str) -> str:
        return self._tenants[self.session(session).opened.account]

    def account_versions(self, account: str) -> Sequence[Version]:
        """What an account may have been; one that is not there is None."""
        found: list[Version] = self.versions.get(("account", account), _always(None))
        return found

    def account_effects(self, account: str) -> Sequence[Effect]:
        return self.effects[("account", account)]

    def may_be_stored(self, register: Register, value: Any, begin: float, end: float) -> bool:
        """Whether a register may have had a value at some moment of a time."""
        found = self.versions.get(register, _always(None))
        return any(each.value == value and each.since <= end and each.until > begin for each in found)


def _always(value: Any) -> list[Version]:
    return [Version(value, float("-inf"), float("inf"))]
