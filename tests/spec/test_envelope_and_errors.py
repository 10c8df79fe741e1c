"""Envelopes and API errors: unique identifiers, messages in both languages, the tree in the module docstring."""

import json
import re
from decimal import Decimal

import pytest

from cloudconsole.spec import envelope, errors
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.errors import ApiError
from cloudconsole.spec.i18n import Language, Text

KINDS = sorted(errors.ERRORS, key=lambda kind: kind.__name__)

CONTRACT: list[tuple[ApiError, str, int, str | None, list[str]]] = [
    (errors.MalformedBody(), "malformed_body", 400, None, []),
    (errors.MissingField("domainId"), "missing_field", 400, "domainId", ["domainId"]),
    (errors.InvalidField("domainId"), "invalid_field", 400, "domainId", ["domainId"]),
    (errors.UnknownRegion(["http://a/v3", "http://b"]), "unknown_region", 400, "region", ["http://a/v3", "http://b"]),
    (errors.InvalidHost(), "invalid_host", 400, None, []),
    (errors.InvalidCredentials(), "invalid_credentials", 401, None, []),
    (errors.LoginRequired(), "login_required", 401, None, []),
    (errors.CsrfFailed(), "csrf_failed", 403, None, []),
    (errors.NoProject(), "no_project", 403, None, []),
    (errors.ProjectRequired(["b", "a"]), "project_required", 403, "project", ["a, b"]),
    (errors.UnknownAction(), "unknown_action", 404, "action", []),
    (errors.DomainNotFound(), "domain_not_found", 404, "domainId", []),
    (errors.FlavorNotFound("items[3].flavor", "x"), "flavor_not_found", 404, "items", ["items[3].flavor", "x"]),
    (errors.NodeNotFound("items[3].region", "x"), "node_not_found", 404, "items", ["items[3].region", "x"]),
    (errors.NotFound(), "not_found", 404, None, []),
    (errors.MethodNotAllowed("GET, HEAD"), "method_not_allowed", 405, None, ["GET, HEAD"]),
    (errors.BodyTooLarge(65536), "body_too_large", 413, None, ["65536"]),
    (errors.UnsupportedMediaType(("a/b", "c/d")), "unsupported_media_type", 415, None, ["a/b", "c/d"]),
    (errors.TooManyRequests(7), "too_many_requests", 429, None, ["7"]),
    (errors.InternalError("request-1"), "internal_error", 500, None, ["request-1"]),
    (errors.UpstreamFailed(), "upstream_failed", 502, None, []),
    (errors.UpstreamTimeout(), "upstream_timeout", 504, None, []),
    (errors.Unavailable(), "unavailable", 503, None, []),
]
"""An example of each error, its identifier, status code and field, and the values that its messages contain."""


def test_the_errors_are_those_of_the_contract() -> None:
    assert sorted(type(row[0]).__name__ for row in CONTRACT) == [kind.__name__ for kind in KINDS]


@pytest.mark.parametrize(("example", "identifier", "code", "field", "values"), CONTRACT)
def test_error_follows_the_contract_and_its_messages_are_complete(
    example: ApiError, identifier: str, code: int, field: str | None, values: list[str]
) -> None:
    assert (example.error, example.code, example.field) == (identifier, code, field)
    assert (example.retry_after is not None) == (code in (429, 503))
    for message in (example.message("en"), example.message("zh")):
        assert message
        assert not set("{}") & set(message)
        assert all(value in message for value in values)


def test_only_some_of_many_projects_are_named() -> None:
    message = errors.ProjectRequired(map(str, range(100, 200))).message("en")
    assert message.endswith(", 119, …")


@pytest.mark.parametrize("text", [*(kind.text for kind in KINDS), *(action.success for action in ACTIONS)])
def test_each_message_is_in_its_language(text: Text) -> None:
    assert text.en
    assert text.en.isascii()
    assert re.search("[一-鿿]", text.zh)


def test_module_docstring_lists_every_error() -> None:
    listed = re.findall(r"[├└]── (\w+) +(\d+) +(\w+)", errors.__doc__ or "")
    assert sorted(listed) == [(kind.__name__, str(kind.code), kind.error) for kind in KINDS]


# Envelopes

TEXT = Text('It "works".', "成功“了”。")


@pytest.mark.parametrize("data", [b"{}", b"[]", b'{"a":[1.10,1E400]}', b'["\xe4\xb8\xad"]'])
def test_success_contains_its_data_unchanged(data: bytes) -> None:
    assert envelope.success(TEXT, "en", data).endswith(b'"data":' + data + b"}")


@pytest.mark.parametrize(("language", "message"), [("en", TEXT.en), ("zh", TEXT.zh)])
def test_a_success_has_exactly_three_fields(language: Language, message: str) -> None:
    body = envelope.success(TEXT, language, b"[]")
    assert json.loads(body) == {"message": message, "code": 200, "data": []}
    assert (TEXT.zh.encode() in body) == (language == "zh")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("error", "fields"),
    [
        (errors.InternalError("r-1"), {"code": 500, "error": "internal_error"}),
        (errors.MissingField("domainId"), {"code": 400, "error": "missing_field", "field": "domainId"}),
    ],
)
def test_error_has_a_field_only_if_one_is_wrong(error: ApiError, fields: dict[str, object], language: Language) -> None:
    body = json.loads(envelope.error(error, language))
    assert body == fields | {"message": error.message(language), "data": {}}


def test_decimals_are_encoded_as_numbers() -> None:
    assert envelope.encode(Decimal("1.10")) == b"1.10"


def test_actions_are_in_the_order_of_the_specification() -> None:
    names = [" ".join((action.name, *action.parameter_names)) for action in ACTIONS]
    assert names[:3] == ["GetUsageLimits", "GetFlavors", "GetUrlList"]
    assert names[3:] == ["GetDomainDetail domainId", "GetNews", "GetConsumptionsEstimated"]
