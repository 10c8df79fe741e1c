"""What the engines of every store have in common: the two parts, how they fail, and reading only."""

import math
from contextvars import ContextVar
from typing import Final, Literal

from sqlalchemy import Engine

Part = Literal["cloud", "activity"]
PARTS: Final[tuple[Part, ...]] = ("cloud", "activity")

BUSY_SECONDS: Final = 10
"""How long a change waits for another."""

given_up_at: Final = ContextVar("given_up_at", default=math.inf)
"""The monotonic time after which whoever works with the store now does not wait for it any more; commands always do."""


class StoreError(Exception):
    """The store cannot be used as it is; the text says why and what mends it."""


def reading(engine: Engine) -> Engine:
    """The same engine for reading only: it waits for no one who writes."""
    return engine.execution_options(reads_only=True)
