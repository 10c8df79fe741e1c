"""Parameters of extensions: types, absence, and what is rejected."""

import json
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import pytest
from msgspec import Meta, Struct, field

from cloudconsole.server.http.body import parse_fields
from cloudconsole.server.http.parameters import read_parameters
from cloudconsole.spec.errors import ApiError, InvalidField, MalformedBody, MissingField
from cloudconsole.spec.extensions import MONTH, NO_CONTROLS
from cloudconsole.spec.operations import FORM, JSON


class Item(Struct, frozen=True):
    flavor: str
    count: Annotated[int, Meta(ge=1)] = 1


class Parameters(Struct, frozen=True):
    start_at: Annotated[str, Meta(max_length=9, description="A text.")] = field(name="startAt")
    limit: Annotated[int, Meta(ge=1, le=10)] = 5
    kind: Literal["image", "volume"] = "image"
    dry: bool = False
    items: tuple[Item, ...] = ()
    day: date | None = None
    month: Annotated[str, Meta(pattern=MONTH)] = ""
    marker: Annotated[str, Meta(pattern=NO_CONTROLS)] = ""
    code: Annotated[str, Meta(pattern="^[a-z]*$")] = ""


def from_json(body: str | dict[str, Any]) -> Struct:
    raw = (body if isinstance(body, str) else json.dumps(body)).encode()
    return read_parameters(Parameters, parse_fields(raw, JSON, ("action",)), raw, JSON)


def from_form(**fields: str) -> Struct:
    raw = urlencode(fields).encode()
    return read_parameters(Parameters, parse_fields(raw, FORM, ("action",)), raw, FORM)


ALL = Parameters("now", 7, "volume", True, (Item("1", 2), Item("2")))


def test_json_and_form_give_the_same_parameters() -> None:
    items = [{"flavor": "1", "count": 2}, {"flavor": "2"}]
    values = {"startAt": "now", "limit": 7, "kind": "volume", "dry": True, "items": items}
    assert from_json({"action": "x", **values, "other": 1}) == ALL
    assert from_form(startAt="now", limit="7", kind="volume", dry="true", items=json.dumps(items), other="1") == ALL
    assert hash(from_json(values)) == hash(ALL)


@pytest.mark.parametrize("number", ["7.0", "7e0", "70e-1", "7"])
def test_a_number_without_a_fraction_is_an_integer(number: str) -> None:
    items = f'[{{"flavor":"1","count":{number}}}]'
    expected = Parameters("now", 7, items=(Item("1", 7),))
    assert from_json(f'{{"startAt":"now","limit":{number},"items":{items}}}') == expected


@pytest.mark.parametrize(
    ("values", "english", "chinese"),
    [
        ({"limit": "x"}, "'limit' must be a whole number.", "“limit”必须是整数。"),
        ({"limit": 0}, "'limit' must be a whole number of at least 1.", "“limit”必须是整数，且不小于 1。"),
        ({"limit": 11}, "'limit' must be a whole number of at most 10.", "“limit”必须是整数，且不大于 10。"),
        ({"kind": "car"}, "'kind' cannot be 'car'.", "“kind”不能是 'car'。"),
        ({"kind": "{x}"}, "'kind' cannot be '{x}'.", "“kind”不能是 '{x}'。"),
        ({"dry": 5}, "'dry' must be true or false.", "“dry”必须是 true 或 false。"),
        ({"items": {}}, "'items' must be a list.", "“items”必须是列表。"),
        ({"items": [{}]}, "'items[0]' requires 'flavor'.", "“items[0]”缺少“flavor”。"),
        ({"items": [{"flavor": 1}]}, "'items[0].flavor' must be text.", "“items[0].flavor”必须是文本。"),
        ({"startAt": "x" * 10}, "'startAt' must be text with a length of at most 9.", "文本，且长度不大于 9。"),
        ({"day": "soon"}, "'day' must be a day such as 2026-11-01.", "“day”必须是日期，如 2026-11-01。"),
        ({"month": "soon"}, "'month' must be a month from 1970-01 to 9998-12.", "1970-01 至 9998-12 之间的月份。"),
        ({"marker": "\n"}, "'marker' must not contain control characters.", "“marker”不得包含控制字符。"),
        ({"code": "1"}, "'code' does not have the required form.", "“code”格式不符合要求。"),
    ],
)
def test_a_message_says_what_a_value_must_be(values: dict[str, Any], english: str, chinese: str) -> None:
    with pytest.raises(InvalidField) as rejected:
        from_json({"startAt": "now", **values})
    assert rejected.value.message("en").endswith(english)
    assert rejected.value.message("zh").endswith(chinese)


@pytest.mark.parametrize("number", ["1e400", "1e30", "-1e999", "7.5"])
def test_any_other_number_is_not(number: str) -> None:
    with pytest.raises(InvalidField):
        from_json(f'{{"startAt":"now","limit":{number}}}')


def test_digits_in_a_form_are_text() -> None:
    assert from_form(startAt="12") == Parameters("12")


class Colour(Enum):
    RED = "red"


class Odd(Struct, frozen=True):
    colour: Colour = Colour.RED
    word: str | None = None
    number: int | None = None
    many: tuple[int, ...] | None = None


def test_enums_and_options_are_text_in_a_form() -> None:
    raw = b"colour=red&word=5&number=5&many=[1]"
    read = read_parameters(Odd, parse_fields(raw, FORM, ("action",)), raw, FORM)
    assert read == Odd(Colour.RED, "5", 5, (1,))


@pytest.mark.parametrize("text", ["1e1", "5.0", "0x5", " 5", "5 ", "+5", "٥"])
def test_a_number_in_a_form_is_its_digits(text: str) -> None:
    with pytest.raises(InvalidField):
        from_form(startAt="now", limit=text)


def test_absent_parameters_have_their_defaults() -> None:
    expected = Parameters("now")
    assert from_json({"startAt": "now", "limit": None, "kind": None, "items": None}) == expected
    assert from_form(startAt="now", limit="", items="") == expected


@pytest.mark.parametrize("body", [{}, {"startAt": None}, {"startAt": ""}])
def test_a_required_parameter_must_be_present(body: dict[str, Any]) -> None:
    with pytest.raises(MissingField) as error:
        from_json(body)
    assert error.value.field == "startAt"


def rejection(error: ApiError) -> tuple[type[ApiError], str | None]:
    return type(error), error.field


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("startAt", 5),
        ("startAt", ["now"]),
        ("limit", 0),
        ("limit", 11),
        ("limit", "7"),
        ("limit", ""),
        ("limit", 10**30),
        ("limit", 1.5),
        ("limit", True),
        ("kind", "snapshot"),
        ("dry", "true"),
        ("items", {}),
        ("items", [{"count": 1}]),
        ("items", [{"flavor": "1", "count": 0}]),
    ],
)
def test_wrong_json_values_are_rejected_by_name(name: str, value: Any) -> None:
    with pytest.raises(InvalidField) as error:
        from_json({"startAt": "now", name: value})
    assert rejection(error.value) == (InvalidField, name)
    assert error.value.message("zh").startswith(f"字段“{name}")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("limit", "x"),
        ("limit", "11"),
        ("limit", "9" * 5000),
        ("kind", "snapshot"),
        ("dry", "perhaps"),
        ("items", "1"),
        ("items", "[{"),
        ("items", "[" * 5000),
        ("items", '[{"flavor": "1", "count": 0}]'),
    ],
)
def test_wrong_form_values_are_rejected_by_name(name: str, text: str) -> None:
    with pytest.raises(InvalidField) as error:
        from_form(**{"startAt": "now", name: text})
    assert error.value.field == name


@pytest.mark.parametrize("value", [r'"\ud800"', '"\\x"'])
def test_text_that_is_not_unicode_is_malformed(value: str) -> None:
    with pytest.raises(MalformedBody):
        from_json(f'{{"startAt":{value}}}')


def test_nested_too_deeply_is_rejected() -> None:
    with pytest.raises(ApiError):
        from_json('{"startAt":"now","items":' + "[" * 5000 + "]" * 5000 + "}")
