"""The JSON Schemas of all bodies and answers, by the names that the document refers to them by."""

from typing import Any, Final

import msgspec

from cloudconsole.spec.actions import ACTIONS, Action
from cloudconsole.spec.envelope import Refusal
from cloudconsole.spec.operations import LoginForm
from cloudconsole.spec.records import Welcome

Schema = dict[str, Any]

REF_TEMPLATE: Final = "#/components/schemas/{name}"


def reference(name: str) -> Schema:
    return {"$ref": REF_TEMPLATE.format(name=name)}


def body_name(action: Action) -> str:
    return f"{action.name}Body"


def answer_name(action: Action) -> str:
    return f"{action.name}Answer"


def all_schemas() -> dict[str, Schema]:
    """Every schema by its name: records, the refusal, the login form, and each action's body and answer."""
    types = [action.record for action in ACTIONS]
    given, components = msgspec.json.schema_components([*types, Welcome, Refusal, LoginForm], ref_template=REF_TEMPLATE)
    schemas: dict[str, Schema] = dict(components)
    for action, data in zip(ACTIONS, given, strict=False):
        schemas[body_name(action)] = _body(action)
        schemas[answer_name(action)] = _envelope(data)
    schemas["WelcomeAnswer"] = _envelope(reference("Welcome"))
    return schemas


def _body(action: Action) -> Schema:
    parameters, _ = msgspec.json.schema_components(list(action.parameters.values()), ref_template=REF_TEMPLATE)
    return {
        "type": "object",
        "description": action.purpose.en,
        "properties": {"action": {"const": action.name}, **dict(zip(action.parameters, parameters, strict=True))},
        "required": ["action", *action.parameters],
        "additionalProperties": True,
        "x-answer": reference(answer_name(action)),
    }


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
