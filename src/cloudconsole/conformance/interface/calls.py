"""Calling actions: the body forms, the headers, the envelope around every answer."""

from collections.abc import Callable

from cloudconsole.conformance.assertions import hold, hold_all
from cloudconsole.conformance.checks import Check, Group
from cloudconsole.conformance.client import BodyForm, NoAnswer
from cloudconsole.conformance.context import Examination
from cloudconsole.conformance.interface.session import hold_not_served
from cloudconsole.conformance.responses import content_of, is_success, succeeded, told
from cloudconsole.conformance.schemas import ARRAY, OBJECT, TEXT, Kind, is_integer, misfits
from cloudconsole.conformance.target import ACTION_NAMES, FORMS, OBJECTS
from cloudconsole.spec.constants import FORM, JSON

checks = Group("interface")

RULES = "4.1 Common rules for action calls"
ENVELOPE = "2.1 Response envelope"


def _answers(action: str) -> Check:
    def examine(console: Examination) -> str:
        return f"sent as {console.success(action).form}"

    title = f"{action} is successful, sent as JSON or as form data."
    return Check(f"answers.{action}", "interface", "4.2 Endpoint table", "must", title, examine, ("login.accepted",))


def _forms(action: str) -> Check:
    def examine(console: Examination) -> str:
        taken = [form for form in FORMS if _is_taken(console, action, form)]
        return " and ".join(taken) + ("" if len(taken) == len(FORMS) else " only")

    title = f"Which body forms {action} takes; whether it takes both is left open."
    return Check(f"forms.{action}", "interface", RULES, "info", title, examine, (f"answers.{action}",))


def _is_taken(console: Examination, action: str, form: BodyForm) -> bool:
    try:
        return is_success(console.answer(action, form))
    except NoAnswer:
        return False


checks += [_answers(action) for action in ACTION_NAMES]
checks += [_forms(action) for action in ACTION_NAMES]


@checks.must("calls.own-origin", RULES, "login.accepted")
def calls_own_origin(console: Examination) -> None:
    """A call may have the header Origin: the server's own is taken."""
    action, form, fields, _ = console.working()[0]
    answer = console.main.call(action, form, fields, {"Origin": console.subject.origin})
    hold(succeeded(answer), f"{action} with Origin {console.subject.origin}: {told(answer)}")


@checks.must("session.cookies-required", RULES, "login.accepted")
def session_cookies_required(console: Examination) -> None:
    """No action is successful without the session cookies, even with the CSRF header."""
    token = {"X-CSRFToken": console.main.token}
    hold_not_served(console.working(), lambda each: console.newcomer().call(each.action, each.form, each.fields, token))


@checks.should("calls.action-required", RULES, "login.accepted")
def calls_action_required(console: Examination) -> None:
    """A call without the field action is not successful: it is required."""
    content_type = FORM if console.working()[0].form == "form" else JSON
    answer = console.main.post(b"{}" if content_type == JSON else b"a=b", content_type)
    hold(not succeeded(answer), told(answer))


@checks.must("envelope.message", ENVELOPE, "login.accepted")
def envelope_message(console: Examination) -> None:
    """message is text, in every envelope."""
    hold_all(_wrong(console, "message", lambda _action: TEXT))


@checks.must("envelope.code", ENVELOPE, "login.accepted")
def envelope_code(console: Examination) -> None:
    """code is an integer, on success 200, in every envelope."""
    hold_all(
        _wrong(console, "code", lambda _action: Kind("the integer 200", lambda code: is_integer(code) and code == 200))
    )


@checks.must("envelope.data", ENVELOPE, "login.accepted")
def envelope_data(console: Examination) -> None:
    """data is an object or an array, whichever is the action's."""
    hold_all(_wrong(console, "data", lambda action: OBJECT if action in OBJECTS else ARRAY))


def _wrong(console: Examination, name: str, kind: Callable[[str], Kind]) -> list[str]:
    """Where a field of the envelope is missing or wrong, in all answers that mean success, in whatever body form."""
    problems: dict[str, str] = {}
    for working in console.working():
        for action, form, _, answer in console.successes(working.action):
            for problem in misfits(content_of(answer), {name: kind(action)}, action):
                # What is wrong in both forms is told once.
                problems.setdefault(problem, problem if form == working.form else f"sent as {form}: {problem}")
    return list(problems.values())
