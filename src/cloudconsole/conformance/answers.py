"""One answer as it came: nothing is decoded, followed or remembered on the way."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from cloudconsole.conformance.cookies import SetCookie, parse_set_cookie

BUSY: Final = {429: "rate limited", 502: "unavailable", 503: "unavailable", 504: "unavailable"}
"""Statuses that say nothing about the request: whatever it was, it has not been looked at."""


class NotJson(Exception):
    """A body that is no JSON; the text says why."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    is_of_login: bool = False
    """Then nothing in it is ever quoted: whoever was sent a password may send it back in any disguise."""

    def header(self, name: str) -> str | None:
        """The value of a header, all of them if it came several times."""
        values = [value for key, value in self.headers if key == name.lower()]
        return ", ".join(values) if values else None

    @cached_property
    def set_cookies(self) -> tuple[SetCookie, ...]:
        return tuple(parse_set_cookie(value) for name, value in self.headers if name == "set-cookie")

    def cookie(self, name: str) -> SetCookie | None:
        """The last line that sets a cookie, which is the one that counts."""
        found = [cookie for cookie in self.set_cookies if cookie.name == name]
        return found[-1] if found else None

    @property
    def content(self) -> Any:
        """The body as JSON."""
        try:
            return json.loads(self.body.decode("utf-8"), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as problem:
            encoding = self.header("content-encoding")
            if encoding:
                raise NotJson(f"it is in Content-Encoding {encoding}, which was not asked for") from None
            raise NotJson(f"{problem}" if self.body else "there is no body") from None

    @property
    def retry_after(self) -> int | None:
        """The seconds after which to ask again, where there is such a number."""
        text = self.header("retry-after") or ""
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
