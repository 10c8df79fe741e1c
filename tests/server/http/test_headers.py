"""Heads: what headers alone can tell; the same headers on one connection are worked out once."""

import pytest

from cloudconsole.server.http.request import HeaderPairs, Headers, HeadersCache

TOKEN = "f" * 64
SESSION = "s" + "0" * 48


def _pairs(**headers: str) -> HeaderPairs:
    return [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]


def test_the_same_headers_are_worked_out_once() -> None:
    last = HeadersCache()
    assert last.read(_pairs(host="a", cookie="x=1")) is last.read(_pairs(host="a", cookie="x=1"))


@pytest.mark.parametrize(
    "other",
    [
        _pairs(host="a", cookie="x=2"),
        _pairs(host="a"),
        _pairs(cookie="x=1", host="a"),
        _pairs(host="a", cookie="x=1", accept="*/*"),
        [*_pairs(host="a", cookie="x=1"), (b"cookie", b"x=1")],
    ],
)
def test_other_headers_are_another_head(other: HeaderPairs) -> None:
    last = HeadersCache()
    first = last.read(_pairs(host="a", cookie="x=1"))
    assert last.read(other) is not first
    assert last.read(other).header(b"cookie") == Headers(other).header(b"cookie")


def test_before_the_first_there_is_an_empty_one() -> None:
    assert HeadersCache().read([]).host is None


def test_repeated_headers_are_joined() -> None:
    head = Headers([(b"cookie", b"a=1"), (b"host", b"x"), (b"cookie", b"b=2"), (b"host", b"y")])
    assert (head.header(b"cookie"), head.host) == ("a=1; b=2", "x, y")


@pytest.mark.parametrize("cookies", ["", "csrftoken=", f"csrftoken={TOKEN[1:]}", f"other={TOKEN}"])
def test_a_token_without_its_cookie_has_none(cookies: str) -> None:
    assert not Headers(_pairs(x_csrftoken=TOKEN, cookie=cookies)).has_csrf_cookie


@pytest.mark.parametrize("cookies", [f"csrftoken={TOKEN}", f"csrftoken=abc; csrftoken={TOKEN}"])
def test_a_token_has_its_cookie_among_several(cookies: str) -> None:
    assert Headers(_pairs(x_csrftoken=TOKEN, cookie=cookies)).has_csrf_cookie


def test_no_token_has_no_cookie_either() -> None:
    assert not Headers(_pairs(cookie=f"csrftoken={TOKEN}")).has_csrf_cookie


@pytest.mark.parametrize("value", ["s" + "0" * 47, "s" + "0" * 49, "S" + "0" * 48, "a" + "0" * 48, "s" + "G" * 48])
def test_what_is_no_session_id_is_never_looked_up(value: str) -> None:
    assert (
        Headers(_pairs(cookie=f"sessionid={value}; sessionid={SESSION}")).sessions
        == Headers(_pairs(cookie=f"sessionid={SESSION}")).sessions
    )


def test_a_length_that_is_no_number_counts_for_nothing() -> None:
    assert Headers(_pairs(content_length="+1")).content_length == 0


@pytest.mark.parametrize(("sent", "length"), [("0" * 5000 + "2", 2), ("0", 0), ("9" * 5000, 999_999_999_999_999_999)])
def test_a_length_of_thousands_of_digits_is_read(sent: str, length: int) -> None:
    assert Headers(_pairs(content_length=sent)).content_length == length
