"""Hosts, origins, identity addresses and client addresses: brought to one form, or refused."""

import ipaddress
from string import ascii_letters, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudconsole.server.addresses import (
    forwarded_address,
    host_of,
    is_loopback,
    is_one_of,
    normalise_region,
    parse_origin,
    throttle_address,
)

LABELS = st.text(ascii_letters + digits, min_size=1, max_size=20)
NAMES = st.lists(LABELS, min_size=1, max_size=4).map(".".join)
PORTS = st.integers(1, 65_535)
SCHEMES = st.sampled_from(["http", "https"])
PATHS = st.lists(st.text(ascii_letters + digits + "-._~", min_size=1, max_size=8), max_size=3).map(
    lambda parts: "".join(f"/{part}" for part in parts)
)
IPV4 = st.ip_addresses(v=4)
IPV6 = st.ip_addresses(v=6)
UNMAPPED_IPV6 = st.integers(2**96, 2**128 - 1).map(ipaddress.IPv6Address)


# Hosts.


@given(NAMES, st.one_of(st.just(""), PORTS.map(lambda port: f":{port}")), st.sampled_from(["", "."]))
def test_a_host_is_its_name_in_lower_case_without_port_and_final_dot(name: str, port: str, dot: str) -> None:
    assert host_of(f"{name}{dot}{port}") == name.lower()


@given(IPV6, st.one_of(st.just(""), PORTS.map(lambda port: f":{port}")))
def test_an_ipv6_host_is_its_address_however_it_is_written(address: ipaddress.IPv6Address, port: str) -> None:
    assert host_of(f"[{address.exploded.upper()}]{port}") == address.compressed


@given(IPV4)
def test_an_ipv4_host_is_its_address(address: ipaddress.IPv4Address) -> None:
    assert host_of(str(address)) == str(address)


@given(st.text(max_size=60))
def test_no_text_breaks_it_and_what_it_gives_is_plain(text: str) -> None:
    host = host_of(text)
    assert host is None or (host.isascii() and host == host.lower() and not set(host) & set(" /@?#\\,[]"))


@given(st.text(max_size=60))
def test_the_host_of_a_host_is_itself(text: str) -> None:
    host = host_of(text)
    if host is not None and ":" not in host:
        assert host_of(host) == host


@pytest.mark.parametrize("port", ["65536", "99999", "100000", "-1", "+1", "1.5", "x", "\u0663", " 1"])
def test_a_port_that_is_none_makes_the_host_none(port: str) -> None:
    assert host_of(f"localhost:{port}") is None


@pytest.mark.parametrize("letter", ["\N{KELVIN SIGN}", "\N{LATIN SMALL LETTER LONG S}", "ü", "\u200b", "。"])
def test_a_name_beyond_ascii_is_none(letter: str) -> None:
    assert host_of(f"a{letter}b.example") is None


@pytest.mark.parametrize("host", ["localhost", "a.localhost", "a.b.localhost", "127.0.0.1", "127.255.255.254", "::1"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    ["", "localhost.example", "mylocalhost", "128.0.0.1", "0.0.0.0", "::", "::2", "10.0.0.1", "127.0.0.1.example"],
)
def test_not_loopback(host: str) -> None:
    assert not is_loopback(host)


# Origins.


@given(SCHEMES, NAMES, PORTS)
def test_an_origin_has_one_form(scheme: str, name: str, port: int) -> None:
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
def test_whatever_is_taken_for_an_origin_is_one(text: str) -> None:
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
def test_what_is_no_origin(text: str) -> None:
    assert parse_origin(text) is None


# Identity addresses.


@given(SCHEMES, NAMES, PORTS, PATHS, st.sampled_from(["", "/"]), st.sampled_from(["", "/v3"]))
def test_an_address_has_one_form(scheme: str, name: str, port: int, path: str, slash: str, version: str) -> None:
    plain = normalise_region(f"{scheme}://{name.lower()}:{port}{path}/v3")
    assert plain is not None
    assert plain.endswith(path)
    spelled = f"{scheme.upper()}://{name.swapcase()}:{port}{path}{version}{slash}"
    if not path.endswith("/v3"):
        assert normalise_region(spelled) == plain


@given(SCHEMES, NAMES, PATHS, PATHS)
def test_the_case_of_a_path_counts(scheme: str, name: str, first: str, second: str) -> None:
    one, other = (normalise_region(f"{scheme}://{name}{path}/v3") for path in (first, second))
    assert (one == other) == (first == second)


@given(SCHEMES, NAMES, st.sampled_from("?#@\\ \t\r\n\x00\x7f"), st.integers(0, 40))
def test_an_address_with_a_part_that_has_no_place_in_it_is_none(
    scheme: str, name: str, character: str, position: int
) -> None:
    text = f"{scheme}://{name}:5000/identity/v3"
    assert normalise_region(text[:position] + character + text[position:]) is None


@given(st.text(max_size=100))
def test_no_text_breaks_the_normalising(text: str) -> None:
    assert normalise_region(text) is None or "//" in text


# Client addresses.


@given(IPV4)
def test_failures_are_counted_by_the_ipv4_address(address: ipaddress.IPv4Address) -> None:
    assert throttle_address(str(address)) == str(address)


@given(IPV4)
def test_a_mapped_address_is_the_ipv4_address(address: ipaddress.IPv4Address) -> None:
    mapped = f"::ffff:{address}"
    assert throttle_address(mapped) == str(address)
    assert forwarded_address(mapped) == str(address)


@given(UNMAPPED_IPV6, st.integers(0, 2**64 - 1))
def test_failures_are_counted_by_the_ipv6_network(address: ipaddress.IPv6Address, host_part: int) -> None:
    neighbour = ipaddress.IPv6Address(int(address) >> 64 << 64 | host_part)
    assert throttle_address(str(address)) == throttle_address(neighbour.exploded)


@given(IPV6, IPV6)
def test_different_networks_are_counted_apart(first: ipaddress.IPv6Address, second: ipaddress.IPv6Address) -> None:
    if int(first) >> 64 != int(second) >> 64:
        assert throttle_address(str(first)) != throttle_address(str(second))


@pytest.mark.parametrize("address", ["", "unix:", "testclient"])
def test_what_is_no_address_is_counted_by_its_text(address: str) -> None:
    assert throttle_address(address) == address


def test_a_zone_does_not_tell_addresses_apart() -> None:
    assert throttle_address("fe80::1%eth0") == throttle_address("fe80::1%eth1") == "fe80::/64"


@given(st.one_of(IPV4, UNMAPPED_IPV6), PORTS)
def test_a_forwarded_address_may_have_a_port(address: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int) -> None:
    bracketed = f"[{address}]" if address.version == 6 else str(address)
    assert forwarded_address(str(address)) == str(address)
    assert forwarded_address(f"{bracketed}:{port}") == str(address)


@given(st.text(max_size=40))
def test_a_forwarded_address_is_an_address_or_none(text: str) -> None:
    address = forwarded_address(text)
    assert address is None or str(ipaddress.ip_address(address)) == address


@pytest.mark.parametrize(
    "entry", ["", " ", "unknown", "_x", "1.2.3", "1.2.3.4.5", "1.2.3.4:", "1.2.3.4:x", "[]", "[::1"]
)
def test_what_is_no_forwarded_address(entry: str) -> None:
    assert forwarded_address(entry) is None


NETWORKS = (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("2001:db8::/32"))


@pytest.mark.parametrize(
    "address", ["10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3", "2001:db8::", "2001:DB8:ffff::1", "2001:db8::1%eth0"]
)
def test_an_address_in_one_of_the_networks(address: str) -> None:
    assert is_one_of(address, NETWORKS)


@pytest.mark.parametrize(
    "address",
    ["9.255.255.255", "11.0.0.0", "::ffff:11.0.0.1", "::10.0.0.1", "2001:db9::", "", "10.0.0", "name", "10/8"],
)
def test_an_address_in_none_of_them(address: str) -> None:
    assert not is_one_of(address, NETWORKS)


def test_nothing_is_in_no_network() -> None:
    assert not is_one_of("127.0.0.1", ())
