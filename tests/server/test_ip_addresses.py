"""Loopback hosts, client addresses and trusted networks."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudconsole.server.ip_addresses import forwarded_address, is_in_networks, is_loopback, throttle_address

PORTS = st.integers(1, 65_535)
IPV4 = st.ip_addresses(v=4)
IPV6 = st.ip_addresses(v=6)
UNMAPPED_IPV6 = st.integers(2**96, 2**128 - 1).map(ipaddress.IPv6Address)


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        (("localhost", "a.localhost", "a.b.localhost", "127.0.0.1", "127.255.255.254", "::1"), True),
        (("", "localhost.example", "mylocalhost", "128.0.0.1", "0.0.0.0", "::", "::2", "127.0.0.1.example"), False),
    ],
)
def test_loopback_hosts_are_recognised(hosts: tuple[str, ...], expected: bool) -> None:
    assert {host: is_loopback(host) for host in hosts} == dict.fromkeys(hosts, expected)


@given(IPV4)
def test_a_mapped_address_is_the_ipv4_address(address: ipaddress.IPv4Address) -> None:
    mapped = f"::ffff:{address}"
    assert throttle_address(mapped) == throttle_address(str(address)) == str(address)
    assert forwarded_address(mapped) == str(address)


@given(UNMAPPED_IPV6, st.integers(0, 2**64 - 1))
def test_failures_are_counted_by_the_ipv6_network(address: ipaddress.IPv6Address, host_part: int) -> None:
    neighbour = ipaddress.IPv6Address(int(address) >> 64 << 64 | host_part)
    assert throttle_address(str(address)) == throttle_address(neighbour.exploded)


@given(IPV6, IPV6)
def test_different_networks_are_counted_separately(first: ipaddress.IPv6Address, second: ipaddress.IPv6Address) -> None:
    if int(first) >> 64 != int(second) >> 64:
        assert throttle_address(str(first)) != throttle_address(str(second))


@pytest.mark.parametrize(
    ("address", "counted"),
    [*((text, text) for text in ("", "unix:", "testclient")), ("fe80::1%eth0", "fe80:0000:0000:0000::/64")],
)
def test_invalid_address_is_counted_by_its_text_and_any_other_without_its_zone(address: str, counted: str) -> None:
    assert throttle_address(address) == counted


@given(st.one_of(IPV4, UNMAPPED_IPV6), PORTS)
def test_a_forwarded_address_may_have_a_port(address: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int) -> None:
    bracketed = f"[{address}]" if address.version == 6 else str(address)
    assert forwarded_address(str(address)) == str(address)
    assert forwarded_address(f"{bracketed}:{port}") == str(address)


@given(st.text(max_size=40))
def test_a_forwarded_address_is_an_address_or_none(text: str) -> None:
    address = forwarded_address(text)
    assert address is None or str(ipaddress.ip_address(address)) == address


@pytest.mark.parametrize("text", ["", " ", "unknown", "_", "1.2.3", "1.2.3.4.5", "1.2.3.4:", "1.2.3.4:x", "[]", "[::1"])
def test_invalid_forwarded_address_is_ignored(text: str) -> None:
    assert forwarded_address(text) is None


NETWORKS = (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("2001:db8::/32"))


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        (("10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3", "2001:db8::", "2001:DB8:ffff::1", "2001:db8::1%eth0"), True),
        (("9.255.255.255", "11.0.0.0", "::ffff:11.0.0.1", "::10.0.0.1", "2001:db9::", "", "name", "10/8"), False),
    ],
)
def test_addresses_are_looked_up_in_networks(addresses: tuple[str, ...], expected: bool) -> None:
    assert {address: is_in_networks(address, NETWORKS) for address in addresses} == dict.fromkeys(addresses, expected)
    assert not any(is_in_networks(address, ()) for address in addresses)
