"""Hosts and client addresses: what they mean to this machine and its settings."""

import ipaddress
import re

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def is_loopback(host: str) -> bool:
    """Whether a host, as `core.addresses.host_of` gives it, can only mean this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def connectable_address(host: str) -> str:
    """A host that this machine's own callers can use."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"[{host}]" if ":" in host else host


def forwarded_address(entry: str) -> str | None:
    """The IP address that an entry of a forwarded chain names, with or without a port; None where it names none."""
    match = re.fullmatch(r"\[([^\]]+)\](?::[0-9]{1,5})?|([0-9.]+):[0-9]{1,5}", entry)
    address = _ip_address(match[1] or match[2] if match else entry)
    return None if address is None else str(address)


def throttle_address(text: str) -> str:
    """What failed logins are counted by: an IPv4 address, or an IPv6 network of 64 bits.

    Every digit of the network is written, so that all networks in a wider one begin with the same text.
    """
    address = _ip_address(text)
    if isinstance(address, ipaddress.IPv6Address):
        return f"{address.exploded[:19]}::/64"
    return text if address is None else str(address)


def is_in_networks(text: str, networks: tuple[Network, ...]) -> bool:
    """Whether an address lies in one of the networks."""
    address = _ip_address(text)
    return address is not None and any(address in network for network in networks)


def _ip_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address without its zone; one of IPv4 that came as IPv6 is one of IPv4."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, ipaddress.IPv6Address) else address
