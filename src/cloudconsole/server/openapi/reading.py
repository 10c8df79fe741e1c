"""The document's schemas, read into rows of fields for people."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

Schema = dict[str, Any]

_TYPES = {"string": "text", "null": "null", "integer": "integer", "array": "array", "object": "object"}


class FieldRow(NamedTuple):
    name: str
    type: str
    description: str


def data_schema(document: Schema, action: str) -> Schema:
    """The schema of an action's `data`."""
    schema: Schema = document["components"]["schemas"][f"{action}Answer"]["properties"]["data"]
    return schema


def example_of(document: Schema, action: str) -> tuple[Any, Any]:
    """A body of the action and the answer to it."""
    call = document["paths"]["/api/"]["post"]
    contents = (call["requestBody"]["content"], call["responses"]["200"]["content"])
    body, answer = (content["application/json"]["examples"][action]["value"] for content in contents)
    return body, answer


def parameter_rows(document: Schema, action: str) -> list[FieldRow]:
    properties = document["components"]["schemas"][f"{action}Body"]["properties"]
    return [_row(name, schema, document) for name, schema in properties.items() if name != "action"]


def field_rows(document: Schema, schema: Schema, prefix: str = "") -> Iterator[FieldRow]:
    """A row for each field of an object, or of the objects of an array, those below it included."""
    schema = _resolve(schema, document)
    if "items" in schema:
        yield from field_rows(document, schema["items"], f"{prefix[:-1]}[]." if prefix else "")
    for name, below in schema.get("properties", {}).items():
        yield _row(prefix + name, below, document)
        yield from field_rows(document, below, f"{prefix}{name}.")


def type_text(schema: Schema, document: Schema) -> str:
    schema = _resolve(schema, document)
    if "anyOf" in schema:
        return " or ".join(type_text(each, document) for each in schema["anyOf"])
    if "enum" in schema:
        return "text"
    if "items" in schema:
        return f"array of {_plural(type_text(schema['items'], document))}"
    if "additionalProperties" in schema and schema["additionalProperties"] is not True:
        return f"object of {_plural(type_text(schema['additionalProperties'], document))}"
    return _TYPES[schema["type"]] if "type" in schema else "any"


def shown(value: object, indent: str = "") -> str:
    """JSON on as few lines as stay short: what fits goes on one."""
    flat = json.dumps(value, ensure_ascii=False)
    if not value or not isinstance(value, dict | list) or len(indent) + len(flat) <= 110:
        return flat
    deeper = indent + "  "
    if isinstance(value, dict):
        inner = [f"{deeper}{json.dumps(name)}: {shown(each, deeper)}" for name, each in value.items()]
        return "{\n" + ",\n".join(inner) + f"\n{indent}}}"
    return "[\n" + ",\n".join(deeper + shown(each, deeper) for each in value) + f"\n{indent}]"


def _row(name: str, schema: Schema, document: Schema) -> FieldRow:
    unit = schema.get("x-unit")
    kind = type_text(schema, document)
    return FieldRow(name, f"{kind}, {unit}" if unit else kind, schema["description"])


def _plural(kind: str) -> str:
    first, *rest = kind.split(" ", 1)
    return " ".join([first if first == "text" else f"{first}s", *rest])


def _resolve(schema: Schema, document: Schema) -> Schema:
    """The schema with what it refers to; its own words go before those."""
    if "$ref" not in schema:
        return schema
    return {**document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], **schema}
