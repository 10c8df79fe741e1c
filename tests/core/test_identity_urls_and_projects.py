"""Parsing and normalising of hosts, origins and identity URLs."""

import ipaddress
from string import ascii_letters, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudconsole.core.identity_urls_and_projects import normalise_region
from cloudconsole.core.origins import parse_host, parse_origin

LABELS = st.text(ascii_letters + digits, min_size=1, max_size=20)
NAMES = st.lists(LABELS, min_size=1, max_size=4).map(".".join)
PORTS = st.integers(1, 65_535)
SCHEMES = st.sampled_from(["http", "https"])
PATHS = st.lists(st.text(ascii_letters + digits + "-._~", min_size=1, max_size=8), max_size=3).map(
    lambda parts: "".join(f"/{part}" for part in parts)
)
IPV4 = st.ip_addresses(v=4)
IPV6 = st.ip_addresses(v=6)


# Hosts.


@given(NAMES, st.one_of(st.just(""), PORTS.map(lambda port: f":{port}")), st.sampled_from(["", "."]))
def test_host_is_lowercased_without_port_and_trailing_dot(name: str, port: str, dot: str) -> None:
    assert parse_host(f"{name}{dot}{port}") == name.lower()


@given(IPV6, st.one_of(st.just(""), PORTS.map(lambda port: f":{port}")))
def test_ipv6_host_is_compressed(address: ipaddress.IPv6Address, port: str) -> None:
    assert parse_host(f"[{address.exploded.upper()}]{port}") == address.compressed


@given(IPV4)
def test_ipv4_host_is_unchanged(address: ipaddress.IPv4Address) -> None:
    assert parse_host(str(address)) == str(address)


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


# Origins.


@given(SCHEMES, NAMES, PORTS)
def test_origin_is_normalised(scheme: str, name: str, port: int) -> None:
    is_default = (scheme, port) in (("http", 80), ("https", 443))
    expected = f"{scheme}://{name.lower()}" + ("" if is_default else f":{port}")
    assert parse_origin(f"{scheme.upper()}://{name.upper()}:{port}") == expected
    assert parse_origin(expected) == expected


@given(SCHEMES, NAMES, NAMES)
def test_origins_of_different_hosts_are_different(scheme: str, first: str, second: str) -> None:
    assert (parse_origin(f"{scheme}://{first}") == parse_origin(f"{scheme}://{second}")) == (
        first.lower() == second.lower()
    )


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


# Identity URLs.


@given(SCHEMES, NAMES, PORTS, PATHS, st.sampled_from(["", "/"]), st.sampled_from(["", "/v3"]))
def test_identity_url_is_normalised(scheme: str, name: str, port: int, path: str, slash: str, version: str) -> None:
    normalised = normalise_region(f"{scheme}://{name.lower()}:{port}{path}/v3")
    assert normalised is not None
    assert normalised.endswith(path)
    variant = f"{scheme.upper()}://{name.swapcase()}:{port}{path}{version}{slash}"
    if not path.endswith("/v3"):
        assert normalise_region(variant) == normalised


@given(SCHEMES, NAMES, PATHS, PATHS)
def test_identity_urls_with_different_paths_differ(scheme: str, name: str, first: str, second: str) -> None:
    one, other = (normalise_region(f"{scheme}://{name}{path}/v3") for path in (first, second))
    assert (one == other) == (first == second)


@given(SCHEMES, NAMES, st.sampled_from("?#@\\ \t\r\n\x00\x7f"), st.integers(0, 40))
def test_identity_url_with_forbidden_character_is_rejected(
    scheme: str, name: str, character: str, position: int
) -> None:
    text = f"{scheme}://{name}:5000/identity/v3"
    assert normalise_region(text[:position] + character + text[position:]) is None


@given(st.text(max_size=100))
def test_normalising_never_raises(text: str) -> None:
    assert normalise_region(text) is None or "//" in text
