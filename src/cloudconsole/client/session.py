"""A session that can be kept and taken up again: who it is of, and the cookies that are it."""

from msgspec import Struct


class KeptCookie(Struct, frozen=True, kw_only=True):
    name: str
    value: str
    path: str = "/"
    secure: bool = False
    expires: float | None = None
    """Seconds since the epoch; None where it lasts as long as the session."""

    def __repr__(self) -> str:
        return f"KeptCookie(name={self.name!r}, value=...)"


class Session(Struct, frozen=True, kw_only=True):
    """Whoever has it is logged in: keep it as you would a password."""

    base_url: str
    username: str
    region: str | None
    """None where none was given: the console offered exactly one."""
    cookies: tuple[KeptCookie, ...]
