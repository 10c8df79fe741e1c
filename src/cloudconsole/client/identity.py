"""Who calls which console."""

from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

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
    if session is None:
        return Identity(address, region, username, password)
    given = (address, region or session.region, username or session.username)
    if given != (session.base_url, session.region, session.username):
        raise ValueError("the session is of another console, region or user: leave it out, and log in")
    return Identity(*given, password)


def clean_address(base_url: str) -> str:
    """The address of a console without its last slash."""
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("a console's address looks like https://console.example.com")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ValueError("a console's address has no user, query or fragment")
    if parts.port == 0:
        raise ValueError("a console's address has no port 0")
    return base_url.rstrip("/")
