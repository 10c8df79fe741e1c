"""Sessions that can be saved and resumed, and the credentials that open them."""

from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec import Struct

from cloudconsole.spec.console_url import normalise_base_url
from cloudconsole.spec.text_escaping import is_utf8_encodable


class SavedCookie(Struct, frozen=True, kw_only=True):
    """A cookie of a session."""

    name: str
    value: str
    path: str = "/"
    secure: bool = False
    expires: float | None = None
    """Seconds since the epoch; None for a session cookie."""

    def __repr__(self) -> str:
        return f"SavedCookie(name={self.name!r}, value=...)"


class Session(Struct, frozen=True, kw_only=True):
    """A resumable session. It grants access to the account: protect it like a password."""

    base_url: str
    username: str
    region: str | None
    """None if none was given because the console offers exactly one."""
    project: str | None = None
    """The project that was given at login."""
    cookies: tuple[SavedCookie, ...]


Password = str | Callable[[], str]
"""A password, or a function that returns it when a login needs it."""


@dataclass(frozen=True, slots=True)
class Credentials:
    base_url: str
    region: str | None
    project: str | None
    username: str | None
    password: Password | None = field(repr=False)


def make_credentials(
    base_url: str,
    region: str | None,
    project: str | None,
    username: str | None,
    password: Password | None,
    session: Session | None,
) -> Credentials:
    url = normalise_base_url(base_url)
    for name, text in (("region", region), ("project", project), ("username", username), ("password", password)):
        if isinstance(text, str) and not is_utf8_encodable(text):
            raise ValueError(f"the {name} cannot be encoded as UTF-8")
    if session is None:
        return Credentials(url, region, project, username, password)
    given = (url, region or session.region, project or session.project, username or session.username)
    if given != (session.base_url, session.region, session.project, session.username):
        raise ValueError("the session belongs to another console, region, project or user: omit it and log in")
    return Credentials(*given, password)
