"""Parsing and normalising of hosts, origins, identity URLs and project references."""

import ipaddress
import re
from string import ascii_letters, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudconsole.core.identity_urls_and_projects import normalise_project, normalise_region
from cloudconsole.core.origins import parse_host, parse_origin

LABELS = st.text(ascii_letters + digits, min_size=1, max_size=20)
NAMES = st.lists(LABELS, min_size=1, max_size=4).map(".".join)
PORTS = st.integers(1, 65_535)
OPTIONAL_PORTS = st.one_of(st.just(""), PORTS.map(lambda port: f":{port}"))
SCHEMES = st.sampled_from(["http", "https"])
PATHS = st.lists(st.text(ascii_letters + digits + "-._~", min_size=1, max_size=8), max_size=3).map(
    lambda parts: "".join(f"/{part}" for part in parts)
)


# Hosts and origins


@given(NAMES, OPTIONAL_PORTS, st.sampled_from(["", "."]))
def test_host_is_lowercased_without_port_and_trailing_dot(name: str, port: str, dot: str) -> None:
    assert parse_host(f"{name}{dot}{port}") == name.lower()


@given(st.ip_addresses(v=6), OPTIONAL_PORTS)
def test_ipv6_host_is_compressed(address: ipaddress.IPv6Address, port: str) -> None:
    assert parse_host(f"[{address.exploded.upper()}]{port}") == address.compressed


@given(st.text(max_size=60))
def test_any_text_gives_a_plain_host_or_none(text: str) -> None:
    host = parse_host(text)
    assert host is None or (host.isascii() and host == host.lower() and not set(host) & set(" /@?#\\,[]"))
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


@pytest.mark.parametrize("text", ["", "null", "localhost", "//localhost", "ftp://localhost", "file://"])
def test_text_that_is_not_an_http_url_is_no_origin(text: str) -> None:
    assert parse_origin(text) is None


@pytest.mark.parametrize("rest", ["/path", "//", "?", "#", ":port", ":65536", "\t", ", http://localhost"])
def test_origin_followed_by_anything_is_rejected(rest: str) -> None:
    assert parse_origin(f"http://localhost{rest}") is None


@pytest.mark.parametrize("host", ["", "/", "user@localhost", "local host", "[::1", "::1", "a" * 2001])
def test_origin_with_an_invalid_host_is_rejected(host: str) -> None:
    assert parse_origin(f"http://{host}") is None


# Projects and identity URLs


@pytest.mark.parametrize(
    ("text", "project"),
    [
        ("p@https://id.example.com", "p@https://id.example.com"),
        ("p@HTTPS://Id.Example.com:443/v3/", "p@https://id.example.com"),
        ("A_b-9@http://id.example.com:5000/Identity/v3", "A_b-9@http://id.example.com:5000/Identity"),
        ("p@https://[0:0::1]/v3/v3", "p@https://[::1]"),
        ("a" * 64 + "@https://id.example.com///", "a" * 64 + "@https://id.example.com"),
    ],
)
def test_project_is_normalised(text: str, project: str) -> None:
    assert normalise_project(text) == project


@given(st.text("ab/v3:.@ ", max_size=30))
def test_normalising_a_project_is_idempotent(rest: str) -> None:
    try:
        project = normalise_project(f"p@https://id.example.com{rest}")
    except ValueError:
        return
    assert normalise_project(project) == project


NO_PROJECT = "must be a project ID, an @ and the URL of its identity service, such as https://identity.example.com/v3"
NO_ID = "must have a project ID of 1 to 64 letters, digits, - or _ before the @"
NO_URL = "must have the URL of an identity service after the @, such as https://identity.example.com/v3"
INVALID_IDS = ["", "p!", "a b", "é", "a\n", "a" * 65]
LONG_URL = "https://id.example.com/" + "a" * 2000
INVALID_URLS = ["", "id.example.com", "ftp://id", "https://ann@id.example.com", "https://id/?a=b", LONG_URL]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, NO_PROJECT) for text in ("p", "")),
        *((f"{project_id}@https://id.example.com", NO_ID) for project_id in INVALID_IDS),
        *((f"p@{url}", NO_URL) for url in INVALID_URLS),
    ],
)
def test_invalid_project_is_rejected_with_a_message(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        normalise_project(text)


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
def test_identity_url_with_forbidden_character_is_rejected(scheme: str, name: str, forbidden: str, at: int) -> None:
    text = f"{scheme}://{name}:5000/identity/v3"
    assert normalise_region(text[:at] + forbidden + text[at:]) is None
