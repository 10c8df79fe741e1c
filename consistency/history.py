"""Histories: operations with their start and end times and outcomes, stored as JSON lines.

Times are monotonic seconds since the run began. A register is a unit that is written and read as a whole: the quotas of
a tenant, a resource, a price, a news item or an account.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

Register = tuple[str, ...]
"""For example `("quota", "t1")` or `("resource", "t1", "t1-a-3")`."""

Outcome = Literal["ok", "rejected", "unknown"]


class Response(msgspec.Struct, frozen=True, omit_defaults=True):
    """An HTTP response, or the lack of one."""

    status: int | None = None
    """None if no response arrived: the outcome is unknown."""
    error: str = ""
    """The error code of the envelope, or the name of the connection error."""
    retry_after: str | None = None
    data: Any = None

    @property
    def is_unknown(self) -> bool:
        """Whether the request may have taken effect, may not have, or still may."""
        return self.status is None or self.status >= 500


class Operation(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True):
    """Something that ran from `begin` to `end`."""

    begin: float
    end: float


class Login(Operation, frozen=True, kw_only=True, tag="login", omit_defaults=True):
    account: str
    password: str
    replica: int
    session: str = ""
    """Name of the opened session in this history; its id is not recorded."""
    via_ui: bool = False
    """Whether an operator signed in to the admin UI."""
    response: Response


class Logout(Operation, frozen=True, kw_only=True, tag="logout", omit_defaults=True):
    session: str
    replica: int
    response: Response


class Read(Operation, frozen=True, kw_only=True, tag="read", omit_defaults=True):
    """A call of a read-only action, or a GET of an admin page."""

    session: str
    replica: int
    action: str
    response: Response


class Write(Operation, frozen=True, kw_only=True, tag="write", omit_defaults=True):
    """An operator's change of a register to a value; None means that it does not exist."""

    register: Register
    value: Any
    verb: str
    replica: int | None = None
    """The replica whose admin UI was used; None for a command."""
    outcome: Outcome
    changed: bool = True
    """False if the register already had the value, as when a write of unknown outcome is retried."""
    problem: str = ""


class Fault(Operation, frozen=True, kw_only=True, tag="fault", omit_defaults=True):
    """A fault that was active for a while."""

    target: str
    kind: str


class Healed(Operation, frozen=True, kw_only=True, tag="healed", omit_defaults=True):
    """No fault is active after its end: every request must succeed."""


class FinalRead(Operation, frozen=True, kw_only=True, tag="final-read", omit_defaults=True):
    """The content of the store, read directly at the end of a round."""

    values: list[tuple[Register, Any]]
    wrong_counters: list[str] = []
    wrong_costs: list[str] = []


class InitialState(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="initial-state", omit_defaults=True
):
    """The first line of a history."""

    seed: int
    epoch: float
    """Unix time of second 0."""
    tenants: dict[str, str]
    """The tenant of each account."""
    values: list[tuple[Register, Any]]
    about: str = ""


AnyOperation = Login | Logout | Read | Write | Fault | Healed | FinalRead

_OPERATION: Final = msgspec.json.Decoder(AnyOperation)
_INITIAL_STATE: Final = msgspec.json.Decoder(InitialState)


class HistoryError(Exception):
    """A file is not a history, or a history cannot be checked."""


class History:
    """An initial state and operations in the order in which they ended."""

    def __init__(self, initial_state: InitialState, operations: Iterable[AnyOperation] = ()) -> None:
        self.initial_state = initial_state
        self.operations = list(operations)

    def add(self, operation: AnyOperation) -> None:
        self.operations.append(operation)

    def save(self, file: Path) -> None:
        file.write_bytes(b"".join(self._lines()))

    def _lines(self) -> Iterator[bytes]:
        for each in (self.initial_state, *self.operations):
            yield msgspec.json.encode(each) + b"\n"


def load(file: Path) -> History:
    lines = file.read_bytes().splitlines()
    number = 1
    try:
        initial_state = _INITIAL_STATE.decode(lines[0] if lines else b"")
        operations = []
        for number, line in enumerate(lines[1:], 2):  # noqa: B007 - used in the error message
            operations.append(_OPERATION.decode(line))
    except msgspec.DecodeError as error:
        raise HistoryError(f"{file}, line {number}: {error}") from None
    return History(initial_state, operations)


class HistoryRecorder(History):
    """A history in progress, with its clock; the clock starts at construction. Use it on a single event loop."""

    def __init__(self, *, target: int, **initial_state: Any) -> None:
        """`target` is the number of operations after which `complete` is set."""
        super().__init__(InitialState(epoch=time.time(), **initial_state))
        self._start = time.monotonic()
        self._target = target
        self.complete = asyncio.Event()

    def now(self) -> float:
        return round(time.monotonic() - self._start, 6)

    def add(self, operation: AnyOperation) -> None:
        super().add(operation)
        if len(self.operations) >= self._target:
            self.complete.set()

    async def wait(self, seconds: float) -> bool:
        """Sleep, but no longer than until the history is complete; return whether it is."""
        try:
            async with asyncio.timeout(seconds):
                await self.complete.wait()
        except TimeoutError:
            return False
        return True
