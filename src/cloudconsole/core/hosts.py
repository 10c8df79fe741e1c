"""Parse/normalise hosts, origins, identity URLs, project refs."""

import re
from functools import lru_cache
from ipaddress import IPv6Address
from typing import Final
from urllib.parse import urlsplit

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_NAME: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*\.?")
_LONGEST: Final = 2000


@lru_cache(maxsize=1024)
def parse_host(host_header: str) -> str | None:
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
    host = parse_host(parts.netloc)
    if scheme not in _DEFAULT_PORTS or host is None:
        return None
    place = f"[{host}]" if ":" in host else host
    if port is not None and port != _DEFAULT_PORTS[scheme]:
        place += f":{port}"
    return scheme, place, parts.path


_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_EXAMPLE: Final = "https://identity.example.com/v3"


def normalise_project(text: str) -> str:
    """A project in the one form in which it is kept and compared; a ValueError says why it is none."""
    project_id, sign, address = text.partition("@")
    if not sign:
        raise ValueError(f"must be a project's id, an @ and the address of its identity service, such as {_EXAMPLE}")
    if not _ID.fullmatch(project_id):
        raise ValueError("must have 1 to 64 letters, digits, - or _ before the @: the project's id")
    region = _settled(address)
    if region is None:
        raise ValueError(f"must have the address of an identity service behind the @, such as {_EXAMPLE}")
    return f"{project_id}@{region}"


def _settled(address: str) -> str | None:
    """The address in one form, which stays as it is when it is read again, whatever it ended with."""
    region = normalise_region(address)
    return region if region is None or region == address else _settled(region)
