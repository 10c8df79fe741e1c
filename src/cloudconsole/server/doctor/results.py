"""Check, Result, ok/warning/problem, deadline."""

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
    """A user of a cloud, as whom to look into it."""

    address: str
    """The identity endpoint's, in one form."""
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class DoctorContext:
    """The console to look at."""

    settings: Settings
    setting_problems: list[str]
    now: float
    quick: bool = False
    unknown: frozenset[str] = frozenset()
    """Settings whose value cannot be told: what hangs on them is not looked at."""
    login: Login | None = None
    """Without one, a cloud behind the console is looked at only from outside."""
    flags: Mapping[str, str] = field(default_factory=dict)
    """The flags that doctor was given, by setting; `config` is one of them."""

    def command(self, *words: str, **changed: object) -> str:
        """Return a cloudconsole command for this console: with the flags that doctor was given, some changed."""
        return shell(*self.words(*words, **changed))

    def words(self, *words: str, **changed: object) -> list[str]:
        """Return the same as words, for a command of another user."""
        end = words.index("--") if "--" in words else len(words)
        return [*program(), *words[:end], *format_flag(self._flags_for(words[0]) | changed), *words[end:]]

    def _flags_for(self, command: str) -> dict[str, object]:
        if command in ("serve", "doctor"):
            return dict(self.flags)
        # Commands reject a folder beside a database of the settings.
        is_folder = self.settings.database is None or "database" in self.flags
        names = ("config", *STORE_SETTINGS) if is_folder else ("config", "database_password_file")
        return {name: self.flags[name] for name in names if name in self.flags}


def quote_argument(name: str) -> tuple[str, ...]:
    """Return the last words of a command with this argument, which must not be read as an option."""
    return ("--", name) if name.startswith("-") else (name,)


class Finding(NamedTuple):
    level: Level
    text: str
    fix: str = ""
    command: str = ""
    """What does it, where a shell command can; it can be pasted as it is."""


def ok(text: str) -> Finding:
    return Finding("ok", text)


def warning(text: str, mend: str, command: str = "") -> Finding:
    return Finding("warning", text, mend, command)


def problem(text: str, mend: str, command: str = "") -> Finding:
    return Finding("problem", text, mend, command)


class Check(NamedTuple):
    run: Callable[[DoctorContext], Iterator[Finding]]
    needs: tuple[str, ...] = ()
    """Settings without which there is no telling what to look at."""


Result = TypeVar("Result")


def run_with_timeout(seconds: float, work: Callable[[], Result]) -> Result:
    """What the work gives or raises, or a `TimeoutError`; what is not done then, is left to the process's end."""
    results: Queue[Result | Exception] = Queue()

    def do_it() -> None:
        try:
            results.put(work())
        except Exception as problem:  # noqa: BLE001
            results.put(problem)

    Thread(target=do_it, daemon=True).start()
    try:
        result = results.get(timeout=seconds)
    except Empty:
        raise TimeoutError from None
    if isinstance(result, Exception):
        raise result
    return result
