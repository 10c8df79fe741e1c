"""Hosts and client addresses: loopback, forwarded addresses, networks."""

import ipaddress
import re

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def is_loopback(host: str) -> bool:
    """Return whether a host, as `core.origins.parse_host` returns it, is always this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def connectable_address(host: str) -> str:
    """Return the host for clients on this machine to connect to."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"[{host}]" if ":" in host else host


def forwarded_address(entry: str) -> str | None:
    """Return the IP address in an `X-Forwarded-For` entry, with or without a port; None if it is invalid."""
    match = re.fullmatch(r"\[([^\]]+)\](?::[0-9]{1,5})?|([0-9.]+):[0-9]{1,5}", entry)
    address = _ip_address(match[1] or match[2] if match else entry)
    return None if address is None else str(address)


def throttle_address(text: str) -> str:
    """Return the key for counting failed logins: an IPv4 address, or a /64 network of IPv6.

    The network is written in full, so that all networks in a wider one have the same prefix.
    """
    address = _ip_address(text)
    if isinstance(address, ipaddress.IPv6Address):
        return f"{address.exploded[:19]}::/64"
    return text if address is None else str(address)


def is_in_networks(text: str, networks: tuple[Network, ...]) -> bool:
    """Return whether an address is in one of the networks."""
    address = _ip_address(text)
    return address is not None and any(address in network for network in networks)


def _ip_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parse an address without its zone; convert an IPv4-mapped IPv6 address to IPv4."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, ipaddress.IPv6Address) else address
