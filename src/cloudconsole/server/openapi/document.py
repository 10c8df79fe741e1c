"""OpenAPI document, generated from the tables of operations, actions and errors, with recorded examples."""

from importlib.resources import files
from itertools import chain, groupby
from typing import Any, Final

import msgspec
from msgspec.structs import fields

from cloudconsole._version import __version__
from cloudconsole.spec.actions import ACTIONS, Action, Identifier
from cloudconsole.spec.envelope import Refusal
from cloudconsole.spec.errors import ApiError, TooManyRequests, Unavailable
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
    LoginForm,
    Operation,
)
from cloudconsole.spec.records import Welcome
from cloudconsole.spec.set_cookie import CSRF_COOKIE, SESSION_COOKIE


class Example(msgspec.Struct):
    """Recorded request body and response."""

    body: dict[str, Any]
    response: dict[str, Any]


class Examples:
    """Recorded examples by action or operation."""

    def __init__(self) -> None:
        recording = (files(__package__) / "examples.json").read_bytes()
        self._recorded = msgspec.json.decode(recording, type=dict[str, Example])

    def of(self, name: str) -> Example | None:
        """Return None for the action of a package, and for one that was not recorded yet."""
        return self._recorded.get(name)


Schema = dict[str, Any]

REF_TEMPLATE: Final = "#/components/schemas/{name}"


def reference(name: str) -> Schema:
    return {"$ref": REF_TEMPLATE.format(name=name)}


def body_name(action: Action) -> str:
    return f"{action.name}Body"


def form_name(action: Action) -> str:
    """Return the name of its body in a form, where lists are text and nothing is null."""
    is_plain = all(parameter.type == Identifier for parameter in fields(action.parameters))
    return body_name(action) if is_plain else f"{action.name}Form"


def response_name(action: Action) -> str:
    return f"{action.name}Answer"


def all_schemas(actions: tuple[Action, ...]) -> dict[str, Schema]:
    """Return all schemas by name: records, error, login form, and each action's body and response."""
    records = [action.record for action in actions]
    parameters = [parameter.type for action in actions for parameter in fields(action.parameters)]
    given, components = msgspec.json.schema_components(
        [*records, *parameters, Welcome, Refusal, LoginForm], ref_template=REF_TEMPLATE
    )
    schemas: dict[str, Schema] = dict(components)
    of_parameters = iter(given[len(records) :])
    for action, data in zip(actions, given, strict=False):
        properties = {each.encode_name: next(of_parameters) for each in fields(action.parameters)}
        schemas[form_name(action)] = _body(action, _in_form(properties))
        schemas[body_name(action)] = _body(action, _in_json(action, properties))
        schemas[response_name(action)] = _envelope(data)
    schemas["WelcomeAnswer"] = _envelope(reference("Welcome"))
    return schemas


def _body(action: Action, properties: dict[str, Schema]) -> Schema:
    required = [parameter.encode_name for parameter in fields(action.parameters) if parameter.required]
    return {
        "type": "object",
        "description": action.purpose.en,
        "properties": {"action": {"const": action.name}, **properties},
        "required": ["action", *required],
        "additionalProperties": True,
        "x-response": reference(response_name(action)),
    }


def _in_json(action: Action, properties: dict[str, Schema]) -> dict[str, Schema]:
    """Allow null for an optional parameter, where it counts as absent."""
    optional = {
        parameter.encode_name: {"anyOf": [schema, {"type": "null"}], "description": schema.get("description", "")}
        | ({"default": parameter.default} if parameter.default else {})
        for parameter in fields(action.parameters)
        if not parameter.required
        and {"type": "null"} not in (schema := properties[parameter.encode_name]).get("anyOf", ())
    }
    return properties | optional


def _in_form(properties: dict[str, Schema]) -> dict[str, Schema]:
    """Describe lists as JSON text."""
    texts = {
        name: {"type": "string", "contentMediaType": JSON, "description": f"As JSON text. {schema['description']}"}
        for name, schema in properties.items()
        if schema.get("type") == "array"
    }
    return properties | texts


def _envelope(data: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {
            "message": {"type": "string", "description": "For people; Chinese or English, after `Accept-Language`."},
            "code": {"const": 200},
            "data": data,
        },
        "required": ["message", "code", "data"],
        "additionalProperties": False,
    }


Part = dict[str, Any]

HEADERS: Final[Part] = {
    "RequestId": {
        "description": "The client's own, if it is 1 to 64 of `[A-Za-z0-9._-]`, else a new one.",
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


PARAMETERS: Final[Part] = {
    "AcceptLanguage": {
        "name": "Accept-Language",
        "in": "header",
        "description": "The language of `message`: Chinese (`zh`) or English (`en`).",
        "schema": {"type": "string"},
    },
    "RequestId": {
        "name": "X-Request-ID",
        "in": "header",
        "description": "Identifies the request in logs; returned in the response if it is 1 to 64 of `[A-Za-z0-9._-]`.",
        "schema": {"type": "string"},
    },
}


def responses(operation: Operation, actions: tuple[Action, ...], examples: Examples) -> Part:
    return _successes(actions, examples)[operation.name] | _errors(operation, actions)


def _successes(actions: tuple[Action, ...], examples: Examples) -> dict[str, Part]:
    opening = examples.of(OPEN_SESSION.name) or Example({}, {})
    welcome = {"schema": reference("WelcomeAnswer"), "example": opening.response}
    # Not oneOf: an empty response may match several schemas.
    responses = {
        "schema": {"anyOf": [reference(response_name(action)) for action in actions]},
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


Document = dict[str, Any]

ABOUT: Final = (
    "The programmatic interface of a cloud: quotas and usage, flavors, URLs, CDN domains, news and estimated costs. "
    "`GET /api/` opens a cookie session, `POST /auth/login/` logs in, `POST /api/` calls one of the actions. Six of "
    "them are the interface; the others are extensions, which `GET /api/` names in `extensions`. Every "
    "response is a JSON envelope; programs read its `code` and `error`. Any other path is `not_found`, any other "
    "method `method_not_allowed`; `HEAD` works where `GET` does, and `OPTIONS` returns 204 with `Allow`."
)


def build_document(actions: tuple[Action, ...] = (*ACTIONS, *EXTENSIONS)) -> Document:
    """Return the document of a console with these actions."""
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
    "session": {"type": "apiKey", "in": "cookie", "name": SESSION_COOKIE, "description": "Given by a login."},
    "csrfCookie": {"type": "apiKey", "in": "cookie", "name": CSRF_COOKIE, "description": "Given by `GET /api/`."},
    "csrfHeader": {
        "type": "apiKey",
        "in": "header",
        "name": "X-CSRFToken",
        "description": f"The value of the cookie `{CSRF_COOKIE}` again.",
    },
}
