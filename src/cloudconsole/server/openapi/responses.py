"""What each operation answers: its success, and by status every error that it can give."""

from itertools import groupby
from typing import Any, Final

from cloudconsole.server.openapi.examples import Examples
from cloudconsole.server.openapi.schemas import answer_name, reference
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.constants import CSRF_COOKIE, JSON, SESSION_COOKIE
from cloudconsole.spec.errors import ApiError, TooManyRequests, Unavailable
from cloudconsole.spec.operations import CALL, LOG_IN, LOG_OUT, OPEN, Operation

Part = dict[str, Any]

HEADERS: Final[Part] = {
    "RequestId": {
        "description": "The caller's own, if it is 1 to 64 of `[A-Za-z0-9._-]`, else a new one.",
        "required": True,
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"},
    },
    "RetryAfter": {
        "description": "Seconds to wait before trying again.",
        "required": True,
        "schema": {"type": "integer", "minimum": 1, "maximum": 60},
    },
    "SetCookie": {
        "description": f"`{SESSION_COOKIE}` and `{CSRF_COOKIE}`, in a header each; a logout only clears the first.",
        "required": True,
        "schema": {"type": "string"},
    },
}


def responses(operation: Operation, examples: Examples) -> Part:
    return _successes(examples)[operation.name] | _refusals(operation)


def _successes(examples: Examples) -> dict[str, Part]:
    welcome = {"schema": reference("WelcomeAnswer"), "example": examples.of(OPEN.name).answer}
    # Not oneOf: two of the answers may be equally empty.
    answers = {
        "schema": {"anyOf": [reference(answer_name(action)) for action in ACTIONS]},
        "examples": {action.name: {"value": examples.of(action.name).answer} for action in ACTIONS},
    }
    return {
        OPEN.name: {"200": _response("What the console offers.", welcome, "Set-Cookie")},
        CALL.name: {"200": _response("The action's answer.", answers)},
        LOG_IN.name: {
            "200": _response("Logged in; the body is empty.", None, "Set-Cookie"),
            "302": _response(
                "Logged in, where the operator set `login_redirect`: to `/`, with an empty body.", None, "Set-Cookie"
            ),
        },
        LOG_OUT.name: {"200": _response("Logged out; the body is empty.", None, "Set-Cookie")},
    }


def _refusals(operation: Operation) -> Part:
    ordered = sorted(operation.errors, key=lambda error: error.code)
    return {str(code): _refusal(code, list(errors)) for code, errors in groupby(ordered, key=lambda error: error.code)}


def _refusal(code: int, errors: list[type[ApiError]]) -> Part:
    schema = {
        **reference("Refusal"),
        "properties": {"code": {"const": code}, "error": {"enum": [error.error for error in errors]}},
    }
    return _response(
        "\n".join(f"- `{error.error}`: {error.when}" for error in errors),
        {"schema": schema},
        *(["Retry-After"] if {TooManyRequests, Unavailable} & set(errors) else []),
    )


def _response(text: str, content: Part | None, *headers: str) -> Part:
    names = {name: {"$ref": f"#/components/headers/{name.replace('-', '')}"} for name in headers}
    return {
        "description": text,
        "headers": {"X-Request-ID": {"$ref": "#/components/headers/RequestId"}, **names},
        **({"content": {JSON: content}} if content else {}),
    }
