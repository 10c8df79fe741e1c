"""Cookie jar of one console, following RFC 6265; cookies are sent to this console only."""

import time
from collections.abc import Iterable
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from threading import Lock
from typing import Final
from urllib.parse import urlsplit

from cloudconsole.client.session import SavedCookie
from cloudconsole.spec.constants import CSRF_COOKIE

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
        pair, *attributes = line.split(";")
        name, is_pair, value = (part.strip() for part in pair.partition("="))
        given = {key.strip().lower(): value.strip() for key, _, value in (each.partition("=") for each in attributes)}
        domain = given.get("domain", "").lstrip(".").lower()
        is_for_host = not domain or domain == self._host or self._host.endswith(f".{domain}")
        if not (
            name and is_pair and is_for_host and len(line) <= MAX_LINE_LENGTH and pair.isascii() and pair.isprintable()
        ):
            return None
        path = given.get("path", "")
        return SavedCookie(
            name=name,
            value=value,
            # A browser would restrict it to the request's directory, which a server that omits Path does not intend.
            path=path if path.startswith("/") else "/",
            secure="secure" in given,
            expires=_expiry(given),
        )


def csrf_token(cookies: Iterable[SavedCookie]) -> str | None:
    return next((cookie.value for cookie in cookies if cookie.name == CSRF_COOKIE and cookie.value), None)


def _expiry(given: dict[str, str]) -> float | None:
    age = given.get("max-age", "")
    if age.removeprefix("-").isdecimal() and age.isascii() and len(age) < 12:
        return time.time() + int(age)
    try:
        return parsedate_to_datetime(given["expires"]).timestamp() if "expires" in given else None
    except (ValueError, OverflowError):
        return None


def _path_matches(path: str, cookie_path: str) -> bool:
    return path == cookie_path or path.startswith(cookie_path if cookie_path.endswith("/") else f"{cookie_path}/")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
