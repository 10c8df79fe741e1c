"""Check a history against the console's consistency guarantees."""

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from consistency.history import AnyOperation, Fault, FinalRead, Healed, History, Login, Logout, Read, Write
from consistency.model import Model
from consistency.read_checker import check_read
from consistency.session_checker import SessionChecker, ThrottleChecker

VIA_UI: Final = " (admin UI)"


class Anomaly(NamedTuple):
    """An operation that violates a guarantee."""

    problem: str
    operation: AnyOperation

    def __str__(self) -> str:
        return f"{self.problem}\n    {self.operation}"


class CheckResult(NamedTuple):
    anomalies: list[Anomaly]
    counts: Counter[tuple[str, str]]
    """Number of operations by kind and outcome."""


def check(history: History) -> CheckResult:
    model = Model(history)
    sessions, throttle = SessionChecker(model, history.operations), ThrottleChecker(history.operations)
    found = []
    for operation in history.operations:
        problems: list[str | None] = [*_problems(model, operation)]
        if isinstance(operation, Login):
            problems += [sessions.check_login(operation), throttle.check_login(operation)]
        elif isinstance(operation, Read | Logout):
            problems.append(sessions.check_use(operation))
        found += [Anomaly(problem, operation) for problem in problems if problem is not None]
    return CheckResult(found, Counter(map(_count_key, history.operations)))


def _problems(model: Model, operation: AnyOperation) -> Iterator[str]:
    match operation:
        case Read() | Logout() | Login():
            yield from _response_problems(model, operation)
        case Write(outcome="rejected"):
            yield f"write rejected: {operation.problem}"
        case Write(outcome="unknown") if operation.begin > model.healed_at:
            yield f"write failed without an active fault: {operation.problem}"
        case FinalRead():
            yield from _store_problems(model, operation)


def _response_problems(model: Model, operation: Read | Login | Logout) -> Iterator[str]:
    response = operation.response
    if response.status in (429, 503):
        if not (response.retry_after or "").isdecimal():
            yield f"{response.status} without a valid Retry-After"
    elif response.status not in (None, 200, 401):
        yield f"unexpected response: {response.status} {response.error}"
    # Throttling depends on earlier failures, so a 429 login is legitimate after healing, too.
    expected = (200, 401, 429) if isinstance(operation, Login) else (200, 401)
    if operation.begin > model.healed_at and response.status not in expected:
        yield f"request failed without an active fault: {response.status} {response.error}"
    if isinstance(operation, Read) and response.status == 200:
        problem = check_read(model, operation)
        if problem is not None:
            yield f"{operation.action}: {problem}"


def _store_problems(model: Model, final: FinalRead) -> Iterator[str]:
    for register, value in final.values:
        if not model.is_possible(register, value, final.begin, final.end):
            yield f"lost write: the store has {' '.join(register)} = {value}"
    found = {register for register, _ in final.values}
    for register in model.versions:
        if register not in found and not model.is_possible(register, None, final.begin, final.end):
            yield f"lost write: the store has no {' '.join(register)}"
    for line in final.wrong_counters:
        yield f"counter differs from the resources: {line}"
    for line in final.wrong_costs:
        yield f"costs do not add up: {line}"


def _count_key(operation: AnyOperation) -> tuple[str, str]:
    match operation:
        case Read():
            return operation.action, _status(operation)
        case Login(via_ui=True):
            return f"login{VIA_UI}", _status(operation)
        case Login() | Logout():
            return type(operation).__name__.lower(), _status(operation)
        case Write():
            via = "" if operation.replica is None else VIA_UI
            return f"{operation.register[0]} {operation.verb}{via}", operation.outcome if operation.changed else "no-op"
        case Fault():
            return f"fault: {operation.target}", operation.kind
        case Healed():
            return "healed", ""
        case FinalRead():
            return "final read", ""


def _status(operation: Read | Login | Logout) -> str:
    response = operation.response
    return "unknown" if response.status is None else f"{response.status} {response.error}".strip()
