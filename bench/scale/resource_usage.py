"""CPU time and statement counts of consoles and PostgreSQL during a sample."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from bench.scale.cost_model import CONSOLE, DATABASE, QUERIES
from bench.scale.postgres_dataset import PostgresDataset
from bench.servers import Server

_STATEMENTS = """
    SELECT COALESCE(SUM(calls), 0)::bigint FROM pg_stat_statements
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = %s)
"""

ThreadTimes = Mapping[Path, int]
"""CPU nanoseconds by thread."""


class UsageMeter:
    """Measures usage since its creation, without the connections of the benchmark itself."""

    def __init__(self, consoles: list[Server], database: PostgresDataset) -> None:
        self._consoles = consoles
        self._database = database
        self._statements = self._count_statements()
        self._console, self._postgres = self._times()

    def used(self) -> dict[str, float]:
        console, postgres = self._times()
        return {
            CONSOLE: cpu_seconds_between(self._console, console),
            DATABASE: cpu_seconds_between(self._postgres, postgres),
            QUERIES: float(self._count_statements() - self._statements),
        }

    def _times(self) -> tuple[ThreadTimes, ThreadTimes]:
        consoles = [pid for console in self._consoles for pid in console.pids]
        return cpu_times(consoles), cpu_times(self._database.server.processes)

    def _count_statements(self) -> int:
        with self._database.server.connect() as superuser:
            row = superuser.execute(_STATEMENTS, (self._database.name,)).fetchone()
        return int(row[0]) if row else 0


def cpu_times(pids: Iterable[int], read: Callable[[Path], str] = Path.read_text) -> ThreadTimes:
    """Read the CPU time of all threads of these processes; skip threads that exit during the read."""
    found = {}
    for pid in pids:
        for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with suppress(OSError):
                found[thread] = int(read(thread).split()[0])
    return found


def cpu_seconds_between(before: ThreadTimes, after: ThreadTimes) -> float:
    """Return the CPU seconds of the threads in `after`; threads that have exited are ignored."""
    return sum(time - before.get(thread, 0) for thread, time in after.items()) / 1e9
