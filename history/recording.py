"""What was done, when, and what came of it: one JSON line each, so that a history can be kept and checked again.

Times are seconds since the run began, by one clock that only goes forward. A register is one thing that is written and
read as a whole: a tenant's quotas, one resource, one price, one news item, one account.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

Register = tuple[str, ...]
"""Such as `("quota", "t1")` or `("resource", "t1", "t1-a-3")`."""

Outcome = Literal["done", "refused", "unknown"]


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came back over HTTP."""

    status: int | None = None
    """None where nothing came: the outcome is unknown."""
    error: str = ""
    """The envelope's identifier, or how the connection ended."""
    retry_after: str | None = None
    data: Any = None

    @property
    def is_unknown(self) -> bool:
        """Whether what was asked for may have been done or not, or may still be."""
        return self.status is None or self.status >= 500


class Operation(msgspec.Struct, frozen=True, kw_only=True, tag_field="what", omit_defaults=True):
    """Something that was done between two moments."""

    begin: float
    end: float


class Login(Operation, frozen=True, kw_only=True, tag="login", omit_defaults=True):
    account: str
    password: str
    replica: int
    session: str = ""
    """What the session is called in this recording, where one was opened; its id is written nowhere."""
    at_pages: bool = False
    """Whether it was the sign-in of an operator."""
    answer: Answer


class Logout(Operation, frozen=True, kw_only=True, tag="logout", omit_defaults=True):
    session: str
    replica: int
    answer: Answer


class Call(Operation, frozen=True, kw_only=True, tag="call", omit_defaults=True):
    session: str
    replica: int
    action: str
    answer: Answer


class Write(Operation, frozen=True, kw_only=True, tag="write", omit_defaults=True):
    """An operator's change of one register to a value; None is for what is not there."""

    register: Register
    value: Any
    verb: str
    replica: int | None = None
    """At whose pages it was asked for; None where it was by a command."""
    outcome: Outcome
    changed: bool = True
    """False where it was so already, as when something is done again whose outcome was unknown."""
    problem: str = ""


class Fault(Operation, frozen=True, kw_only=True, tag="fault", omit_defaults=True):
    """What was broken meanwhile, and how."""

    target: str
    kind: str


class Quiet(Operation, frozen=True, kw_only=True, tag="quiet", omit_defaults=True):
    """From its end on nothing is broken any more: every call must be served."""


class Stored(Operation, frozen=True, kw_only=True, tag="stored", omit_defaults=True):
    """What the store itself said, past all replicas."""

    values: list[tuple[Register, Any]]
    wrong_counters: list[str] = []


class Beginning(msgspec.Struct, frozen=True, kw_only=True, tag_field="what", tag="beginning", omit_defaults=True):
    """How it all began."""

    seed: int
    epoch: float
    """The moment 0 as seconds since 1970."""
    tenants: dict[str, str]
    """Which tenant each account acts for."""
    values: list[tuple[Register, Any]]
    about: str = ""


AnyOperation = Login | Logout | Call | Write | Fault | Quiet | Stored

_LINE: Final = msgspec.json.Decoder(AnyOperation)
_BEGINNING: Final = msgspec.json.Decoder(Beginning)


class RecordingError(Exception):
    """A file that is no recording, or one that cannot be checked; the text says why."""


class Recording:
    """A beginning, and operations in the order in which they ended."""

    def __init__(self, beginning: Beginning, operations: Iterable[AnyOperation] = ()) -> None:
        self.beginning = beginning
        self.operations = list(operations)

    def add(self, operation: AnyOperation) -> None:
        self.operations.append(operation)

    def save(self, file: Path) -> None:
        file.write_bytes(b"".join(self._lines()))

    def _lines(self) -> Iterator[bytes]:
        for each in (self.beginning, *self.operations):
            yield msgspec.json.encode(each) + b"\n"


def load(file: Path) -> Recording:
    lines = file.read_bytes().splitlines()
    number = 1
    try:
        beginning = _BEGINNING.decode(lines[0] if lines else b"")
        operations = []
        for number, line in enumerate(lines[1:], 2):  # noqa: B007 - for the refusal
            operations.append(_LINE.decode(line))
    except msgspec.DecodeError as error:
        raise RecordingError(f"{file}, line {number}: {error}") from None
    return Recording(beginning, operations)
