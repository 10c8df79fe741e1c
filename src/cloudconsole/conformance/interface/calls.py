"""Calling actions: the body forms, the headers, the envelope around every answer."""

from collections.abc import Callable

from cloudconsole.conformance.assertions import check, check_no_problems
from cloudconsole.conformance.checks import Check, CheckGroup
from cloudconsole.conformance.client import ACTION_NAMES, FORMS, OBJECTS, BodyForm, NoResponse
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.interface.session import check_not_served
from cloudconsole.conformance.responses import describe_response, is_success, is_successful, lenient_envelope
from cloudconsole.conformance.schemas import ARRAY, OBJECT, TEXT, FieldType, is_integer, schema_errors
from cloudconsole.spec.constants import FORM, JSON

checks = CheckGroup("interface")

RULES = "4.1 Common rules for action calls"
ENVELOPE = "2.1 Response envelope"


def _answers(action: str) -> Check:
    def examine(console: CheckContext) -> str:
        return f"sent as {console.success(action).form}"

    title = f"{action} is successful, sent as JSON or as form data."
    return Check(f"answers.{action}", "interface", "4.2 Endpoint table", "must", title, examine, ("login.accepted",))


def _forms(action: str) -> Check:
    def examine(console: CheckContext) -> str:
        taken = [form for form in FORMS if _is_taken(console, action, form)]
        return " and ".join(taken) + ("" if len(taken) == len(FORMS) else " only")

    title = f"Which body forms {action} takes; whether it takes both is left open."
    return Check(f"forms.{action}", "interface", RULES, "info", title, examine, (f"answers.{action}",))


def _is_taken(console: CheckContext, action: str, form: BodyForm) -> bool:
    try:
        return is_success(console.answer(action, form))
    except NoResponse:
        return False


checks += [_answers(action) for action in ACTION_NAMES]
checks += [_forms(action) for action in ACTION_NAMES]


@checks.must("calls.own-origin", RULES, "login.accepted")
def calls_own_origin(console: CheckContext) -> None:
    """A call may have the header Origin: the server's own is taken."""
    action, form, fields, _ = console.working()[0]
    response = console.main.call(action, form, fields, {"Origin": console.target.origin})
    check(is_successful(response), f"{action} with Origin {console.target.origin}: {describe_response(response)}")


@checks.must("session.cookies-required", RULES, "login.accepted")
def session_cookies_required(console: CheckContext) -> None:
    """No action is successful without the session cookies, even with the CSRF header."""
    token = {"X-CSRFToken": console.main.token}
    check_not_served(
        console.working(), lambda each: console.new_client().call(each.action, each.form, each.fields, token)
    )


@checks.should("calls.action-required", RULES, "login.accepted")
def calls_action_required(console: CheckContext) -> None:
    """A call without the field action is not successful: it is required."""
    content_type = FORM if console.working()[0].form == "form" else JSON
    response = console.main.post(b"{}" if content_type == JSON else b"a=b", content_type)
    check(not is_successful(response), describe_response(response))


@checks.must("envelope.message", ENVELOPE, "login.accepted")
def envelope_message(console: CheckContext) -> None:
    """message is text, in every envelope."""
    check_no_problems(_wrong(console, "message", lambda _action: TEXT))


@checks.must("envelope.code", ENVELOPE, "login.accepted")
def envelope_code(console: CheckContext) -> None:
    """code is an integer, on success 200, in every envelope."""
    check_no_problems(
        _wrong(
            console, "code", lambda _action: FieldType("the integer 200", lambda code: is_integer(code) and code == 200)
        )
    )


@checks.must("envelope.data", ENVELOPE, "login.accepted")
def envelope_data(console: CheckContext) -> None:
    """data is an object or an array, whichever is the action's."""
    check_no_problems(_wrong(console, "data", lambda action: OBJECT if action in OBJECTS else ARRAY))


def _wrong(console: CheckContext, name: str, kind: Callable[[str], FieldType]) -> list[str]:
    """Where a field of the envelope is missing or wrong, in all answers that mean success, in whatever body form."""
    problems: dict[str, str] = {}
    for working in console.working():
        for action, form, _, response in console.successes(working.action):
            for problem in schema_errors(lenient_envelope(response), {name: kind(action)}, action):
                # What is wrong in both forms is told once.
                problems.setdefault(problem, problem if form == working.form else f"sent as {form}: {problem}")
    return list(problems.values())
