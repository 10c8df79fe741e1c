"""Normalise a console's base URL for comparison.

For clients, so it accepts what users type, such as international host names. `core.origins` and
`core.identity_urls_and_projects` are stricter: by their results the server decides which hosts and identity endpoints
to trust.
"""

from ipaddress import IPv6Address
from typing import Final
from urllib.parse import urlsplit

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def normalise_base_url(text: str) -> str:
    """Return the canonical form of a console's URL, with the host lowercased and IDNA-encoded, or raise ValueError.

    The endpoint's URL, which ends in `/api/`, stands for the console's. Without the last slash it does not: a console
    may be mounted at `/api`, and the canonical form must not change when it is normalised again.
    """
    try:
        return _normalise(text)
    except ValueError:
        pass
    raise ValueError("invalid console URL: must be like https://console.example.com, without user, query or fragment")


def _normalise(text: str) -> str:
    parts = urlsplit(text)
    host, port = parts.hostname or "", parts.port
    has_extras = parts.username is not None or parts.password is not None or "?" in text or "#" in text
    # urlsplit removes line breaks and tabs.
    if (
        parts.scheme not in _DEFAULT_PORTS
        or not host
        or port == 0
        or has_extras
        or not text.isprintable()
        or " " in text
    ):
        raise ValueError
    name = f"[{IPv6Address(host)}]" if ":" in host or "[" in parts.netloc else host.encode("idna").decode()
    port_suffix = "" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{name}{port_suffix}{parts.path.removesuffix('/api/').rstrip('/')}"
