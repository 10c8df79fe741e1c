"""Schemas of the OpenAPI document: records, errors, and the body and response of each action."""

from typing import Any, Final

import msgspec
from msgspec.structs import fields

from cloudconsole.spec.actions import Action, Identifier
from cloudconsole.spec.envelope import Refusal
from cloudconsole.spec.operations import JSON, LoginForm
from cloudconsole.spec.records import Welcome

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
        form, body, response = form_name(action), body_name(action), response_name(action)
        schemas[form] = _body(form, action, _in_form(properties))
        schemas[body] = _body(body, action, _in_json(action, properties))
        schemas[response] = _envelope(response, action.name, data)
    schemas["WelcomeAnswer"] = _envelope("WelcomeAnswer", "`GET /api/`", reference("Welcome"))
    return schemas


def _body(name: str, action: Action, properties: dict[str, Schema]) -> Schema:
    required = [parameter.encode_name for parameter in fields(action.parameters) if parameter.required]
    return {
        "title": name,
        "type": "object",
        "description": action.purpose.en,
        "properties": {"action": {"const": action.name, "description": "The action's name."}, **properties},
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


def _envelope(name: str, operation: str, data: Schema) -> Schema:
    return {
        "title": name,
        "type": "object",
        "description": f"Envelope of a response of {operation}.",
        "properties": {
            "message": {
                "type": "string",
                "description": "For people, in Chinese or English according to `Accept-Language`.",
            },
            "code": {"const": 200, "description": "The HTTP status."},
            "data": data,
        },
        "required": ["message", "code", "data"],
        "additionalProperties": False,
    }
