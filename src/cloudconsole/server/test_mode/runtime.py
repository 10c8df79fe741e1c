"""Clock, random source and test controls of a server."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import delete

from cloudconsole.core.clock import Clock, SystemClock, format_utc
from cloudconsole.core.ports import SYSTEM_RANDOM, RandomSource
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.sessions import SessionFinder
from cloudconsole.server.test_mode.clock import ControllableClock, SeededRandomSource
from cloudconsole.server.test_mode.controls import Controls
from cloudconsole.server.test_mode.journal import CONTROL_PATHS
from cloudconsole.server.writer import Writer
from cloudconsole.store.sqlite.engine import opened
from cloudconsole.store.tables import sessions


@dataclass(frozen=True)
class ServerRuntime:
    """Runtime of a server; the defaults are those of an ordinary console."""

    clock: Clock = SystemClock()
    randomness: RandomSource = SYSTEM_RANDOM
    make_controls: Callable[[Settings, Writer, SessionFinder], Controls] | None = None
    """Set in test mode only."""
    lifeline: int | None = None
    """File descriptor of a pipe; the server exits when it closes."""

    @property
    def is_ordinary(self) -> bool:
        return not (
            isinstance(self.clock, ControllableClock) or self.randomness is not SYSTEM_RANDOM or self.make_controls
        )

    def describe(self) -> list[str]:
        """Return one line per difference from an ordinary console."""
        clock, lines = self.clock, []
        if isinstance(clock, ControllableClock):
            lines.append(f"the clock {'stands at' if clock.is_fixed else 'runs from'} {format_utc(clock.now())}")
        if isinstance(self.randomness, SeededRandomSource):
            lines.append("ids and tokens are the same at every start, and predictable")
        if self.make_controls:
            lines.append(f"test mode: the endpoints below {CONTROL_PATHS} control this console")
        return lines

    def end_older_sessions(self, data: Path) -> None:
        """Delete sessions of earlier runs: seeded ids repeat and would conflict or grant access."""
        if isinstance(self.randomness, SeededRandomSource):
            with opened(data, "activity") as engine, engine.begin() as connection:
                connection.execute(delete(sessions))

    def begin(self, data: Path) -> None:
        """Prepare a worker that may replace one that died."""
        self.end_older_sessions(data)
        if isinstance(self.randomness, SeededRandomSource):
            self.randomness.restart()
