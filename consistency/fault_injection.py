"""Fault injection (Jepsen's nemesis): inject and heal one fault after another, in a seeded random order."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Final, NamedTuple

from consistency.history import Fault, HistoryRecorder

INTERVAL_SECONDS: Final = (2.0, 6.0)
"""Between two faults: long enough to recover and be served, short enough for many faults per round."""


class FaultAction(NamedTuple):
    """A fault that can be injected and healed; both may block."""

    target: str
    kind: str
    inject: Callable[[], object]
    heal: Callable[[], object]
    seconds: tuple[float, float]
    """Minimum and maximum duration."""


class FaultInjector:
    """Injects faults until the history is complete, and leaves none active. Several can run concurrently."""

    def __init__(
        self, rng: Random, actions: Sequence[FaultAction], interval: tuple[float, float] = INTERVAL_SECONDS
    ) -> None:
        self._rng, self._interval = rng, interval
        self._kinds: dict[str, list[FaultAction]] = {}
        for action in actions:
            self._kinds.setdefault(action.kind, []).append(action)

    def schedule(self) -> Iterator[FaultAction]:
        """Yield one fault of each kind, then again in another order, endlessly."""
        while self._kinds:
            for kind in self._rng.sample(list(self._kinds), len(self._kinds)):
                yield self._rng.choice(self._kinds[kind])

    async def run(self, recorder: HistoryRecorder) -> None:
        for action in self.schedule():
            if await recorder.wait(self._rng.uniform(*self._interval)):
                return
            begin = recorder.now()
            await asyncio.to_thread(action.inject)
            await recorder.wait(self._rng.uniform(*action.seconds))
            await asyncio.to_thread(action.heal)
            recorder.add(Fault(begin=begin, end=recorder.now(), target=action.target, kind=action.kind))
