"""Parsing and normalising of hosts and origins."""

import ipaddress
from string import ascii_letters, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudconsole.core.origins import parse_host, parse_origin

LABELS = st.text(ascii_letters + digits, min_size=1, max_size=20)
NAMES = st.lists(LABELS, min_size=1, max_size=4).map(".".join)
PORTS = st.integers(1, 65_535)
SCHEMES = st.sampled_from(["http", "https"])
IPV6 = st.ip_addresses(v=6)


@given(NAMES, st.one_of(st.just(""), PORTS.map(lambda port: f":{port}")), st.sampled_from(["", "."]))
def test_host_is_lowercased_without_port_and_trailing_dot(name: str, port: str, dot: str) -> None:
    assert parse_host(f"{name}{dot}{port}") == name.lower()


@given(IPV6, st.one_of(st.just(""), PORTS.map(lambda port: f":{port}")))
def test_ipv6_host_is_compressed(address: ipaddress.IPv6Address, port: str) -> None:
    assert parse_host(f"[{address.exploded.upper()}]{port}") == address.compressed


@given(st.text(max_size=60))
def test_any_text_gives_a_plain_host_or_none(text: str) -> None:
    host = parse_host(text)
    assert host is None or (host.isascii() and host == host.lower() and not set(host) & set(" /@?#\\,[]"))


@given(st.text(max_size=60))
def test_parsing_a_host_is_idempotent(text: str) -> None:
    host = parse_host(text)
    if host is not None and ":" not in host:
        assert parse_host(host) == host


@pytest.mark.parametrize("port", ["65536", "99999", "100000", "-1", "+1", "1.5", "x", "\u0663", " 1"])
def test_invalid_port_is_rejected(port: str) -> None:
    assert parse_host(f"localhost:{port}") is None


@pytest.mark.parametrize("letter", ["\N{KELVIN SIGN}", "\N{LATIN SMALL LETTER LONG S}", "ü", "\u200b", "。"])
def test_non_ascii_host_is_rejected(letter: str) -> None:
    assert parse_host(f"a{letter}b.example") is None


@given(SCHEMES, NAMES, PORTS)
def test_origin_is_normalised(scheme: str, name: str, port: int) -> None:
    is_default = (scheme, port) in (("http", 80), ("https", 443))
    expected = f"{scheme}://{name.lower()}" + ("" if is_default else f":{port}")
    assert parse_origin(f"{scheme.upper()}://{name.upper()}:{port}") == expected
    assert parse_origin(expected) == expected


@given(st.text(max_size=60))
def test_parsing_an_origin_is_idempotent(text: str) -> None:
    origin = parse_origin(text)
    assert origin is None or origin.startswith(("http://", "https://"))
    assert origin is None or parse_origin(origin) == origin


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "localhost",
        "//localhost",
        "http://",
        "http:///",
        "ftp://localhost",
        "file://",
        "http://localhost/path",
        "http://localhost//",
        "http://localhost?",
        "http://localhost#",
        "http://user@localhost",
        "http://localhost:port",
        "http://localhost:65536",
        "http://local host",
        "http://localhost\t",
        "http://localhost, http://localhost",
        "http://localhost http://localhost",
        "http://[::1",
        "http://::1",
        "http://" + "a" * 2001,
    ],
)
def test_invalid_origin_is_rejected(text: str) -> None:
    assert parse_origin(text) is None
