"""Context and findings of checks, and a deadline for slow ones."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from queue import Empty, Queue
from threading import Thread
from typing import Literal, NamedTuple, TypeVar

from cloudconsole.server.config.docs import format_flag
from cloudconsole.server.config.settings import STORE_SETTINGS, Settings
from cloudconsole.server.doctor.fix_commands import program, shell

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class Login:
    """An OpenStack user to log in as."""

    address: str
    """Normalised address of the identity endpoint."""
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class DoctorContext:
    """The console to diagnose."""

    settings: Settings
    setting_problems: list[str]
    now: float
    quick: bool = False
    unknown: frozenset[str] = frozenset()
    """Settings with an invalid value; checks that need them are skipped."""
    login: Login | None = None
    """Without a login, only the identity endpoints of a cloud are checked."""
    flags: Mapping[str, str] = field(default_factory=dict)
    """Flags of doctor by setting, including `config`."""

    def command(self, *words: str, **changed: object) -> str:
        """Return a cloudconsole command with doctor's flags, some changed."""
        return shell(*self.words(*words, **changed))

    def words(self, *words: str, **changed: object) -> list[str]:
        """Return the same as a list of words."""
        end = words.index("--") if "--" in words else len(words)
        return [*program(), *words[:end], *format_flag(self._flags_for(words[0]) | changed), *words[end:]]

    def _flags_for(self, command: str) -> dict[str, object]:
        if command in ("serve", "doctor"):
            return dict(self.flags)
        # Commands reject --data if the settings select a database.
        allows_data = self.settings.database is None or "database" in self.flags
        names = ("config", *STORE_SETTINGS) if allows_data else ("config", "database_password_file")
        return {name: self.flags[name] for name in names if name in self.flags}


def quote_argument(name: str) -> tuple[str, ...]:
    """Return the argument as last words of a command, protected from being parsed as an option."""
    return ("--", name) if name.startswith("-") else (name,)


class Finding(NamedTuple):
    level: Level
    text: str
    fix: str = ""
    command: str = ""
    """Shell command that applies the fix, ready to paste; empty if there is none."""


def ok(text: str) -> Finding:
    return Finding("ok", text)


def warning(text: str, fix: str, command: str = "") -> Finding:
    return Finding("warning", text, fix, command)


def problem(text: str, fix: str, command: str = "") -> Finding:
    return Finding("problem", text, fix, command)


class Check(NamedTuple):
    run: Callable[[DoctorContext], Iterator[Finding]]
    needs: tuple[str, ...] = ()
    """Settings that the check needs."""


Result = TypeVar("Result")


def run_with_timeout(seconds: float, work: Callable[[], Result]) -> Result:
    """Run work in a daemon thread; raise `TimeoutError` at the deadline and abandon the thread."""
    results: Queue[Result | Exception] = Queue()

    def run() -> None:
        try:
            results.put(work())
        except Exception as problem:  # noqa: BLE001
            results.put(problem)

    Thread(target=run, daemon=True).start()
    try:
        result = results.get(timeout=seconds)
    except Empty:
        raise TimeoutError from None
    if isinstance(result, Exception):
        raise result
    return result
