"""A session that can be kept and taken up again: who it is of, and the cookies that are it."""

from collections.abc import Iterator
from http.cookiejar import Cookie, CookieJar
from threading import RLock

from msgspec import Struct

from cloudconsole.spec.wire import CSRF_COOKIE, SESSION_COOKIE


class KeptCookie(Struct, frozen=True, kw_only=True):
    name: str
    value: str
    domain: str
    path: str
    secure: bool
    expires: int | None = None

    def __repr__(self) -> str:
        return f"KeptCookie(name={self.name!r}, value=...)"


class Session(Struct, frozen=True, kw_only=True):
    """Whoever has it is logged in: keep it as you would a password."""

    base_url: str
    username: str
    region: str | None
    """None where none was given: the console offered exactly one."""
    cookies: tuple[KeptCookie, ...]


class SharedJar(CookieJar):
    """Callers may look through it while another logs in."""

    _cookies_lock: RLock

    def __iter__(self) -> Iterator[Cookie]:
        with self._cookies_lock:
            return iter(list(super().__iter__()))


def has_session(jar: CookieJar) -> bool:
    return any(cookie.name == SESSION_COOKIE for cookie in jar)


def csrf_token(jar: CookieJar) -> str | None:
    """The one that goes with the calls: of several that with the longest path, as a browser puts it first."""
    found = [cookie for cookie in jar if cookie.name == CSRF_COOKIE and cookie.value]
    return max(found, key=lambda cookie: len(cookie.path)).value if found else None


def kept_cookies(jar: CookieJar) -> tuple[KeptCookie, ...]:
    return tuple(
        KeptCookie(
            name=cookie.name,
            value=cookie.value or "",
            domain=cookie.domain,
            path=cookie.path,
            secure=cookie.secure,
            expires=cookie.expires,
        )
        for cookie in jar
    )


def put_back(jar: CookieJar, cookies: tuple[KeptCookie, ...]) -> None:
    for kept in cookies:
        jar.set_cookie(
            Cookie(
                version=0,
                name=kept.name,
                value=kept.value,
                port=None,
                port_specified=False,
                domain=kept.domain,
                domain_specified=kept.domain.startswith("."),
                domain_initial_dot=kept.domain.startswith("."),
                path=kept.path,
                path_specified=True,
                secure=kept.secure,
                expires=kept.expires,
                discard=kept.expires is None,
                comment=None,
                comment_url=None,
                rest={},
            )
        )
