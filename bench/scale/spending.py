"""What consoles and PostgreSQL spend meanwhile: processor time, to the microsecond, and statements."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from bench.scale.database import Database
from bench.scale.model import CONSOLE, DATABASE, QUERIES
from bench.servers import Server

_STATEMENTS = """
    SELECT COALESCE(SUM(calls), 0)::bigint FROM pg_stat_statements
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = %s)
"""


class Meter:
    """Reads what was spent since it was made."""

    def __init__(self, consoles: list[Server], database: Database) -> None:
        self._consoles = consoles
        self._database = database
        self._before = self._read()

    def spent(self) -> dict[str, float]:
        return {name: value - self._before[name] for name, value in self._read().items()}

    def _read(self) -> dict[str, float]:
        server = self._database.server
        with server.connect() as superuser:
            row = superuser.execute(_STATEMENTS, (self._database.name,)).fetchone()
        return {
            CONSOLE: sum(seconds(console.processes) for console in self._consoles),
            DATABASE: seconds(server.processes),
            QUERIES: float(row[0]) if row else 0.0,
        }


def seconds(processes: Iterable[int], read: Callable[[Path], str] = Path.read_text) -> float:
    """The processor time of these processes' threads; of those that have ended, nothing is known any more."""
    total = 0
    for process in processes:
        for thread in Path(f"/proc/{process}/task").glob("*/schedstat"):
            with suppress(OSError):
                total += int(read(thread).split()[0])
    return total / 1e9
