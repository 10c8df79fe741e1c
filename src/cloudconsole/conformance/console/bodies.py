"""Bodies of calls: what is taken, odd as it may look, and how the rest is refused."""

from typing import NamedTuple

from cloudconsole.conformance.checks import Check, Group, hold
from cloudconsole.conformance.console.expecting import hold_refused, hold_success
from cloudconsole.conformance.examination import Examination
from cloudconsole.conformance.subject import ACTION_NAMES, FORMS
from cloudconsole.spec.constants import FORM, JSON
from cloudconsole.spec.errors import (
    ApiError,
    BodyTooLarge,
    CsrfFailed,
    InvalidField,
    LoginRequired,
    MalformedBody,
    MissingField,
    UnknownAction,
    UnsupportedMediaType,
)

checks = Group("console")

ACTIONS, ERRORS = "api: Actions", "errors"
LARGEST_SETTING = 1_048_576
"""No operator can allow more than this for a body."""


class Body(NamedTuple):
    id: str
    title: str
    body: bytes
    content_type: str | None = JSON
    refused: type[ApiError] | None = None
    """None for what is taken."""
    field: str | None = None


TAKEN = [
    Body("extra-fields", "Unknown extra fields are ignored", b'{"action":"GetNews","region":"x","a":[{}]}'),
    Body("repeated-json", "Of a repeated field in JSON the last value counts", b'{"action":"No","action":"GetNews"}'),
    Body("repeated-form", "Of a repeated field in a form the last value counts", b"action=No&action=GetNews", FORM),
    Body("byte-order-mark", "A byte-order mark before JSON is skipped", b'\xef\xbb\xbf{"action":"GetNews"}'),
    Body("charset-json", "JSON may say that it is UTF-8", b'{"action":"GetNews"}', f"{JSON}; charset=utf-8"),
    Body("charset-form", "A form may say that it is UTF-8", b"action=GetNews", f"{FORM};charset=UTF-8"),
]
REFUSED = [
    Body("other-charset", "Another charset", b"action=GetNews", f"{FORM}; charset=gbk", UnsupportedMediaType),
    Body("other-type", "Another Content-Type", b'{"action":"GetNews"}', "text/plain", UnsupportedMediaType),
    Body("no-type", "No Content-Type at all", b'{"action":"GetNews"}', None, UnsupportedMediaType),
    Body("not-json", "A body that is no JSON", b"action=GetNews", JSON, MalformedBody),
    Body("no-object", "JSON that is no object", b'["GetNews"]', JSON, MalformedBody),
    Body("nan", "A number that JSON does not have", b'{"action":"GetNews","x":NaN}', JSON, MalformedBody),
    Body("half-character", "Half a character in JSON", rb'{"action":"GetNews","x":"\ud800"}', JSON, MalformedBody),
    Body("not-utf-8-json", "JSON that is not UTF-8", b'{"action":"GetNews","x":"\xff"}', JSON, MalformedBody),
    Body("not-utf-8-form", "A form that is not UTF-8", b"action=GetNews&x=%FF", FORM, MalformedBody),
    Body("no-action", "No action", b"{}", JSON, MissingField, "action"),
    Body("empty-action", "An empty action in a form", b"action=", FORM, MissingField, "action"),
    Body("action-no-text", "An action that is no text", b'{"action":["GetNews"]}', JSON, InvalidField, "action"),
    Body("unknown-action", "An unknown action", b'{"action":"GetNothing"}', JSON, UnknownAction, "action"),
    Body("action-case", "An action in other letters", b"action=getnews", FORM, UnknownAction, "action"),
    Body("too-large", "A body over the limit", b"action=GetNews&x=" + b"x" * LARGEST_SETTING, FORM, BodyTooLarge),
]


def _check(body: Body) -> Check:
    def examine(console: Examination) -> None:
        answer = console.main.post(body.body, body.content_type)
        if body.refused is None:
            hold_success(answer)
        else:
            hold_refused(answer, body.refused, body.field)

    title = f"{body.title} is {body.refused.error}." if body.refused else f"{body.title}."
    section = ERRORS if body.refused else ACTIONS
    return Check(f"console.body.{body.id}", "console", section, "must", title, examine, ("login.accepted",))


def _same_in_both_forms(action: str) -> Check:
    def examine(console: Examination) -> None:
        in_json, as_form = (console.answer(action, form) for form in FORMS)
        hold_success(in_json, after="as JSON")
        hold_success(as_form, after="as form data")
        if in_json.body != as_form.body:
            # Between the two an hour may have ended, or a resource come or gone.
            again = console.main.call(action, "JSON", console.fields(action))
            hold(again.body == as_form.body, "the two answers differ")

    title = f"{action} takes both body forms and answers both alike."
    return Check(f"console.forms.{action}", "console", ACTIONS, "must", title, examine, (f"answers.{action}",))


checks += [_same_in_both_forms(action) for action in ACTION_NAMES]
checks += [_check(body) for body in TAKEN + REFUSED]


@checks.must("console.body.order", "api: Errors", "login.accepted")
def _(console: Examination) -> None:
    """Of a call size is checked first, then media type, session, CSRF, body, action and parameters."""
    nobody, main = console.newcomer(), console.main
    wrong = {"X-CSRFToken": "wrong"}
    large = b"\xff" * (LARGEST_SETTING + 1)
    hold_refused(nobody.post(large, "text/plain", wrong), BodyTooLarge, after="all wrong")
    hold_refused(nobody.post(b"\xff", "text/plain", wrong), UnsupportedMediaType, after="all but the size wrong")
    hold_refused(nobody.post(b"\xff", JSON, wrong), LoginRequired, after="session, token and body wrong")
    hold_refused(main.post(b"\xff", JSON, wrong), CsrfFailed, after="token and body wrong")
    body = b'{"action":"GetNothing","domainId":false}'
    hold_refused(main.post(body), UnknownAction, "action", after="action and parameter wrong")
