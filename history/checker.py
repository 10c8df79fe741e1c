"""`check`: everything that a recording says must have been possible, as the console promises it."""

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from history import figures
from history.model import Model
from history.recording import AnyOperation, Call, Fault, Login, Logout, Quiet, Recording, Stored, Write
from history.sessions import Sessions
from history.throttling import Throttling

AT_PAGES: Final = " at the pages"


class Finding(NamedTuple):
    """What cannot have been, and the operation that says so."""

    problem: str
    operation: AnyOperation

    def __str__(self) -> str:
        return f"{self.problem}\n    {self.operation}"


class Checked(NamedTuple):
    findings: list[Finding]
    counts: Counter[tuple[str, str]]
    """How many operations of each kind ended how."""


def check(recording: Recording) -> Checked:
    model = Model(recording)
    sessions, throttling = Sessions(model), Throttling(recording.operations)
    for operation in recording.operations:
        if isinstance(operation, Call | Logout):
            sessions.see(operation)
    found = []
    for operation in recording.operations:
        problems: list[str | None] = [*_problems(model, operation)]
        if isinstance(operation, Login):
            problems += [sessions.login_fault(operation), throttling.fault_of(operation)]
        elif isinstance(operation, Call | Logout):
            problems.append(sessions.fault_of(operation))
        found += [Finding(problem, operation) for problem in problems if problem is not None]
    return Checked(found, Counter(map(_counted, recording.operations)))


def _problems(model: Model, operation: AnyOperation) -> Iterator[str]:
    match operation:
        case Call() | Logout() | Login():
            yield from _problems_of_answer(model, operation)
        case Write(outcome="refused"):
            yield f"a change was refused: {operation.problem}"
        case Write(outcome="unknown") if operation.begin > model.quiet_from:
            yield f"a change failed, though nothing was broken any more: {operation.problem}"
        case Stored():
            yield from _problems_of_store(model, operation)


def _problems_of_answer(model: Model, operation: Call | Login | Logout) -> Iterator[str]:
    answer = operation.answer
    if answer.status in (429, 503):
        if not (answer.retry_after or "").isdecimal():
            yield f"{answer.status} without a sensible Retry-After"
    elif answer.status not in (None, 200, 401):
        yield f"no answer that there should be: {answer.status} {answer.error}"
    # Whether a login was throttled with reason is told by the failures before it, be they of a time long ago.
    answered = (200, 401, 429) if isinstance(operation, Login) else (200, 401)
    if operation.begin > model.quiet_from and answer.status not in answered:
        yield f"not served, though nothing was broken any more: {answer.status} {answer.error}"
    if isinstance(operation, Call) and answer.status == 200:
        problem = figures.fault_of(model, operation)
        if problem is not None:
            yield f"{operation.action}: {problem}"


def _problems_of_store(model: Model, stored: Stored) -> Iterator[str]:
    for register, value in stored.values:
        if not model.may_be_stored(register, value, stored.begin, stored.end):
            yield f"lost: in the store {' '.join(register)} is {value}, against what was acknowledged"
    found = {register for register, _ in stored.values}
    for register in model.versions:
        if register not in found and not model.may_be_stored(register, None, stored.begin, stored.end):
            yield f"lost: in the store there is no {' '.join(register)}, against what was acknowledged"
    for line in stored.wrong_counters:
        yield f"counters are not what the resources are: {line}"


def _counted(operation: AnyOperation) -> tuple[str, str]:
    match operation:
        case Call():
            return operation.action, _outcome(operation)
        case Login(at_pages=True):
            return f"login{AT_PAGES}", _outcome(operation)
        case Login() | Logout():
            return type(operation).__name__.lower(), _outcome(operation)
        case Write():
            outcome = operation.outcome if operation.changed else "already so"
            return f"{operation.register[0]} {operation.verb}{_way(operation)}", outcome
        case Fault():
            return f"fault of {operation.target}", operation.kind
        case Quiet() | Stored():
            return type(operation).__name__.lower(), ""


def _way(write: Write) -> str:
    return "" if write.replica is None else AT_PAGES


def _outcome(operation: Call | Login | Logout) -> str:
    answer = operation.answer
    return "unknown" if answer.status is None else f"{answer.status} {answer.error}".strip()
