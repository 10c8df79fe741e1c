"""Who calls which console."""

from collections.abc import Callable
from dataclasses import dataclass, field

from cloudconsole.client.session import Session
from cloudconsole.spec.constants import is_sendable
from cloudconsole.spec.urls import clean_address

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
