"""Who calls which console."""

from collections.abc import Callable
from dataclasses import dataclass, field

import httpx2

from cloudconsole.client.session import Session

Password = str | Callable[[], str]
"""Itself, or what gives it when a login needs it: a prompt, or a reader of some vault."""


@dataclass(frozen=True, slots=True)
class Identity:
    base_url: str
    region: str | None
    username: str | None
    password: Password | None = field(repr=False)


def make_identity(
    base_url: str, region: str | None, username: str | None, password: Password | None, session: Session | None
) -> Identity:
    address = clean_address(base_url)
    for name, text in (("region", region), ("username", username), ("password", password)):
        if isinstance(text, str) and not is_sendable(text):
            raise ValueError(f"the {name} has characters that cannot be sent")
    if session is None:
        return Identity(address, region, username, password)
    given = (address, region or session.region, username or session.username)
    if given != (session.base_url, session.region, session.username):
        raise ValueError("the session is of another console, region or user: leave it out, and log in")
    return Identity(*given, password)


def is_sendable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def clean_address(base_url: str) -> str:
    """The address of a console as it is compared: its host in lower case, no usual port, no last slash."""
    try:
        address = httpx2.URL(base_url)
        address.host.encode("idna")
    except (httpx2.InvalidURL, UnicodeError, ValueError):
        raise ValueError("this is no address") from None
    if address.scheme not in ("http", "https") or not address.host or base_url != base_url.strip():
        raise ValueError("a console's address looks like https://console.example.com")
    if address.userinfo or address.query or address.fragment or "?" in base_url or "#" in base_url:
        raise ValueError("a console's address has no user, query or fragment")
    if address.port is not None and not 0 < address.port <= 65535:
        raise ValueError("a console's address has a port from 1 to 65535, or none")
    return str(address).rstrip("/")
