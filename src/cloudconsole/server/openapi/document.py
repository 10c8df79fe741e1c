"""OpenAPI document, generated from the tables of operations, actions and errors, with recorded examples."""

from itertools import chain
from typing import Any, Final

import msgspec

from cloudconsole._version import __version__
from cloudconsole.server.openapi.examples import Examples
from cloudconsole.server.openapi.responses import HEADERS, errors_of, responses
from cloudconsole.server.openapi.schemas import all_schemas, body_name, form_name, reference
from cloudconsole.spec.actions import ACTIONS, Action
from cloudconsole.spec.extensions import EXTENSIONS
from cloudconsole.spec.operations import (
    CALL_ACTION,
    FORM,
    JSON,
    LOGIN,
    LOGOUT,
    OPEN_SESSION,
    OPERATIONS,
    UNKNOWN_PATH_ERRORS,
)
from cloudconsole.spec.set_cookie import CSRF_COOKIE, SESSION_COOKIE

Document = dict[str, Any]

PARAMETERS: Final[Document] = {
    "AcceptLanguage": {
        "name": "Accept-Language",
        "in": "header",
        "description": "The language of `message`: Chinese (`zh`) or English (`en`).",
        "schema": {"title": "AcceptLanguage", "type": "string", "description": "Languages with weights, as in HTTP."},
    },
    "RequestId": {
        "name": "X-Request-ID",
        "in": "header",
        "description": "Identifies the request in logs; returned in the response if it is 1 to 64 of `[A-Za-z0-9._-]`.",
        "schema": {
            "title": "GivenRequestId",
            "type": "string",
            "description": "Any other text is replaced by a new ID.",
        },
    },
}

ABOUT: Final = (
    "The programmatic interface of a cloud: quotas and usage, flavors, URLs, CDN domains, news and estimated costs. "
    "`GET /api/` opens a cookie session, `POST /auth/login/` logs in, `POST /api/` calls one of the actions. Six of "
    "them are the interface; the others are extensions, which `GET /api/` names in `extensions`. Actions, `GET /api/` "
    "and all errors respond with a JSON envelope; programs read its `code` and `error`. Any other path is "
    "`not_found`, any other method `method_not_allowed`; `HEAD` works where `GET` does, and `OPTIONS` returns 204 with "
    "`Allow`."
)


_TAGS: Final = {"session": "Sessions and logins.", "actions": "Actions of a logged-in account."}


def build_document(actions: tuple[Action, ...] = (*ACTIONS, *EXTENSIONS)) -> Document:
    """Return the document of a console with these actions."""
    examples = Examples()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Cloud Console",
            "version": __version__,
            "description": ABOUT,
            "contact": {"name": "The operator of this console"},
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": _paths(actions, examples),
        "components": {
            "schemas": all_schemas(actions),
            "parameters": PARAMETERS,
            "headers": HEADERS,
            "securitySchemes": _SECURITY_SCHEMES,
        },
        "x-actions": [
            {
                "name": action.name,
                "purpose": action.purpose._asdict(),
                "notes": list(action.notes),
                "extension": action not in ACTIONS,
            }
            for action in actions
        ],
        "x-errors": _catalogue(actions),
    }


def _paths(actions: tuple[Action, ...], examples: Examples) -> Document:
    as_json, as_form = (_one_of_the_actions(actions, examples, media) for media in (JSON, FORM))
    in_session: list[Document] = [{"session": [], "csrfCookie": [], "csrfHeader": []}]
    requests: Document = {
        OPEN_SESSION.name: {"security": []},
        CALL_ACTION.name: {
            "security": in_session,
            "requestBody": {"required": True, "content": {JSON: as_json, FORM: as_form}},
        },
        LOGIN.name: {
            "security": [{"csrfCookie": []}],
            "requestBody": {"required": True, "content": {FORM: {"schema": reference("LoginForm")}}},
        },
        LOGOUT.name: {"security": in_session},
    }
    paths: Document = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = {
            "operationId": operation.name,
            "tags": ["actions" if operation is CALL_ACTION else "session"],
            "summary": operation.summary,
            "description": operation.notes,
            "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in PARAMETERS],
            **requests[operation.name],
            "responses": responses(operation, actions, examples),
        }
    return paths


def _one_of_the_actions(actions: tuple[Action, ...], examples: Examples, media: str) -> Document:
    name_of = body_name if media == JSON else form_name
    bodies = {action.name: reference(name_of(action)) for action in actions}
    return {
        "schema": {
            "title": "ActionBody" if media == JSON else "ActionForm",
            "description": "An action and its parameters; other fields are ignored.",
            "oneOf": list(bodies.values()),
            "discriminator": {
                "propertyName": "action",
                "mapping": {name: body["$ref"] for name, body in bodies.items()},
            },
        },
        "examples": {
            action.name: {"value": example.body if media == JSON else _form_example(example.body)}
            for action in actions
            if (example := examples.of(action.name))
        },
    }


def _form_example(body: dict[str, Any]) -> dict[str, Any]:
    return {
        name: msgspec.json.encode(value).decode() if isinstance(value, list) else value for name, value in body.items()
    }


def _catalogue(actions: tuple[Action, ...]) -> list[Document]:
    by_operation = {operation.name: errors_of(operation, actions) for operation in OPERATIONS}
    errors = {*chain.from_iterable(by_operation.values()), *UNKNOWN_PATH_ERRORS}
    return [
        {
            "error": error.error,
            "code": error.code,
            "message": error.text._asdict(),
            "when": error.when,
            "remedy": error.remedy,
            "operations": [name for name, its_errors in by_operation.items() if error in its_errors],
        }
        for error in sorted(errors, key=lambda error: (error.code, error.error))
    ]


_SECURITY_SCHEMES: Final[Document] = {
    "session": {"type": "apiKey", "in": "cookie", "name": SESSION_COOKIE, "description": "Set at login."},
    "csrfCookie": {"type": "apiKey", "in": "cookie", "name": CSRF_COOKIE, "description": "Set by `GET /api/`."},
    "csrfHeader": {
        "type": "apiKey",
        "in": "header",
        "name": "X-CSRFToken",
        "description": f"The value of the cookie `{CSRF_COOKIE}` again.",
    },
}
