"""Minimum coverage: a run in which too little was served, changed or broken proves nothing."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from consistency.checker import VIA_UI
from consistency.generators import REVOKE_SESSIONS
from consistency.tenant_client import ACTIONS

Counts = Mapping[tuple[str, str], int]
"""Number of operations by kind and outcome."""

WRITES: Final = (
    "account disable",
    "account enable",
    "account end-sessions",
    "account password",
    "news add",
    "price change",
    "quota change",
    "resource add",
    "resource remove",
)
FAULTS: Final = (
    ("replica-", "killed"),
    ("replica-", "suspended"),
    ("PostgreSQL", "restarted"),
    ("PostgreSQL", "suspended"),
    ("proxy of replica-", "delay"),
    ("proxy of replica-", "reset"),
    ("proxy of replica-", "black hole"),
)
"""Prefix of the target's name, and the kind of fault."""

READS_PER_1000: Final = 40
"""Successful reads of each action."""
REJECTED_PER_1000: Final = 30
"""Reads in ended sessions."""
LOGINS_PER_1000: Final = 10
LOGOUTS_PER_1000: Final = 3
UI_LOGINS_PER_1000: Final = 2
WRITES_PER_1000: Final = 0.2
"""Of each write by either path, and of each entity type by each path."""


class Requirement(NamedTuple):
    what: str
    times: int
    per_1000: float
    """Minimum per 1000 operations; at least one is always required."""

    def is_met(self, operations: int) -> bool:
        return self.times >= max(1, self.per_1000 * operations / 1000)


def unmet(counts: Counts) -> list[str]:
    """Describe the requirements that a run does not meet."""
    operations = sum(counts.values())
    return [f"{each.what} ({each.times:,} times)" for each in _requirements(counts) if not each.is_met(operations)]


def _requirements(counts: Counts) -> Iterator[Requirement]:
    for action in ACTIONS:
        yield Requirement(f"{action}: 200", counts.get((action, "200"), 0), READS_PER_1000)
    rejected = sum(counts.get((action, "401 login_required"), 0) for action in ACTIONS)
    yield Requirement("reads in ended sessions: 401", rejected, REJECTED_PER_1000)
    yield Requirement("login: 200", counts.get(("login", "200"), 0), LOGINS_PER_1000)
    yield Requirement(f"login{VIA_UI}: 200", counts.get((f"login{VIA_UI}", "200"), 0), UI_LOGINS_PER_1000)
    yield Requirement("logout: 200", counts.get(("logout", "200"), 0), LOGOUTS_PER_1000)
    done = {what: count for (what, outcome), count in counts.items() if outcome == "ok"}
    for write in WRITES:
        yield Requirement(f"{write}: ok", done.get(write, 0) + done.get(write + VIA_UI, 0), WRITES_PER_1000)
    for entity in dict.fromkeys(write.partition(" ")[0] for write in WRITES):
        planned = {
            what: count
            for what, count in done.items()
            if what.startswith(entity) and not what.endswith(REVOKE_SESSIONS)
        }
        via_ui = sum(count for what, count in planned.items() if what.endswith(VIA_UI))
        yield Requirement(f"{entity}: ok via the admin UI", via_ui, WRITES_PER_1000)
        yield Requirement(f"{entity}: ok via a command", sum(planned.values()) - via_ui, WRITES_PER_1000)
    for target, kind in FAULTS:
        injected = (
            count for (what, how), count in counts.items() if what.startswith(f"fault: {target}") and how == kind
        )
        yield Requirement(f"fault: {target}: {kind}", sum(injected), 0)
