"""What is broken is mended, in an order drawn from the seed; and a recording in the making says when it is enough."""

import asyncio
from collections.abc import Callable
from itertools import islice
from random import Random

from history.faults import Breakage, Faults
from history.recorder import Recorder
from history.recording import Fault, Quiet

from tests.history.story import ENABLED

NAMES = ("one", "two", "three")


def recorder(wanted: int) -> Recorder:
    return Recorder(wanted=wanted, seed=1, tenants={"u1": "t1"}, values=[(("account", "u1"), ENABLED)])


def breakages(done: list[str]) -> list[Breakage]:
    def tell(*words: str) -> Callable[[], None]:
        return lambda: done.append(" ".join(words))

    return [Breakage("it", name, tell("break", name), tell("mend", name), (0, 0)) for name in NAMES]


def names(seed: int, count: int) -> list[str]:
    return [each.kind for each in islice(Faults(Random(seed), breakages([])).order(), count)]


def test_each_is_broken_once_before_any_is_again() -> None:
    order = names(1, 9)
    assert [sorted(order[place : place + 3]) for place in (0, 3, 6)] == [sorted(NAMES)] * 3


def test_the_same_seed_breaks_the_same_things() -> None:
    assert names(1, 30) == names(1, 30) != names(2, 30)


def test_of_each_kind_any_may_be_the_one() -> None:
    both = [each._replace(target=target) for target in ("this", "that") for each in breakages([])]
    found = {(each.target, each.kind) for each in islice(Faults(Random(1), both).order(), 60)}
    assert found == {(target, name) for target in ("this", "that") for name in NAMES}


def test_nothing_to_break_is_no_fault() -> None:
    assert list(Faults(Random(1), []).order()) == []


def test_whatever_is_broken_is_mended_and_recorded() -> None:
    done: list[str] = []

    async def two_faults() -> Recorder:
        made = recorder(2)
        await Faults(Random(1), breakages(done), (0, 0)).work(made)
        return made

    made = asyncio.run(two_faults())
    broken = [(operation.target, operation.kind) for operation in made.operations if isinstance(operation, Fault)]
    assert done == [word for _, kind in broken for word in (f"break {kind}", f"mend {kind}")]
    assert [target for target, _ in broken] == ["it", "it"]


def test_a_recorder_waits_no_longer_than_until_there_is_enough() -> None:
    async def waited() -> tuple[bool, bool]:
        made = recorder(1)
        before = await made.wait(0.01)
        made.add(Quiet(begin=0, end=0))
        return before, await made.wait(1000)

    assert asyncio.run(waited()) == (False, True)


def test_its_clock_goes_forward_from_nothing() -> None:
    async def moments() -> list[float]:
        made = recorder(1)
        return [made.now(), made.now()]

    first, second = asyncio.run(moments())
    assert 0 <= first <= second
