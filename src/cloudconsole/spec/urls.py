"""A console's address as people give it, in the one form in which addresses are compared."""

from ipaddress import IPv6Address
from typing import Final
from urllib.parse import urlsplit

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def normalise_base_url(text: str) -> str:
    """The address without what does not matter to it; a ValueError where it is none of a console.

    A host's name is in lower case, and written as the name service knows it: what only looks alike is told apart.
    """
    try:
        return _normalise(text)
    except ValueError:
        pass
    raise ValueError("a console's address looks like https://console.example.com, without user, query or fragment")


def _normalise(text: str) -> str:
    parts = urlsplit(text)
    host, port = parts.hostname or "", parts.port
    has_more = parts.username is not None or parts.password is not None or "?" in text or "#" in text
    # urlsplit passes over line breaks and tabs.
    if parts.scheme not in _DEFAULT_PORTS or not host or port == 0 or has_more or not text.isprintable() or " " in text:
        raise ValueError
    name = f"[{IPv6Address(host)}]" if ":" in host or "[" in parts.netloc else host.encode("idna").decode()
    place = "" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{name}{place}{parts.path.rstrip('/')}"
