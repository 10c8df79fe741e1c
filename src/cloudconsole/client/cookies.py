"""The cookies of one console, which alone they go to, kept as a browser would (RFC 6265)."""

import time
from collections.abc import Iterable
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from threading import Lock
from typing import Final
from urllib.parse import urlsplit

from cloudconsole.client.session import SavedCookie
from cloudconsole.spec.constants import CSRF_COOKIE

MOST_COOKIES: Final = 50
LONGEST_LINE: Final = 4096


class CookieJar:
    """Callers may share it. Eras tell answers to what was sent before a login from those after it."""

    def __init__(self, base_url: str, kept: Iterable[SavedCookie] = ()) -> None:
        address = urlsplit(base_url)
        self._host = address.hostname or ""
        self._prefix = address.path
        self._may_send_secure = address.scheme == "https" or _is_this_machine(self._host)
        self._kept = tuple(kept)
        self._lock = Lock()
        self.era = 0

    def all(self) -> tuple[SavedCookie, ...]:
        return self._kept

    def sent_to(self, path: str) -> tuple[SavedCookie, ...]:
        """Those that go to a path of the console, the nearest path's first."""
        now, path = time.time(), self._prefix + path
        sent = [
            cookie
            for cookie in self._kept
            if _is_under(path, cookie.path)
            and (self._may_send_secure or not cookie.secure)
            and (cookie.expires is None or cookie.expires > now)
        ]
        return tuple(sorted(sent, key=lambda cookie: -len(cookie.path)))

    def take(self, lines: Iterable[str], era: int | None) -> None:
        """What an answer sets, unless it was asked for in another era."""
        found = [cookie for line in lines if (cookie := self._read(line)) is not None]
        with self._lock:
            if era != self.era:
                return
            kept = {(cookie.name, cookie.path): cookie for cookie in self._kept}
            for cookie in found:
                kept.pop((cookie.name, cookie.path), None)
                if cookie.expires is None or cookie.expires > time.time():
                    kept[cookie.name, cookie.path] = cookie
            self._kept = tuple(kept.values())[-MOST_COOKIES:]

    def begin_era(self, *, forget: bool = False) -> None:
        with self._lock:
            self.era += 1
            if forget:
                self._kept = ()

    def _read(self, line: str) -> SavedCookie | None:
        """A Set-Cookie line; None where it is not for us."""
        pair, *attributes = line.split(";")
        name, is_pair, value = (part.strip() for part in pair.partition("="))
        said = {key.strip().lower(): value.strip() for key, _, value in (each.partition("=") for each in attributes)}
        domain = said.get("domain", "").lstrip(".").lower()
        is_ours = not domain or domain == self._host or self._host.endswith(f".{domain}")
        if not (name and is_pair and is_ours and len(line) <= LONGEST_LINE and pair.isascii() and pair.isprintable()):
            return None
        path = said.get("path", "")
        return SavedCookie(
            name=name,
            value=value,
            # Without one, a browser would keep it from the other steps; whoever forgot it did not mean that.
            path=path if path.startswith("/") else "/",
            secure="secure" in said,
            expires=_end(said),
        )


def csrf_token(cookies: Iterable[SavedCookie]) -> str | None:
    return next((cookie.value for cookie in cookies if cookie.name == CSRF_COOKIE and cookie.value), None)


def _end(said: dict[str, str]) -> float | None:
    age = said.get("max-age", "")
    if age.removeprefix("-").isdecimal() and age.isascii() and len(age) < 12:
        return time.time() + int(age)
    try:
        return parsedate_to_datetime(said["expires"]).timestamp() if "expires" in said else None
    except (ValueError, OverflowError):
        return None


def _is_under(path: str, place: str) -> bool:
    return path == place or path.startswith(place if place.endswith("/") else f"{place}/")


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
