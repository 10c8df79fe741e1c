"""Encoding of success and error envelopes."""

import json
from decimal import Decimal

import pytest

from cloudconsole.spec import envelope
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.errors import InternalError, MissingField
from cloudconsole.spec.i18n import Language, Text

TEXT = Text('It "works".', "成功“了”。")


@pytest.mark.parametrize("data", [b"{}", b"[]", b'{"a":[1.10,1E400]}', b'["\xe4\xb8\xad"]'])
def test_success_contains_its_data_unchanged(data: bytes) -> None:
    assert envelope.success(TEXT, "en", data).endswith(b'"data":' + data + b"}")


@pytest.mark.parametrize(("language", "message"), [("en", TEXT.en), ("zh", TEXT.zh)])
def test_a_success_has_exactly_three_fields(language: Language, message: str) -> None:
    body = json.loads(envelope.success(TEXT, language, b"[]"))
    assert body == {"message": message, "code": 200, "data": []}


def test_chinese_is_not_escaped() -> None:
    assert TEXT.zh.encode() in envelope.success(TEXT, "zh", b"[]")


def test_error_without_a_field() -> None:
    body = json.loads(envelope.error(InternalError("r-1"), "en"))
    assert set(body) == {"message", "code", "data", "error"}
    assert (body["code"], body["data"], body["error"]) == (500, {}, "internal_error")


def test_error_with_a_field() -> None:
    body = json.loads(envelope.error(MissingField("domainId"), "zh"))
    assert set(body) == {"message", "code", "data", "error", "field"}
    assert (body["code"], body["data"], body["error"]) == (400, {}, "missing_field")
    assert body["field"] == "domainId"


def test_decimals_are_encoded_as_numbers() -> None:
    assert envelope.encode(Decimal("1.10")) == b"1.10"


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.name)
def test_every_action_has_a_message_in_both_languages(action: object) -> None:
    success: Text = action.success  # type: ignore[attr-defined]
    assert success.en.isascii()
    assert success.en
    assert any("一" <= character <= "鿿" for character in success.zh)


def test_actions_are_in_the_order_of_the_specification() -> None:
    assert [(action.name, *action.parameters) for action in ACTIONS] == [
        ("GetUsageLimits",),
        ("GetFlavors",),
        ("GetUrlList",),
        ("GetDomainDetail", "domainId"),
        ("GetNews",),
        ("GetConsumptionsEstimated",),
    ]
