"""Host names, origins and identity addresses: read from text, brought to one form, so that they can be compared."""

import re
from functools import lru_cache
from ipaddress import IPv6Address
from typing import Final
from urllib.parse import urlsplit

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
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
            return IPv6Address(host[1:-1]).compressed
        except ValueError:
            return None
    return host.removesuffix(".") if len(host) <= 253 and _NAME.fullmatch(host) else None


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
    if scheme not in _DEFAULT_PORTS or host is None:
        return None
    place = f"[{host}]" if ":" in host else host
    if port is not None and port != _DEFAULT_PORTS[scheme]:
        place += f":{port}"
    return scheme, place, parts.path
