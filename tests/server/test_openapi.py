"""The OpenAPI document: valid, complete and consistent with the tables it is generated from."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from openapi_spec_validator import validate

from cloudconsole._version import __version__
from cloudconsole.server.openapi.document import build_document
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.errors import ERRORS
from cloudconsole.spec.extensions import EXTENSIONS
from cloudconsole.spec.operations import OPERATIONS, UNKNOWN_PATH_ERRORS, Operation

DOCUMENT: dict[str, Any] = json.loads(json.dumps(build_document()))
SCHEMAS = DOCUMENT["components"]["schemas"]
POST_API = DOCUMENT["paths"]["/api/"]["post"]
NAMES = [action.name for action in (*ACTIONS, *EXTENSIONS)]


def conforms(value: object, schema: dict[str, Any]) -> bool:
    return bool(Draft202012Validator({**schema, "components": DOCUMENT["components"]}).is_valid(value))


def all_properties(node: object) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(node, dict):
        yield from node.get("properties", {}).items()
        for child in node.values():
            yield from all_properties(child)


def test_the_document_is_valid() -> None:
    validate(DOCUMENT)
    for schema in SCHEMAS.values():
        Draft202012Validator.check_schema(schema)
    assert DOCUMENT["openapi"].startswith("3.1.")
    assert DOCUMENT["info"]["version"] == __version__
    assert DOCUMENT["servers"] == [{"url": "/"}]


@pytest.mark.parametrize("media", ["application/json", "application/x-www-form-urlencoded"])
def test_the_body_is_one_of_the_actions(media: str) -> None:
    schema = POST_API["requestBody"]["content"][media]["schema"]
    assert list(schema["discriminator"]["mapping"]) == NAMES
    assert [each["$ref"] for each in schema["oneOf"]] == list(schema["discriminator"]["mapping"].values())


@pytest.mark.parametrize("name", NAMES)
def test_action_examples_conform_to_their_schemas(name: str) -> None:
    body = POST_API["requestBody"]["content"]["application/json"]["examples"][name]["value"]
    response = POST_API["responses"]["200"]["content"]["application/json"]["examples"][name]["value"]
    assert body["action"] == name
    assert conforms(body, POST_API["requestBody"]["content"]["application/json"]["schema"])
    assert response["data"]
    assert conforms(response, SCHEMAS[f"{name}Body"]["x-response"])
    assert conforms(response, POST_API["responses"]["200"]["content"]["application/json"]["schema"])


def test_welcome_example_conforms_to_its_schema() -> None:
    content = DOCUMENT["paths"]["/api/"]["get"]["responses"]["200"]["content"]["application/json"]
    assert content["example"]["data"]["actions"] == [action.name for action in ACTIONS]
    assert conforms(content["example"], content["schema"])


DOMAIN_DETAIL = {"action": "GetDomainDetail"}


@pytest.mark.parametrize(
    ("body", "is_valid"),
    [
        ({}, False),
        ({"action": "getnews"}, False),
        (DOMAIN_DETAIL, False),
        *(({**DOMAIN_DETAIL, "domainId": value}, False) for value in ("", "a" * 65, "a\x7f", 1.5, None)),
        *(({**DOMAIN_DETAIL, "domainId": value}, True) for value in ("a" * 64, 206813, "域")),
        ({**DOMAIN_DETAIL, "domainId": "206813", "region": "x"}, True),
    ],
)
def test_schema_accepts_the_bodies_that_the_console_accepts(body: dict[str, Any], is_valid: bool) -> None:
    assert conforms(body, POST_API["requestBody"]["content"]["application/json"]["schema"]) == is_valid


@pytest.mark.parametrize(
    ("schema", "name", "value", "is_valid"),
    [
        *(("ConsumptionItem", "hour", amount, True) for amount in ("0.00", "12.345678901")),
        *(("ConsumptionItem", "hour", amount, False) for amount in ("1", "1.5", "01.00")),
        *(("DomainDetail", "enabled", enabled, True) for enabled in ("false", "true")),
        *(("DomainDetail", "enabled", enabled, False) for enabled in (True, "yes", None)),
    ],
)
def test_amounts_and_switches_are_text_of_one_form(schema: str, name: str, value: object, is_valid: bool) -> None:
    assert conforms(value, SCHEMAS[schema]["properties"][name]) == is_valid


def test_every_field_of_every_record_is_described() -> None:
    self_explanatory = {"data", "res_type"}
    undescribed = [name for name, schema in all_properties(SCHEMAS) if not schema.get("description")]
    assert set(undescribed) <= self_explanatory


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_has_a_title_and_a_description(name: str) -> None:
    assert SCHEMAS[name]["title"] == name
    assert SCHEMAS[name]["description"].endswith(".")


def all_inline_schemas(node: object, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the schemas of parameters, headers and bodies that are no references."""
    if isinstance(node, dict):
        schema = node.get("schema")
        if isinstance(schema, dict) and "$ref" not in schema:
            yield path, schema
        for name, child in node.items():
            yield from all_inline_schemas(child, f"{path}/{name}")


@pytest.mark.parametrize("path", dict(all_inline_schemas(DOCUMENT)))
def test_every_inline_schema_has_a_title_and_a_description(path: str) -> None:
    schema = dict(all_inline_schemas(DOCUMENT))[path]
    assert schema["title"]
    assert schema["description"].endswith(".")


def test_inline_schemas_are_found() -> None:
    titles = [schema["title"] for _, schema in all_inline_schemas(DOCUMENT)]
    assert {"ActionBody", "ActionForm", "ActionAnswer", "SetCookie", "AcceptLanguage"} <= set(titles)
    assert not set(titles) & set(SCHEMAS)


def test_operation_ids_are_verbs_in_camel_case_and_tags_are_declared() -> None:
    operations = [operation for methods in DOCUMENT["paths"].values() for operation in methods.values()]
    assert [operation["operationId"] for operation in operations] == ["openSession", "callAction", "logIn", "logOut"]
    declared = {tag["name"] for tag in DOCUMENT["tags"]}
    assert {tag for operation in operations for tag in operation["tags"]} == declared


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_an_operation_lists_exactly_its_errors(operation: Operation) -> None:
    responses = DOCUMENT["paths"][operation.path][operation.method.lower()]["responses"]
    listed = {(int(status), error) for status, each in responses.items() for error in each.get("x-errors", ())}
    assert listed == {(error.code, error.error) for error in operation.errors}


def test_every_error_is_declared_once_per_operation() -> None:
    declared = {error for operation in OPERATIONS for error in operation.errors}
    assert declared | set(UNKNOWN_PATH_ERRORS) == set(ERRORS)
    assert not declared & set(UNKNOWN_PATH_ERRORS)
    assert all(len(set(operation.errors)) == len(operation.errors) for operation in OPERATIONS)


def test_every_response_declares_a_request_id_and_429_and_503_a_retry_after() -> None:
    for methods in DOCUMENT["paths"].values():
        for operation in methods.values():
            for status, response in operation["responses"].items():
                assert "X-Request-ID" in response["headers"]
                assert ("Retry-After" in response["headers"]) == (status in ("429", "503"))
