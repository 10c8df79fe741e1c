"""Who holds which sessions: those that are thought to be good, and the last ones that ended."""

from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import Final

from history.wires import Cookies

KEPT_ENDED: Final = 4


@dataclass(eq=False)
class Held:
    """A session and its name in the recording."""

    name: str
    account: str
    cookies: Cookies
    opened: float


@dataclass
class Holding:
    """One account's sessions."""

    live: list[Held] = field(default_factory=list)
    ended: deque[Held] = field(default_factory=lambda: deque(maxlen=KEPT_ENDED))

    def end(self, held: Held) -> None:
        if held in self.live:
            self.live.remove(held)
            self.ended.append(held)

    def end_before(self, moment: float) -> list[Held]:
        """All that were opened before a moment."""
        over = [held for held in self.live if held.opened <= moment]
        for held in over:
            self.end(held)
        return over

    def choose(self, rng: Random, chance_of_ended: float) -> Held | None:
        wanted = self.ended if rng.random() < chance_of_ended else self.live
        return rng.choice(wanted) if wanted else None
