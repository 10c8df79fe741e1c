"""Request headers: parsing, and reuse of the parsed headers while a connection repeats them."""

import pytest

from cloudconsole.server.http.request import HeaderPairs, Headers, HeadersCache

SESSION = "s" + "0" * 48


def _pairs(**headers: str) -> HeaderPairs:
    return [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]


def test_identical_headers_are_parsed_once() -> None:
    cache = HeadersCache()
    assert cache.read(_pairs(host="a", cookie="x=1")) is cache.read(_pairs(host="a", cookie="x=1"))


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
def test_different_headers_are_parsed_again(other: HeaderPairs) -> None:
    cache = HeadersCache()
    first = cache.read(_pairs(host="a", cookie="x=1"))
    assert cache.read(other) is not first
    assert cache.read(other).header(b"cookie") == Headers(other).header(b"cookie")


def test_the_first_request_may_have_no_headers() -> None:
    assert HeadersCache().read([]).host is None


def test_repeated_headers_are_joined() -> None:
    headers = Headers([(b"cookie", b"a=1"), (b"host", b"x"), (b"cookie", b"b=2"), (b"host", b"y")])
    assert (headers.header(b"cookie"), headers.host) == ("a=1; b=2", "x, y")


@pytest.mark.parametrize("value", ["s" + "0" * 47, "s" + "0" * 49, "S" + "0" * 48, "a" + "0" * 48, "s" + "G" * 48])
def test_a_malformed_session_id_is_never_looked_up(value: str) -> None:
    assert (
        Headers(_pairs(cookie=f"sessionid={value}; sessionid={SESSION}")).sessions
        == Headers(_pairs(cookie=f"sessionid={SESSION}")).sessions
    )


def test_an_invalid_content_length_counts_as_zero() -> None:
    assert Headers(_pairs(content_length="+1")).content_length == 0


@pytest.mark.parametrize(("sent", "length"), [("0" * 5000 + "2", 2), ("0", 0), ("9" * 5000, 999_999_999_999_999_999)])
def test_a_content_length_of_thousands_of_digits_is_parsed(sent: str, length: int) -> None:
    assert Headers(_pairs(content_length=sent)).content_length == length
