"""What consoles and PostgreSQL spend meanwhile: processor time, to the microsecond, and statements."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from bench.scale.database import Database
from bench.scale.model import CONSOLE, DATABASE, QUERIES
from bench.servers import Server

_STATEMENTS = """
    SELECT COALESCE(SUM(calls), 0)::bigint FROM pg_stat_statements
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = %s)
"""

Times = Mapping[Path, int]
"""The processor time of each thread so far, in nanoseconds."""


class Meter:
    """Reads what was spent since it was made; our own connections to PostgreSQL have no part in it."""

    def __init__(self, consoles: list[Server], database: Database) -> None:
        self._consoles = consoles
        self._database = database
        self._statements = self._count_statements()
        self._console, self._postgres = self._times()

    def spent(self) -> dict[str, float]:
        console, postgres = self._times()
        return {
            CONSOLE: spent_between(self._console, console),
            DATABASE: spent_between(self._postgres, postgres),
            QUERIES: float(self._count_statements() - self._statements),
        }

    def _times(self) -> tuple[Times, Times]:
        consoles = [process for console in self._consoles for process in console.processes]
        return times_of(consoles), times_of(self._database.server.processes)

    def _count_statements(self) -> int:
        with self._database.server.connect() as superuser:
            row = superuser.execute(_STATEMENTS, (self._database.name,)).fetchone()
        return int(row[0]) if row else 0


def times_of(processes: Iterable[int], read: Callable[[Path], str] = Path.read_text) -> Times:
    """Of these processes' threads, each by its own; one that ends while it is looked at is left out."""
    found = {}
    for process in processes:
        for thread in Path(f"/proc/{process}/task").glob("*/schedstat"):
            with suppress(OSError):
                found[thread] = int(read(thread).split()[0])
    return found


def spent_between(before: Times, after: Times) -> float:
    """In seconds; what ended meanwhile takes nothing back that others have spent."""
    return sum(time - before.get(thread, 0) for thread, time in after.items()) / 1e9
