"""Responses of the operations in the OpenAPI document, with all their errors."""

from itertools import groupby
from typing import Any, Final

from cloudconsole.server.openapi.examples import Example, Examples
from cloudconsole.server.openapi.schemas import reference, response_name
from cloudconsole.spec.actions import Action
from cloudconsole.spec.errors import ApiError, TooManyRequests, Unavailable
from cloudconsole.spec.operations import CALL_ACTION, JSON, LOGIN, LOGOUT, OPEN_SESSION, Operation
from cloudconsole.spec.set_cookie import CSRF_COOKIE, SESSION_COOKIE

Part = dict[str, Any]

HEADERS: Final[Part] = {
    "RequestId": {
        "description": "The client's own, if it is 1 to 64 of `[A-Za-z0-9._-]`, else a new one.",
        "required": True,
        "schema": {
            "title": "RequestId",
            "type": "string",
            "description": "Identifies the request in the console's log.",
            "pattern": "^[A-Za-z0-9._-]{1,64}$",
        },
    },
    "RetryAfter": {
        "description": "Seconds to wait before trying again.",
        "required": True,
        "schema": {
            "title": "RetryAfter",
            "type": "integer",
            "description": "A whole number of seconds.",
            "minimum": 1,
            "maximum": 60,
        },
    },
    "SetCookie": {
        "description": f"`{SESSION_COOKIE}` and `{CSRF_COOKIE}`, in a header each; a logout only clears the first.",
        "required": True,
        "schema": {"title": "SetCookie", "type": "string", "description": "A cookie with its attributes."},
    },
}


def responses(operation: Operation, actions: tuple[Action, ...], examples: Examples) -> Part:
    return _successes(actions, examples)[operation.name] | _errors(operation, actions)


def _successes(actions: tuple[Action, ...], examples: Examples) -> dict[str, Part]:
    opening = examples.of(OPEN_SESSION.name) or Example({}, {})
    welcome = {"schema": reference("WelcomeAnswer"), "example": opening.response}
    # Not oneOf: an empty response may match several schemas.
    responses = {
        "schema": {
            "title": "ActionAnswer",
            "description": "The envelope of the requested action.",
            "anyOf": [reference(response_name(action)) for action in actions],
        },
        "examples": {
            action.name: {"value": example.response} for action in actions if (example := examples.of(action.name))
        },
    }
    return {
        OPEN_SESSION.name: {"200": _response("What the console offers.", welcome, "Set-Cookie")},
        CALL_ACTION.name: {"200": _response("The action's response.", responses)},
        LOGIN.name: {
            "200": _response("Logged in; the body is empty.", None, "Set-Cookie"),
            "302": _response(
                "Logged in, where the operator set `login_redirect`: to `/`, with an empty body.", None, "Set-Cookie"
            ),
        },
        LOGOUT.name: {"200": _response("Logged out; the body is empty.", None, "Set-Cookie")},
    }


def errors_of(operation: Operation, actions: tuple[Action, ...]) -> list[type[ApiError]]:
    """Return all errors of an operation; those of a call include the actions' own."""
    own = (error for action in actions for error in action.errors) if operation is CALL_ACTION else ()
    return list(dict.fromkeys([*operation.errors, *own]))


def _errors(operation: Operation, actions: tuple[Action, ...]) -> Part:
    ordered = sorted(errors_of(operation, actions), key=lambda error: error.code)
    return {str(code): _error_response(list(errors)) for code, errors in groupby(ordered, key=lambda error: error.code)}


def _error_response(errors: list[type[ApiError]]) -> Part:
    response = _response(
        "\n".join(f"- `{error.error}`: {error.when}" for error in errors),
        # The schema itself, without narrowing `error` per response: generators then have one class for all errors.
        {"schema": reference("Refusal")},
        *(["Retry-After"] if {TooManyRequests, Unavailable} & set(errors) else []),
    )
    return response | {"x-errors": [error.error for error in errors]}


def _response(text: str, content: Part | None, *headers: str) -> Part:
    names = {name: {"$ref": f"#/components/headers/{name.replace('-', '')}"} for name in headers}
    return {
        "description": text,
        "headers": {"X-Request-ID": {"$ref": "#/components/headers/RequestId"}, **names},
        **({"content": {JSON: content}} if content else {}),
    }
