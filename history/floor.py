"""What a run must have seen: one in which nothing was served, or nothing broke, would prove nothing."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from history.callers import ACTIONS
from history.checker import AT_PAGES
from history.plan import SHUT_OUT

Counts = Mapping[tuple[str, str], int]
"""How many operations of each kind ended how."""

CHANGES: Final = (
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
    ("replica-", "halted"),
    ("PostgreSQL", "restarted"),
    ("PostgreSQL", "halted"),
    ("the wire of replica-", "slow"),
    ("the wire of replica-", "reset"),
    ("the wire of replica-", "swallows all"),
)
"""How the target's name begins, and what was done to it."""

SERVED_OF_1000: Final = 40
"""Answers to each action."""
REFUSED_OF_1000: Final = 30
"""Calls in sessions that had ended."""
LOGINS_OF_1000: Final = 10
LOGOUTS_OF_1000: Final = 3
SIGN_INS_OF_1000: Final = 2
CHANGES_OF_1000: Final = 0.2
"""Of each change, whichever way it was made; and of each thing that is changed, either way."""


class Seen(NamedTuple):
    what: str
    times: int
    of_1000: float
    """The least that it must be, among so many operations; but it must be there at all."""

    def is_too_little(self, operations: int) -> bool:
        return self.times < max(1, self.of_1000 * operations / 1000)


def missing(counts: Counts) -> list[str]:
    """Of what there was too little."""
    operations = sum(counts.values())
    return [f"{seen.what} ({seen.times:,} times)" for seen in _seen(counts) if seen.is_too_little(operations)]


def _seen(counts: Counts) -> Iterator[Seen]:
    for action in ACTIONS:
        yield Seen(f"{action}: 200", counts.get((action, "200"), 0), SERVED_OF_1000)
    refused = sum(counts.get((action, "401 login_required"), 0) for action in ACTIONS)
    yield Seen("calls in ended sessions: 401", refused, REFUSED_OF_1000)
    yield Seen("login: 200", counts.get(("login", "200"), 0), LOGINS_OF_1000)
    yield Seen(f"login{AT_PAGES}: 200", counts.get((f"login{AT_PAGES}", "200"), 0), SIGN_INS_OF_1000)
    yield Seen("logout: 200", counts.get(("logout", "200"), 0), LOGOUTS_OF_1000)
    done = {what: times for (what, outcome), times in counts.items() if outcome == "done"}
    for change in CHANGES:
        yield Seen(f"{change}: done", done.get(change, 0) + done.get(change + AT_PAGES, 0), CHANGES_OF_1000)
    for noun in dict.fromkeys(change.partition(" ")[0] for change in CHANGES):
        planned = {what: times for what, times in done.items() if what.startswith(noun) and not what.endswith(SHUT_OUT)}
        at_pages = sum(times for what, times in planned.items() if what.endswith(AT_PAGES))
        yield Seen(f"{noun}: done at the pages", at_pages, CHANGES_OF_1000)
        yield Seen(f"{noun}: done by a command", sum(planned.values()) - at_pages, CHANGES_OF_1000)
    for target, kind in FAULTS:
        broken = (
            times for (what, how), times in counts.items() if what.startswith(f"fault of {target}") and how == kind
        )
        yield Seen(f"fault of {target}: {kind}", sum(broken), 0)
