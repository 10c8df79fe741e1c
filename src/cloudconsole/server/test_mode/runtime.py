"""What a console has of its own instead of the machine's: its clock, its randomness, and controls for tests."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import delete

from cloudconsole.core.clock import Clock, SystemClock, format_utc
from cloudconsole.core.entropy import SYSTEM_RANDOM, RandomSource
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.connection import LimitedProtocol
from cloudconsole.server.http.sessions import Sessions
from cloudconsole.server.test_mode.clock import ControllableClock, SeededRandomSource
from cloudconsole.server.test_mode.controls import CLOCK_PATH, FAULT_PATH, RESET_PATH, Controls
from cloudconsole.server.test_mode.faults import DroppableProtocol
from cloudconsole.server.writer import Writer
from cloudconsole.store.sqlite.engine import opened
from cloudconsole.store.tables import sessions


@dataclass(frozen=True)
class ServerRuntime:
    """As it stands, that of every ordinary console: the machine's clock, the system's randomness, and no controls."""

    clock: Clock = SystemClock()
    randomness: RandomSource = SYSTEM_RANDOM
    make_controls: Callable[[Settings, Writer, Sessions], Controls] | None = None
    """In test mode only."""
    lifeline: int | None = None
    """A pipe at whose end the console ends, too."""

    @property
    def is_ordinary(self) -> bool:
        return not (
            isinstance(self.clock, ControllableClock) or self.randomness is not SYSTEM_RANDOM or self.make_controls
        )

    @property
    def protocol(self) -> type[LimitedProtocol]:
        """Of its connections."""
        return DroppableProtocol if self.make_controls else LimitedProtocol

    def describe(self) -> list[str]:
        """What is unlike an ordinary console, a line each."""
        clock, lines = self.clock, []
        if isinstance(clock, ControllableClock):
            lines.append(f"the clock {'stands at' if clock.is_fixed else 'runs from'} {format_utc(clock.now())}")
        if isinstance(self.randomness, SeededRandomSource):
            lines.append("ids and tokens are the same at every start: anyone can know them")
        if self.make_controls:
            lines.append(f"test mode: POST {RESET_PATH}, {CLOCK_PATH} and {FAULT_PATH} steer this console")
        return lines

    def end_older_sessions(self, data: Path) -> None:
        """Seeded ids come again: those of an earlier run must not be in the way, nor let anyone in."""
        if isinstance(self.randomness, SeededRandomSource):
            with opened(data, "activity") as engine, engine.begin() as connection:
                connection.execute(delete(sessions))

    def begin(self, data: Path) -> None:
        """To be called in a worker before it serves the store in a folder; one before it may have died."""
        self.end_older_sessions(data)
        if isinstance(self.randomness, SeededRandomSource):
            self.randomness.restart()
