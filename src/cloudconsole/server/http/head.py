"""The head of a request: all that its headers alone can tell, worked out once for callers that repeat themselves."""

import hmac
import re
from functools import cached_property
from typing import Final

from cloudconsole.server.http.cookies import Cookies, read_cookies
from cloudconsole.spec.language import Language, choose_language
from cloudconsole.store.sessions import hash_session_id

Pairs = list[tuple[bytes, bytes]]

MOST_REMEMBERED: Final = 1024
LARGEST_REMEMBERED: Final = 2048

_SESSION: Final = re.compile(r"s[0-9a-f]{48}")
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Head:
    def __init__(self, pairs: Pairs) -> None:
        self._headers = _join(pairs)

    def header(self, name: bytes) -> str | None:
        value = self._headers.get(name)
        return None if value is None else value.decode("latin-1")

    @cached_property
    def announces_body(self) -> bool:
        return b"content-length" in self._headers or b"transfer-encoding" in self._headers

    @cached_property
    def host(self) -> str | None:
        return self.header(b"host")

    @cached_property
    def given_request_id(self) -> str | None:
        given = self.header(b"x-request-id")
        return given if given and _REQUEST_ID.fullmatch(given) else None

    @cached_property
    def language(self) -> Language:
        return choose_language((self.header(b"accept-language") or "")[:1000])

    @cached_property
    def content_length(self) -> int | None:
        """The length that is announced, where it is a number."""
        announced = self.header(b"content-length")
        return int(announced) if announced is not None and announced.isdecimal() else None

    @cached_property
    def media_type(self) -> tuple[str, str]:
        """The body's media type and charset, either of them empty where it is not given."""
        name, *parameters = (self.header(b"content-type") or "").lower().split(";")
        pairs = (parameter.partition("=") for parameter in parameters)
        charsets = [value.strip().strip("\"'") for key, _, value in pairs if key.strip() == "charset"]
        return name.strip(), charsets[-1] if charsets else ""

    @cached_property
    def cookies(self) -> Cookies:
        return read_cookies(self.header(b"cookie") or "")

    @cached_property
    def sessions(self) -> list[tuple[str, bytes]]:
        """The session ids among the cookies, with the hashes that the store knows them by."""
        return [(each, hash_session_id(each)) for each in self.cookies.sessions if _SESSION.fullmatch(each)]

    @cached_property
    def csrf_token(self) -> str:
        """The token in the header that calls carry it in."""
        return self.header(b"x-csrftoken") or ""

    @cached_property
    def has_csrf_cookie(self) -> bool:
        """Whether the header's token came as a cookie, too."""
        return is_among(self.csrf_token, self.cookies.csrf_tokens)

    @cached_property
    def origin(self) -> str | None:
        return self.header(b"origin")

    @cached_property
    def is_from_foreign_page(self) -> bool:
        """Whether a browser says that a page of another site sends this."""
        sites = (self.header(b"sec-fetch-site") or "").lower().split(",")
        return any(site.strip() in ("cross-site", "same-site") for site in sites)


class Heads:
    """Reads heads, and remembers the last ones: on a kept connection the same head comes again and again."""

    def __init__(self) -> None:
        self._remembered: dict[tuple[tuple[bytes, bytes], ...], Head] = {}

    def read(self, pairs: Pairs) -> Head:
        key = tuple(pairs)
        head = self._remembered.get(key)
        if head is None:
            head = Head(pairs)
            if sum(len(name) + len(value) for name, value in pairs) <= LARGEST_REMEMBERED:
                if len(self._remembered) >= MOST_REMEMBERED:
                    del self._remembered[next(iter(self._remembered))]
                self._remembered[key] = head
        return head


def is_among(token: str, tokens: list[str]) -> bool:
    return any(equal(token, each) for each in tokens)


def equal(first: str, second: str) -> bool:
    """Compared in a time that does not tell where they differ."""
    return hmac.compare_digest(first.encode("utf-8", "replace"), second.encode("utf-8", "replace"))


def _join(pairs: Pairs) -> dict[bytes, bytes]:
    """Headers by name; repeated ones joined, which makes any that may come only once invalid."""
    headers = dict(pairs)
    if len(headers) != len(pairs):
        joined: dict[bytes, list[bytes]] = {}
        for name, value in pairs:
            joined.setdefault(name, []).append(value)
        headers = {name: (b"; " if name == b"cookie" else b", ").join(values) for name, values in joined.items()}
    return headers
