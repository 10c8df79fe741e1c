"""Our cookies: reading them out of whatever else a caller sends, and setting them."""

import re
from email.utils import formatdate
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from cloudconsole.spec.wire import CSRF_COOKIE, SESSION_COOKIE

OPERATOR_COOKIE: Final = "operatorid"
OPERATOR_PATH: Final = "/admin/"
"""Where the operators' pages are, and their cookie goes."""

CSRF_SECONDS: Final = 52 * 7 * 24 * 3600

TRIED_AT_MOST: Final = 4
"""Same-named cookies that are looked at; a caller gains nothing by sending more."""


_OURS: Final = re.compile(rf'(?:^|;)\s*({SESSION_COOKIE}|{CSRF_COOKIE})\s*=\s*("?)([0-9A-Za-z]+)\2\s*(?=;|$)')


_OPERATORS: Final = re.compile(rf'(?:^|;)\s*{OPERATOR_COOKIE}\s*=\s*("?)([0-9A-Za-z]+)\1\s*(?=;|$)')


_NOTICE_COOKIE: Final = "operatornotice"
_NOTICE: Final = re.compile(rf"(?:^|;)\s*{_NOTICE_COOKIE}\s*=\s*([0-9A-Za-z%_.~-]+)\s*(?=;|$)")
_NOTICE_SECONDS: Final = 60
_LONGEST_NOTICE: Final = 320
"""In characters: as the longest of bytes they are within what browsers keep."""


class Cookies(NamedTuple):
    sessions: list[str]
    csrf_tokens: list[str]


def read_cookies(header: str) -> Cookies:
    """Every value of our two names, in order. Anything else in the header, well-formed or not, is passed over."""
    cookies = Cookies([], [])
    for name, _, value in _OURS.findall(header):
        found = cookies.sessions if name == SESSION_COOKIE else cookies.csrf_tokens
        if len(found) < TRIED_AT_MOST:
            found.append(value)
    return cookies


def read_operator_cookies(header: str) -> list[str]:
    """Every value of the operators' cookie, in order; it comes to their own pages only, so no other call looks."""
    return [value for _, value in _OPERATORS.findall(header)][:TRIED_AT_MOST]


def operator_cookie(session_id: str, *, secure: bool) -> str:
    return f"{OPERATOR_COOKIE}={session_id}; HttpOnly; Path={OPERATOR_PATH}; SameSite=Strict{_secure(secure)}"


def clear_operator_cookie(*, secure: bool) -> str:
    past = formatdate(0, usegmt=True)
    rest = f"HttpOnly; Max-Age=0; Path={OPERATOR_PATH}; SameSite=Strict{_secure(secure)}"
    return f"{OPERATOR_COOKIE}=; Expires={past}; {rest}"


def notice_cookie(text: str, *, secure: bool) -> str:
    """What was just done, for the next of the operators' pages to say once."""
    value = quote(text[:_LONGEST_NOTICE], safe="")
    rest = f"HttpOnly; Max-Age={_NOTICE_SECONDS}; Path={OPERATOR_PATH}; SameSite=Strict{_secure(secure)}"
    return f"{_NOTICE_COOKIE}={value}; {rest}"


def read_notice(header: str) -> str | None:
    found = _NOTICE.search(header)
    return None if found is None else unquote(found[1], errors="replace")


def clear_notice_cookie(*, secure: bool) -> str:
    past = formatdate(0, usegmt=True)
    rest = f"HttpOnly; Max-Age=0; Path={OPERATOR_PATH}; SameSite=Strict{_secure(secure)}"
    return f"{_NOTICE_COOKIE}=; Expires={past}; {rest}"


def session_cookie(session_id: str, *, secure: bool) -> str:
    return f"{SESSION_COOKIE}={session_id}; HttpOnly; Path=/; SameSite=Lax{_secure(secure)}"


def clear_session_cookie(*, secure: bool) -> str:
    past = formatdate(0, usegmt=True)
    return f"{SESSION_COOKIE}=; Expires={past}; HttpOnly; Max-Age=0; Path=/; SameSite=Lax{_secure(secure)}"


def csrf_cookie(token: str, now: float, *, secure: bool) -> str:
    # Both Expires and Max-Age: some clients misread one of them alone.
    expires = _date(int(now) + CSRF_SECONDS)
    return f"{CSRF_COOKIE}={token}; Expires={expires}; Max-Age={CSRF_SECONDS}; Path=/; SameSite=Lax{_secure(secure)}"


@lru_cache(maxsize=4)
def _date(seconds: int) -> str:
    return formatdate(seconds, usegmt=True)


def _secure(secure: bool) -> str:
    return "; Secure" if secure else ""
