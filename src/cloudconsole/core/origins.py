"""Parse and normalise the host of a Host header, and origins."""

import re
from functools import lru_cache
from ipaddress import IPv6Address
from typing import Final
from urllib.parse import urlsplit

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_NAME: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*\.?")
_MAX_LENGTH: Final = 2000


@lru_cache(maxsize=1024)
def parse_host(host_header: str) -> str | None:
    """Return the normalised host of a Host header, without the port; None if malformed."""
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
    """Return the normalised origin, in lowercase without a default port; None if it is not an origin."""
    url = split_url(text)
    if url is None or url[2] not in ("", "/"):
        return None
    return f"{url[0]}://{url[1]}"


def split_url(text: str) -> tuple[str, str, str] | None:
    """Split into scheme, host with port, and path; None if it has a user, query or fragment, or is not an HTTP URL."""
    if len(text) > _MAX_LENGTH or re.search(r"[\x00-\x20\x7f\\?#@]", text):
        return None
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    scheme = parts.scheme.lower()
    host = parse_host(parts.netloc)
    if scheme not in _DEFAULT_PORTS or host is None:
        return None
    netloc = f"[{host}]" if ":" in host else host
    if port is not None and port != _DEFAULT_PORTS[scheme]:
        netloc += f":{port}"
    return scheme, netloc, parts.path
