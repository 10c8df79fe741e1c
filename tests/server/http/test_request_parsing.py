"""Parsing of requests as pure functions: headers and their reuse, cookies among arbitrary others, and bodies."""

import re
from typing import Final
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudconsole.operator.entities import ENTITY_TYPES
from cloudconsole.server.admin_ui.fields import create_fields
from cloudconsole.server.http.body import MAX_FORM_FIELDS, MAX_PERCENT_SIGNS, MAX_UNESCAPED, parse_form, parse_json
from cloudconsole.server.http.cookies import read_cookies
from cloudconsole.server.http.request import HeaderPairs, Headers
from cloudconsole.spec.errors import MalformedBody

# Headers.

SESSION: Final = "s" + "0" * 48


def _pairs(**headers: str) -> HeaderPairs:
    return [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]


def test_repeated_headers_are_joined() -> None:
    headers = Headers([(b"cookie", b"a=1"), (b"host", b"x"), (b"cookie", b"b=2"), (b"host", b"y")])
    assert (headers.header(b"cookie"), headers.host) == ("a=1; b=2", "x, y")


@pytest.mark.parametrize("value", ["s" + "0" * 47, "s" + "0" * 49, "S" + "0" * 48, "a" + "0" * 48, "s" + "G" * 48])
def test_a_malformed_session_id_is_never_looked_up(value: str) -> None:
    both, valid = (f"sessionid={value}; sessionid={SESSION}", f"sessionid={SESSION}")
    assert Headers(_pairs(cookie=both)).sessions == Headers(_pairs(cookie=valid)).sessions


@pytest.mark.parametrize(
    ("sent", "length"), [("+1", 0), ("0", 0), ("0" * 5000 + "2", 2), ("9" * 5000, 999_999_999_999_999_999)]
)
def test_content_length_may_be_invalid_or_have_thousands_of_digits(sent: str, length: int) -> None:
    assert Headers(_pairs(content_length=sent)).content_length == length


# Cookies.

FOREIGN_COOKIES: Final = [
    *("a[b]=1", '$Version="1"; $Path="/"; $Domain=x', 'json={"a":[1,2;3]}', "a=b=c==", "x=" + "y" * 30_000),
    *("=", "=value", "name", "", "; ; =; ==;"),
    *("sessionid", "csrftoken=", 'sessionid=""', 'sessionid="', 'sessionid="abc', "sessionid=abc\t!"),
    *("Sessionid=x; CSRFTOKEN=y", "sessionid =; csrftoken\t="),
    *("städte=köln; bytes=\xff\xfe\x80", "sessionid=\xe9\xe9; csrftoken=\xa0"),
    "; ".join(f"sessionid=\xe9{number}" for number in range(100)),
]


@pytest.mark.parametrize("foreign", FOREIGN_COOKIES, ids=lambda text: text[:20])
@pytest.mark.parametrize("ours", ['sessionid=abc; csrftoken="def"', "csrftoken = def ;\tsessionid = abc"])
def test_foreign_cookies_do_not_hide_ours(foreign: str, ours: str) -> None:
    assert read_cookies(f"{foreign};{ours}") == read_cookies(f"{ours} ; {foreign}") == (["abc"], ["def"])


@given(st.lists(st.text(st.characters(max_codepoint=255), max_size=60), max_size=12).map(";".join))
def test_any_cookie_header_yields_only_alphanumeric_values(header: str) -> None:
    for values in read_cookies(header):
        assert len(values) <= 4
        assert all(re.fullmatch(r"[A-Za-z0-9]+", value) for value in values)


FOREIGN_PAIRS = st.text(st.characters(max_codepoint=255, exclude_characters=";"), max_size=30).filter(
    lambda pair: not pair.strip().startswith(("sessionid", "csrftoken"))
)


@given(st.lists(FOREIGN_PAIRS, max_size=5), st.lists(FOREIGN_PAIRS, max_size=5))
def test_a_cookie_is_found_among_arbitrary_others(before: list[str], after: list[str]) -> None:
    assert read_cookies(";".join([*before, " sessionid=abc123", *after])) == (["abc123"], [])


def test_cookies_after_the_first_2048_are_ignored() -> None:
    assert read_cookies("a=b;" * 2047 + "sessionid=abc123").sessions == ["abc123"]
    assert read_cookies("a=b;" * 2048 + "sessionid=abc123").sessions == []


# Forms: the same results as the standard parser, with bounded work.

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
    assert form("&" * MAX_FORM_FIELDS) is None


ESCAPES: Final = "%41" * (MAX_PERCENT_SIGNS - 1)
SIGNS: Final = "=" * (MAX_FORM_FIELDS + MAX_UNESCAPED)


@pytest.mark.parametrize(
    ("value", "parsed"),
    [
        ("%41" + "%" * MAX_UNESCAPED, "A" + "%" * MAX_UNESCAPED),
        ("%41" + "%" * (MAX_UNESCAPED + 1), None),
        (f"{ESCAPES}%", "A" * (MAX_PERCENT_SIGNS - 1) + "%"),
        (f"{ESCAPES}%41%", None),
        (f"{ESCAPES}%41%41", "A" * (MAX_PERCENT_SIGNS + 1)),
        (f"{SIGNS[1:]}%41", SIGNS[1:] + "A"),
        (f"{SIGNS}%41", None),
        (f"{SIGNS}A", SIGNS + "A"),
    ],
    ids=lambda value: value and f"{value[-6:]} of {len(value)}",
)
def test_only_a_few_signs_may_be_unescaped_beside_escapes(value: str, parsed: str | None) -> None:
    assert form(f"name={value}") == (None if parsed is None else {"name": parsed})


def test_the_largest_operator_form_is_accepted() -> None:
    # Each control may have a second one for "unlimited".
    counts = [2 * len(create_fields(entity_type)) for entity_type in ENTITY_TYPES]
    common = ["csrfmiddlewaretoken", "key", "seen", "fresh", "force", "preview"]
    assert max(counts) + len(common) <= MAX_FORM_FIELDS


# JSON.


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
