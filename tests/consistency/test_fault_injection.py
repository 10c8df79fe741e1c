"""Fault injection in a seeded order, and the recorder's clock and completion."""

import asyncio
from collections.abc import Callable
from itertools import islice
from random import Random

from consistency.fault_injection import FaultAction, FaultInjector
from consistency.history import Fault, Healed, HistoryRecorder

from tests.consistency.history_builder import ENABLED

NAMES = ("one", "two", "three")


def recorder(wanted: int) -> HistoryRecorder:
    return HistoryRecorder(target=wanted, seed=1, tenants={"u1": "t1"}, values=[(("account", "u1"), ENABLED)])


def fault_actions(done: list[str]) -> list[FaultAction]:
    def log(*words: str) -> Callable[[], None]:
        return lambda: done.append(" ".join(words))

    return [FaultAction("it", name, log("inject", name), log("heal", name), (0, 0)) for name in NAMES]


def names(seed: int, count: int) -> list[str]:
    return [each.kind for each in islice(FaultInjector(Random(seed), fault_actions([])).schedule(), count)]


def test_each_kind_is_injected_once_per_cycle() -> None:
    order = names(1, 9)
    assert [sorted(order[index : index + 3]) for index in (0, 3, 6)] == [sorted(NAMES)] * 3


def test_the_same_seed_gives_the_same_schedule() -> None:
    assert names(1, 30) == names(1, 30) != names(2, 30)


def test_each_kind_strikes_every_target() -> None:
    both = [each._replace(target=target) for target in ("this", "that") for each in fault_actions([])]
    found = {(each.target, each.kind) for each in islice(FaultInjector(Random(1), both).schedule(), 60)}
    assert found == {(target, name) for target in ("this", "that") for name in NAMES}


def test_without_actions_the_schedule_is_empty() -> None:
    assert list(FaultInjector(Random(1), []).schedule()) == []


def test_each_injected_fault_is_healed_and_recorded() -> None:
    done: list[str] = []

    async def two_faults() -> HistoryRecorder:
        made = recorder(2)
        await FaultInjector(Random(1), fault_actions(done), (0, 0)).run(made)
        return made

    made = asyncio.run(two_faults())
    faults = [(operation.target, operation.kind) for operation in made.operations if isinstance(operation, Fault)]
    assert done == [word for _, kind in faults for word in (f"inject {kind}", f"heal {kind}")]
    assert [target for target, _ in faults] == ["it", "it"]


def test_waiting_ends_when_the_history_is_complete() -> None:
    async def waited() -> tuple[bool, bool]:
        made = recorder(1)
        before = await made.wait(0.01)
        made.add(Healed(begin=0, end=0))
        return before, await made.wait(1000)

    assert asyncio.run(waited()) == (False, True)


def test_the_clock_starts_at_zero_and_is_monotonic() -> None:
    async def moments() -> list[float]:
        made = recorder(1)
        return [made.now(), made.now()]

    first, second = asyncio.run(moments())
    assert 0 <= first <= second
