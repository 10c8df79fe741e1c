"""Interface checks: body forms, headers and the response envelope of action calls."""

from collections.abc import Callable

from cloudconsole.conformance.assertions import check, check_no_problems
from cloudconsole.conformance.checks import Check, CheckGroup
from cloudconsole.conformance.client import ACTION_NAMES, FORMS, OBJECTS, BodyForm
from cloudconsole.conformance.connection import NoResponse
from cloudconsole.conformance.context import CheckContext
from cloudconsole.conformance.field_types import ARRAY, OBJECT, TEXT, FieldType, is_integer, schema_errors
from cloudconsole.conformance.interface.session import check_not_served
from cloudconsole.conformance.responses import describe_response, is_success, is_success_unless_busy, lenient_envelope
from cloudconsole.spec.operations import FORM, JSON

checks = CheckGroup("interface")

RULES = "4.1 Common rules for action calls"
ENVELOPE = "2.1 Response envelope"


def _succeeds(action: str) -> Check:
    def examine(console: CheckContext) -> str:
        return f"sent as {console.success(action).form}"

    title = f"{action} succeeds, sent as JSON or as form data."
    return Check(f"answers.{action}", "interface", "4.2 Endpoint table", "must", title, examine, ("login.accepted",))


def _accepted_forms(action: str) -> Check:
    def examine(console: CheckContext) -> str:
        accepted = [form for form in FORMS if _is_accepted(console, action, form)]
        return " and ".join(accepted) + ("" if len(accepted) == len(FORMS) else " only")

    title = f"Which body forms {action} accepts; the interface does not require both."
    return Check(f"forms.{action}", "interface", RULES, "info", title, examine, (f"answers.{action}",))


def _is_accepted(console: CheckContext, action: str, form: BodyForm) -> bool:
    try:
        return is_success(console.response_to(action, form))
    except NoResponse:
        return False


checks += [_succeeds(action) for action in ACTION_NAMES]
checks += [_accepted_forms(action) for action in ACTION_NAMES]


@checks.must("calls.own-origin", RULES, "login.accepted")
def calls_own_origin(console: CheckContext) -> None:
    """A call with the server's own Origin is accepted."""
    action, form, fields, _ = console.working()[0]
    response = console.main.call(action, form, fields, {"Origin": console.target.origin})
    check(
        is_success_unless_busy(response), f"{action} with Origin {console.target.origin}: {describe_response(response)}"
    )


@checks.must("session.cookies-required", RULES, "login.required")
def session_cookies_required(console: CheckContext) -> None:
    """No action succeeds without the session cookies, even with the CSRF header."""
    token = {"X-CSRFToken": console.main.token}
    check_not_served(
        console.working(), lambda each: console.new_client().call(each.action, each.form, each.fields, token)
    )


@checks.should("calls.action-required", RULES, "login.accepted")
def calls_action_required(console: CheckContext) -> None:
    """A call without the required field action fails."""
    content_type = FORM if console.working()[0].form == "form" else JSON
    response = console.main.post(b"{}" if content_type == JSON else b"a=b", content_type)
    check(not is_success_unless_busy(response), describe_response(response))


@checks.must("envelope.message", ENVELOPE, "login.accepted")
def envelope_message(console: CheckContext) -> None:
    """message is text in every envelope."""
    check_no_problems(_envelope_errors(console, "message", lambda _action: TEXT))


@checks.must("envelope.code", ENVELOPE, "login.accepted")
def envelope_code(console: CheckContext) -> None:
    """code is the integer 200 in every envelope of a success."""
    check_no_problems(
        _envelope_errors(
            console, "code", lambda _action: FieldType("the integer 200", lambda code: is_integer(code) and code == 200)
        )
    )


@checks.must("envelope.data", ENVELOPE, "login.accepted")
def envelope_data(console: CheckContext) -> None:
    """data is an object or an array, as specified for the action."""
    check_no_problems(_envelope_errors(console, "data", lambda action: OBJECT if action in OBJECTS else ARRAY))


def _envelope_errors(console: CheckContext, name: str, kind: Callable[[str], FieldType]) -> list[str]:
    """Return the errors of an envelope field in all successful responses, in every body form."""
    problems: dict[str, str] = {}
    for working in console.working():
        for action, form, _, response in console.successes(working.action):
            for problem in schema_errors(lenient_envelope(response), {name: kind(action)}, action):
                # Report an error of both forms once.
                problems.setdefault(problem, problem if form == working.form else f"sent as {form}: {problem}")
    return list(problems.values())
