"""Ten times the sustainable rate: how soon those are answered who are served, and how soon all is as before."""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from bench import servers
from bench.client import Caller, action_request
from bench.data import Plan, copy_of, store
from bench.figures import Ceiling, Measured, PartResult, Ratio, Refused
from bench.rounds import Pace
from bench.scale.database import SMALL, database, empty_folder, postgres
from cluster.load_generator import LoadGenerator, LoadResult, Response

MEMBERS: Final = 1000
FEW: Final = 32
SUSTAINABLE: Final = 0.5
"""Of the rate at best: machines that are shared are twice as slow from one second to the next."""
FACTOR: Final = 10
OVERLOAD_SECONDS: Final = 10
AFTERWARDS_SECONDS: Final = 6
FIRST: Final = 1.0
SLICE: Final = 0.25
LIMIT: Final = 3.0
"""How many times longer the slowest of a hundred served calls may take in an overload."""
RECOVERY_MS: Final = 5000
MEMORY_LIMIT: Final = 200
MANY_FILES: Final = Plan(tenants=100_000, resources_each=10)

ABOUT: Final = (
    f"Sustainable is {SUSTAINABLE:g} of what {FEW} callers get who call again as soon as they are answered. Overload "
    f"is {FACTOR} times that for {OVERLOAD_SECONDS} s, over {MEMBERS:,} kept connections, by callers that heed no "
    "`Retry-After`; a call that is due and finds none of them free is not sent, so fewer come than are due. It is "
    "given as a whole and, since the crowd is noticed in its first second, without that one. Warm: always the same "
    "call; cold: each another tenant's."
)


class Round(Struct, frozen=True):
    """One round: as ever, overloaded, and afterwards."""

    rate: float
    """The sustainable one, in calls a second."""
    seconds: float
    normal: list[float]
    """What each served call took, in seconds, at that rate."""
    onset: list[float]
    """The same in the first second of the overload."""
    overloaded: list[float]
    """The same after that."""
    refused: int
    recovery: float
    """Seconds after the overload's end until all was as before."""

    @property
    def served(self) -> int:
        return len(self.onset) + len(self.overloaded)

    @property
    def sent(self) -> float:
        """Calls a second that were answered, one way or the other: whoever waits for its answer sends no other."""
        return (self.served + self.refused) / self.seconds

    @property
    def slowdown(self) -> float:
        return p99(self.onset + self.overloaded) / p99(self.normal)

    @property
    def later_slowdown(self) -> float:
        return p99(self.overloaded) / p99(self.normal)


def p99(times: Sequence[float]) -> float:
    if not times:
        raise Refused("nobody was served")
    return sorted(times)[math.ceil(len(times) * 0.99) - 1]


def recovery_of(answers: Sequence[Response], normal: float) -> float:
    """When a slice of the time began in which everybody was served, and as soon as `normal` allows."""
    begun = min((answer.sent for answer in answers), default=0.0)
    slices: dict[int, list[Response]] = {}
    for answer in answers:
        slices.setdefault(int((answer.sent - begun) / SLICE), []).append(answer)
    for number, those in sorted(slices.items()):
        times = [answer.seconds for answer in those if answer.status == 200]
        if len(times) == len(those) and p99(times) <= LIMIT * normal:
            return number * SLICE
    return math.inf


def check(outcome: LoadResult) -> LoadResult:
    """Refuse a run in which an answer was missing, or none of those that an overload allows."""
    if outcome.lost or outcome.timed_out or outcome.without_retry_after or not set(outcome.statuses) <= {200, 503}:
        raise Refused(
            f"answers {dict(outcome.statuses)}, {outcome.lost} lost, {outcome.timed_out} never came, "
            f"{outcome.without_retry_after} without Retry-After"
        )
    return outcome


def one_round(crowd: LoadGenerator, few: LoadGenerator, requests: deque[bytes], seconds: int) -> Round:
    rate = SUSTAINABLE * len(go_on(few, requests, 50_000, seconds).times()) / seconds
    # As long as the overload, since both are to meet as much of what else the machine does.
    normal = go_on(crowd, requests, rate, OVERLOAD_SECONDS).times()
    overload = go_on(crowd, requests, FACTOR * rate, OVERLOAD_SECONDS)
    afterwards = go_on(crowd, requests, rate, AFTERWARDS_SECONDS)
    recovery = recovery_of(afterwards.responses, p99(normal))
    onset, later = at_first(overload.responses)
    return Round(rate, OVERLOAD_SECONDS, normal, onset, later, overload.statuses[503], recovery)


def go_on(crowd: LoadGenerator, requests: deque[bytes], rate: float, seconds: float) -> LoadResult:
    """Call where the run before has ended: else its calls would be made again, and find in memory what they read."""
    outcome = check(crowd.send(tuple(requests), rate, seconds, timeout=30))
    requests.rotate(-len(outcome.responses) - outcome.unsent)
    return outcome


def at_first(answers: Sequence[Response]) -> tuple[list[float], list[float]]:
    """What those took that were sent and served in the first second, and all others that were served."""
    begun = min((answer.sent for answer in answers), default=0.0)
    served = [answer for answer in answers if answer.status == 200]
    first = [answer.seconds for answer in served if answer.sent - begun < FIRST]
    return first, [answer.seconds for answer in served if answer.sent - begun >= FIRST]


def report(kinds: Mapping[str, Sequence[Round]], held: Sequence[Ceiling]) -> PartResult:
    """The figures of the rounds of each kind of call; pure."""
    ratios: list[Ratio] = []
    measured: list[Measured] = []
    ceilings: list[Ceiling] = []
    for kind, rounds in kinds.items():
        name = f"p99 of those served at {FACTOR} times the rate"
        ratios += [
            Ratio(f"{name} / as ever, {kind}", [each.slowdown for each in rounds], limit=LIMIT),
            Ratio(f"{name}, after a second / as ever, {kind}", [each.later_slowdown for each in rounds], limit=LIMIT),
        ]
        ratios.append(
            Ratio(f"sent in the overload / the sustainable rate, {kind}", [each.sent / each.rate for each in rounds])
        )
        slowest = min(1000 * max(each.recovery for each in rounds), 1000 * AFTERWARDS_SECONDS)
        ceilings.append(Ceiling(f"until all is as ever again, {kind}", "ms", slowest, RECOVERY_MS))
        measured += [
            Measured(f"p99 as ever, {kind}", "ms", [1000 * p99(each.normal) for each in rounds]),
            Measured(
                f"p99 of those served in the first second, {kind}", "ms", [1000 * p99(each.onset) for each in rounds]
            ),
            Measured(f"p99 of those served after that, {kind}", "ms", [1000 * p99(each.overloaded) for each in rounds]),
            Measured(f"the sustainable rate, {kind}", "calls/s", [each.rate for each in rounds]),
            Measured(f"served, {kind}", "calls/s", [each.served / each.seconds for each in rounds]),
            Measured(f"refused, {kind}", "calls/s", [each.refused / each.seconds for each in rounds]),
        ]
    return PartResult("overload", ratios, measured, [*ceilings, *held], [ABOUT])


def run(pace: Pace) -> PartResult:
    """Warm, one tenant's call again and again; cold, each call another tenant's, whose payload must be made."""
    rounds: dict[str, list[Round]] = {}
    held: list[Ceiling] = []
    with ExitStack() as stack:
        small, files = (stack.enter_context(copy_of(store(plan))) for plan in (Plan(), MANY_FILES))
        tables = database(stack.enter_context(postgres()), SMALL)
        on_tables = str(stack.enter_context(empty_folder())), "--database", tables.address
        for kind, where, requests in (
            ("SQLite, warm", (str(small.folder),), [_call(small.demo())]),
            ("SQLite, cold", (str(files.folder),), [_call(caller) for caller, _ in files.callers()]),
            ("PostgreSQL, warm", on_tables, [_call(tables.demo())]),
            ("PostgreSQL, cold", on_tables, [_call(caller) for caller, _ in tables.callers()]),
        ):
            rounds[kind], ceiling = _measure(kind, where, requests, pace)
            held.append(ceiling)
    return report(rounds, held)


def _measure(kind: str, where: tuple[str, ...], requests: Sequence[bytes], pace: Pace) -> tuple[list[Round], Ceiling]:
    with ExitStack() as stack:
        console = stack.enter_context(servers.console(Path(where[0]), *where[1:]))
        crowd, few = (stack.enter_context(LoadGenerator(console.port, members)) for members in (MEMBERS, FEW))
        for each in (crowd, few):
            check(each.warm_up())
        in_turn = deque(requests)
        rounds = [one_round(crowd, few, in_turn, pace.seconds) for _ in range(pace.rounds)]
        held = console.memory_ceiling(f"after the overload, with {MEMBERS:,} connections, {kind}")
        return rounds, replace(held, limit=MEMORY_LIMIT)


def _call(caller: Caller) -> bytes:
    return action_request(caller, "GetUsageLimits")
