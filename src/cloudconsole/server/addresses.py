"""Host names, origins, identity addresses and client addresses: read from text, brought to one form, compared."""

import ipaddress
import re
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_NAME: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*\.?")
_LONGEST: Final = 2000


@lru_cache(maxsize=1024)
def host_of(host_header: str) -> str | None:
    """The host of a Host header, in one form and without its port; None where it is not well-formed."""
    match = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::([0-9]{0,5}))?", host_header)
    if match is None or not host_header.isascii() or int(match[2] or 0) > 65535:
        return None
    host = match[1].lower()
    if host.startswith("["):
        try:
            return ipaddress.IPv6Address(host[1:-1]).compressed
        except ValueError:
            return None
    return host.removesuffix(".") if len(host) <= 253 and _NAME.fullmatch(host) else None


def is_loopback(host: str) -> bool:
    """Whether a host, as `host_of` gives it, can only mean this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def reachable(host: str) -> str:
    """A host that this machine's own callers can use."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"[{host}]" if ":" in host else host


def parse_origin(text: str) -> str | None:
    """An origin in one form: lower case, default port left out; None where it is anything else."""
    address = _split(text)
    if address is None or address[2] not in ("", "/"):
        return None
    return f"{address[0]}://{address[1]}"


def normalise_region(text: str) -> str | None:
    """An identity address in one form, without a trailing slash and a final `/v3`."""
    address = _split(text)
    if address is None:
        return None
    scheme, place, path = address
    return f"{scheme}://{place}{path.removesuffix('/').removesuffix('/v3').removesuffix('/')}"


def _split(text: str) -> tuple[str, str, str] | None:
    """Scheme, host with port, path; None with a user, query or fragment part, or where it is no http address."""
    if len(text) > _LONGEST or re.search(r"[\x00-\x20\x7f\\?#@]", text):
        return None
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    scheme = parts.scheme.lower()
    host = host_of(parts.netloc)
    if scheme not in DEFAULT_PORTS or host is None:
        return None
    place = f"[{host}]" if ":" in host else host
    if port is not None and port != DEFAULT_PORTS[scheme]:
        place += f":{port}"
    return scheme, place, parts.path


def forwarded_address(entry: str) -> str | None:
    """The IP address that an entry of a forwarded chain names, with or without a port; None where it names none."""
    match = re.fullmatch(r"\[([^\]]+)\](?::[0-9]{1,5})?|([0-9.]+):[0-9]{1,5}", entry)
    address = _ip_address(match[1] or match[2] if match else entry)
    return None if address is None else str(address)


def throttle_address(text: str) -> str:
    """What failed logins are counted by: an IPv4 address, or an IPv6 network of 64 bits."""
    address = _ip_address(text)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False))
    return text if address is None else str(address)


def is_one_of(text: str, networks: tuple[Network, ...]) -> bool:
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
