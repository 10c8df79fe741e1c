"""Parse and normalise hosts, origins, identity URLs and project references."""

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
    url = _split(text)
    if url is None or url[2] not in ("", "/"):
        return None
    return f"{url[0]}://{url[1]}"


def normalise_region(text: str) -> str | None:
    """Return the normalised identity URL, without a trailing slash and a final `/v3`; None if invalid."""
    url = _split(text)
    if url is None:
        return None
    scheme, netloc, path = url
    return f"{scheme}://{netloc}{path.removesuffix('/').removesuffix('/v3').removesuffix('/')}"


def _split(text: str) -> tuple[str, str, str] | None:
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


_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_EXAMPLE: Final = "https://identity.example.com/v3"


def normalise_project(text: str) -> str:
    """Return the canonical form of a project reference, or raise ValueError."""
    project_id, separator, url = text.partition("@")
    if not separator:
        raise ValueError(f"must be a project ID, an @ and the URL of its identity service, such as {_EXAMPLE}")
    if not _ID.fullmatch(project_id):
        raise ValueError("must have a project ID of 1 to 64 letters, digits, - or _ before the @")
    region = _normalise_fully(url)
    if region is None:
        raise ValueError(f"must have the URL of an identity service after the @, such as {_EXAMPLE}")
    return f"{project_id}@{region}"


def _normalise_fully(url: str) -> str | None:
    """Normalise repeatedly, so that the result does not change when it is read again."""
    region = normalise_region(url)
    return region if region is None or region == url else _normalise_fully(region)
