"""Cookie jar of one console, following RFC 6265; cookies are sent to this console only."""

import time
from collections.abc import Iterable
from ipaddress import ip_address
from threading import Lock
from typing import Final
from urllib.parse import urlsplit

from cloudconsole.client.session import SavedCookie
from cloudconsole.spec.set_cookie import CSRF_COOKIE, SetCookie, parse_set_cookie

MAX_COOKIES: Final = 50
MAX_LINE_LENGTH: Final = 4096


class CookieJar:
    """Thread-safe cookie jar. Eras separate responses to requests sent before a login from later ones."""

    def __init__(self, base_url: str, cookies: Iterable[SavedCookie] = ()) -> None:
        url = urlsplit(base_url)
        self._host = url.hostname or ""
        self._prefix = url.path
        self._may_send_secure = url.scheme == "https" or _is_loopback(self._host)
        self._cookies = tuple(cookies)
        self._lock = Lock()
        self.era = 0

    def all(self) -> tuple[SavedCookie, ...]:
        return self._cookies

    def sent_to(self, path: str) -> tuple[SavedCookie, ...]:
        """Return the cookies for a path of the console, longest cookie path first."""
        now, path = time.time(), self._prefix + path
        sent = [
            cookie
            for cookie in self._cookies
            if _path_matches(path, cookie.path)
            and (self._may_send_secure or not cookie.secure)
            and (cookie.expires is None or cookie.expires > now)
        ]
        return tuple(sorted(sent, key=lambda cookie: -len(cookie.path)))

    def take(self, lines: Iterable[str], era: int | None) -> None:
        """Store the cookies of a response, unless its request was sent in another era."""
        received = [cookie for line in lines if (cookie := self._read(line)) is not None]
        with self._lock:
            if era != self.era:
                return
            stored = {(cookie.name, cookie.path): cookie for cookie in self._cookies}
            for cookie in received:
                stored.pop((cookie.name, cookie.path), None)
                if cookie.expires is None or cookie.expires > time.time():
                    stored[cookie.name, cookie.path] = cookie
            self._cookies = tuple(stored.values())[-MAX_COOKIES:]

    def begin_era(self, *, forget: bool = False) -> None:
        with self._lock:
            self.era += 1
            if forget:
                self._cookies = ()

    def _read(self, line: str) -> SavedCookie | None:
        """Parse a Set-Cookie line; return None if it is invalid or for another host."""
        cookie = parse_set_cookie(line)
        domain = cookie.attributes.get("domain", "").lstrip(".").lower()
        is_for_host = not domain or domain == self._host or self._host.endswith(f".{domain}")
        is_sendable = all(text.isascii() and text.isprintable() for text in (cookie.name, cookie.value))
        if not (cookie.name and is_for_host and is_sendable and len(line) <= MAX_LINE_LENGTH):
            return None
        path = cookie.attributes.get("path", "")
        return SavedCookie(
            name=cookie.name,
            value=cookie.value,
            # A browser would restrict it to the request's directory, which a server that omits Path does not intend.
            path=path if path.startswith("/") else "/",
            secure="secure" in cookie.attributes,
            expires=_expiry(cookie),
        )


def csrf_token(cookies: Iterable[SavedCookie]) -> str | None:
    return next((cookie.value for cookie in cookies if cookie.name == CSRF_COOKIE and cookie.value), None)


def _expiry(cookie: SetCookie) -> float | None:
    if cookie.max_age is not None:
        return time.time() + cookie.max_age
    return None if cookie.expires is None else cookie.expires.timestamp()


def _path_matches(path: str, cookie_path: str) -> bool:
    return path == cookie_path or path.startswith(cookie_path if cookie_path.endswith("/") else f"{cookie_path}/")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
