"""What is broken and mended again, one thing after the other, in an order and for times drawn from a seed."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Final, NamedTuple

from history.recorder import Recorder
from history.recording import Fault

CALM_SECONDS: Final = (2.0, 6.0)
"""Between two faults: long enough to get over one and be served, short enough that many fit into a round."""


class Breakage(NamedTuple):
    """Something that can be broken, and put right again; both may take a while."""

    target: str
    kind: str
    break_it: Callable[[], object]
    mend_it: Callable[[], object]
    seconds: tuple[float, float]
    """How long it stays broken: at least and at most."""


class Faults:
    """Breaks and mends until there is enough; then everything is whole. Several of these may be at work at once."""

    def __init__(
        self, rng: Random, breakages: Sequence[Breakage], calm_seconds: tuple[float, float] = CALM_SECONDS
    ) -> None:
        self._rng, self._calm_seconds = rng, calm_seconds
        self._kinds: dict[str, list[Breakage]] = {}
        for breakage in breakages:
            self._kinds.setdefault(breakage.kind, []).append(breakage)

    def order(self) -> Iterator[Breakage]:
        """One of each kind, then again in another order, without end."""
        while self._kinds:
            for kind in self._rng.sample(list(self._kinds), len(self._kinds)):
                yield self._rng.choice(self._kinds[kind])

    async def work(self, recorder: Recorder) -> None:
        for breakage in self.order():
            if await recorder.wait(self._rng.uniform(*self._calm_seconds)):
                return
            begin = recorder.now()
            await asyncio.to_thread(breakage.break_it)
            await recorder.wait(self._rng.uniform(*breakage.seconds))
            await asyncio.to_thread(breakage.mend_it)
            recorder.add(Fault(begin=begin, end=recorder.now(), target=breakage.target, kind=breakage.kind))
