"""Body parsing: the same results as the standard parsers, with bounded work."""

from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudconsole.operator.entities import ENTITY_TYPES
from cloudconsole.server.admin_ui.fields import UNLIMITED_SUFFIX, create_fields
from cloudconsole.server.http.body import MAX_FORM_FIELDS, MAX_PERCENT_SIGNS, MAX_UNESCAPED, parse_form, parse_json
from cloudconsole.spec.errors import MalformedBody

PARTS = ["%", "%4", "%41", "%c3", "%A9", "%0a", "%3D", "%25", "=", "&", "+", "a", "4", "\r", "\n", "\0", "é", "云"]


def standard_form(body: str) -> dict[str, str] | None:
    try:
        return dict(parse_qsl(body, keep_blank_values=True, errors="strict"))
    except ValueError:
        return None


def form(body: str) -> dict[str, str] | None:
    try:
        return parse_form(body.encode())
    except MalformedBody:
        return None


@given(st.lists(st.sampled_from(PARTS), max_size=MAX_UNESCAPED).map("".join))
def test_a_form_is_parsed_as_urllib_parses_it(body: str) -> None:
    assert form(body) == standard_form(body)


def test_a_form_has_at_most_64_fields() -> None:
    assert len(parse_form(b"&".join(b"f%d=" % number for number in range(MAX_FORM_FIELDS)))) == MAX_FORM_FIELDS
    with pytest.raises(MalformedBody):
        parse_form(b"&" * MAX_FORM_FIELDS)


def test_only_a_few_unescaped_percent_signs_are_accepted() -> None:
    assert form("name=%41" + "%" * MAX_UNESCAPED) == {"name": "A" + "%" * MAX_UNESCAPED}
    assert form("name=%41" + "%" * (MAX_UNESCAPED + 1)) is None


def test_unescaped_percent_among_1000_escapes_is_malformed() -> None:
    escapes = "%41" * (MAX_PERCENT_SIGNS - 1)
    assert form(f"name={escapes}%") == {"name": "A" * (MAX_PERCENT_SIGNS - 1) + "%"}
    assert form(f"name={escapes}%41%") is None
    assert form(f"name={escapes}%41%41") == {"name": "A" * (MAX_PERCENT_SIGNS + 1)}


def test_too_many_equals_signs_with_escapes_are_malformed() -> None:
    signs = "=" * (MAX_FORM_FIELDS + MAX_UNESCAPED)
    assert form(f"name{signs}%41") == {"name": signs[1:] + "A"}
    assert form(f"name{signs}=%41") is None
    assert form(f"name{signs}=A") == {"name": signs + "A"}


def test_the_largest_operator_form_is_accepted() -> None:
    names = {
        entity_type: [
            name for control in create_fields(entity_type) for name in (control.name, control.name + UNLIMITED_SUFFIX)
        ]
        for entity_type in ENTITY_TYPES
    }
    common = ["csrfmiddlewaretoken", "key", "seen", "fresh", "force", "preview"]
    assert max(len(each) for each in names.values()) + len(common) <= MAX_FORM_FIELDS


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ('{"action":"a","other":[1.5,{}]}', {"action": "a"}),
        ('{"action":1,"action":"b"}', {"action": "b"}),
        ('{"\\u0061ction":null,"id":7}', {"action": None, "id": 7}),
        ('{"action":"%s"}' % ("x" * 1000), {"action": "x" * 1000}),
        ('{"action":[%s0]}' % ("1.5," * 1000), {"action": ()}),
        ('{"id":%s}' % ("9" * 5000), {"id": ()}),
        ("{}", {}),
    ],
    ids=lambda value: str(value)[:40],
)
def test_only_requested_fields_of_an_object_are_built(body: str, fields: dict[str, object]) -> None:
    assert parse_json(body.encode(), ("action", "id")) == fields
