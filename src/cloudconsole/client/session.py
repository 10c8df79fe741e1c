"""Sessions that can be saved and resumed, and the credentials that open them."""

from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec import Struct

from cloudconsole.spec.constants import is_utf8_encodable
from cloudconsole.spec.urls import normalise_base_url


class SavedCookie(Struct, frozen=True, kw_only=True):
    name: str
    value: str
    path: str = "/"
    secure: bool = False
    expires: float | None = None
    """Seconds since the epoch; None where it lasts as long as the session."""

    def __repr__(self) -> str:
        return f"SavedCookie(name={self.name!r}, value=...)"


class Session(Struct, frozen=True, kw_only=True):
    """Whoever has it is logged in: keep it as you would a password."""

    base_url: str
    username: str
    region: str | None
    """None where none was given: the console offered exactly one."""
    cookies: tuple[SavedCookie, ...]


Password = str | Callable[[], str]
"""Itself, or what gives it when a login needs it: a prompt, or a reader of some vault."""


@dataclass(frozen=True, slots=True)
class Credentials:
    base_url: str
    region: str | None
    username: str | None
    password: Password | None = field(repr=False)


def make_credentials(
    base_url: str, region: str | None, username: str | None, password: Password | None, session: Session | None
) -> Credentials:
    address = normalise_base_url(base_url)
    for name, text in (("region", region), ("username", username), ("password", password)):
        if isinstance(text, str) and not is_utf8_encodable(text):
            raise ValueError(f"the {name} has characters that cannot be sent")
    if session is None:
        return Credentials(address, region, username, password)
    given = (address, region or session.region, username or session.username)
    if given != (session.base_url, session.region, session.username):
        raise ValueError("the session is of another console, region or user: leave it out, and log in")
    return Credentials(*given, password)
