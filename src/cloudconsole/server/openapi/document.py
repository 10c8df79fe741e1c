"""The OpenAPI document, put together from the tables of actions, operations and errors."""

from typing import Any, Final

from cloudconsole._version import __version__
from cloudconsole.server.openapi.examples import Examples
from cloudconsole.server.openapi.responses import HEADERS, responses
from cloudconsole.server.openapi.schemas import all_schemas, body_name, reference
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.constants import CSRF_COOKIE, FORM, JSON, SESSION_COOKIE
from cloudconsole.spec.operations import CALL, ELSEWHERE, LOG_IN, LOG_OUT, OPEN, OPERATIONS

Document = dict[str, Any]

ABOUT: Final = (
    "The programmatic interface of a cloud: quotas and usage, flavors, URLs, CDN domains, news and estimated costs. "
    "`GET /api/` opens a cookie session, `POST /auth/login/` logs in, `POST /api/` calls one of the actions. Every "
    "answer is a JSON envelope; programs read its `code` and `error`. Any other path is `not_found`, any other method "
    "`method_not_allowed`; `HEAD` works where `GET` does, and `OPTIONS` answers 204 with `Allow`."
)


def build_document() -> Document:
    """The whole document; the same for every console of this version."""
    examples = Examples()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Cloud Console",
            "version": __version__,
            "description": ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": _paths(examples),
        "components": {"schemas": all_schemas(), "headers": HEADERS, "securitySchemes": _SECURITY_SCHEMES},
        "x-actions": [
            {"name": action.name, "purpose": action.purpose._asdict(), "notes": list(action.notes)}
            for action in ACTIONS
        ],
        "x-errors": _catalogue(),
    }


def _paths(examples: Examples) -> Document:
    call = _one_of_the_actions(examples)
    in_session: list[Document] = [{"session": [], "csrfCookie": [], "csrfHeader": []}]
    requests: Document = {
        OPEN.name: {"security": []},
        CALL.name: {
            "security": in_session,
            "requestBody": {"required": True, "content": {JSON: call, FORM: call}},
        },
        LOG_IN.name: {
            "security": [{"csrfCookie": []}],
            "requestBody": {"required": True, "content": {FORM: {"schema": reference("LoginForm")}}},
        },
        LOG_OUT.name: {"security": in_session},
    }
    paths: Document = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = {
            "operationId": operation.name,
            "summary": operation.summary,
            "description": operation.notes,
            **requests[operation.name],
            "responses": responses(operation, examples),
        }
    return paths


def _one_of_the_actions(examples: Examples) -> Document:
    bodies = {action.name: reference(body_name(action)) for action in ACTIONS}
    return {
        "schema": {
            "oneOf": list(bodies.values()),
            "discriminator": {
                "propertyName": "action",
                "mapping": {name: body["$ref"] for name, body in bodies.items()},
            },
        },
        "examples": {action.name: {"value": examples.of(action.name).body} for action in ACTIONS},
    }


def _catalogue() -> list[Document]:
    errors = {error for operation in OPERATIONS for error in operation.errors} | {*ELSEWHERE}
    return [
        {
            "error": error.error,
            "code": error.code,
            "message": error.text._asdict(),
            "when": error.when,
            "mend": error.mend,
            "operations": [operation.name for operation in OPERATIONS if error in operation.errors],
        }
        for error in sorted(errors, key=lambda error: (error.code, error.error))
    ]


_SECURITY_SCHEMES: Final[Document] = {
    "session": {"type": "apiKey", "in": "cookie", "name": SESSION_COOKIE, "description": "Given by a login."},
    "csrfCookie": {"type": "apiKey", "in": "cookie", "name": CSRF_COOKIE, "description": "Given by `GET /api/`."},
    "csrfHeader": {
        "type": "apiKey",
        "in": "header",
        "name": "X-CSRFToken",
        "description": f"The value of the cookie `{CSRF_COOKIE}` again.",
    },
}
