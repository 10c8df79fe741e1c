"""Our cookies: reading them out of whatever else a caller sends, and setting them."""

import re
from email.utils import formatdate
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from cloudconsole.spec.constants import CSRF_COOKIE, SESSION_COOKIE

OPERATOR_COOKIE: Final = "operatorid"
OPERATOR_PATH: Final = "/admin/"
"""Where the operator pages are, and over http the path of their cookies."""

CSRF_SECONDS: Final = 52 * 7 * 24 * 3600

TRIED_AT_MOST: Final = 4
"""Same-named cookies that are looked at; a caller gains nothing by sending more."""
MOST_COOKIES: Final = 2048
"""Of any name; browsers send fewer than 200 to one site."""
MOST_OF_OURS: Final = 64
"""Of our names, before those that are looked at are chosen."""

# For what `_first_cookies` gives. Possessive, so that matching takes linear time.
_OURS: Final = re.compile(rf';\s*+({SESSION_COOKIE}|{CSRF_COOKIE})\s*+=\s*+("?)([0-9A-Za-z]++)\2\s*+(?=;|$)')


def _operator_name(name: str, *, secure: bool) -> str:
    """Over https with the `__Host-` prefix: browsers accept such a cookie only from this very host, over https."""
    return f"__Host-{name}" if secure else name


def _operator_patterns(name: str, value: str) -> dict[bool, re.Pattern[str]]:
    names = {secure: _operator_name(name, secure=secure) for secure in (False, True)}
    return {secure: re.compile(rf";\s*+{name}\s*+=\s*+{value}\s*+(?=;|$)") for secure, name in names.items()}


_OPERATORS: Final = _operator_patterns(OPERATOR_COOKIE, r'("?)([0-9A-Za-z]++)\1')
_NOTICE_COOKIE: Final = "operatornotice"
_NOTICE: Final = _operator_patterns(_NOTICE_COOKIE, r"([0-9A-Za-z%_.~-]++)")
_NOTICE_SECONDS: Final = 60
_LONGEST_NOTICE: Final = 320
"""In characters: as the longest of bytes they are within what browsers keep."""


class Cookies(NamedTuple):
    sessions: list[str]
    csrf_tokens: list[str]


def read_cookies(header: str) -> Cookies:
    """Every value of our two names, in order. Anything else in the header, well-formed or not, is passed over."""
    cookies = Cookies([], [])
    for match in islice(_OURS.finditer(_first_cookies(header)), MOST_OF_OURS):
        name, _, value = match.groups()
        found = cookies.sessions if name == SESSION_COOKIE else cookies.csrf_tokens
        if len(found) < TRIED_AT_MOST:
            found.append(value)
    return cookies


def _first_cookies(header: str) -> str:
    """As many as are looked at, each after a semicolon."""
    if header.count(";") >= MOST_COOKIES:
        header = ";".join(header.split(";", MOST_COOKIES)[:MOST_COOKIES])
    return ";" + header


def read_operator_cookies(header: str, *, secure: bool) -> list[str]:
    """Every value of the operator cookie, in order; only the operator pages look for it."""
    return [found[2] for found in islice(_OPERATORS[secure].finditer(_first_cookies(header)), TRIED_AT_MOST)]


def operator_cookie(session_id: str, *, secure: bool) -> str:
    return f"{_operator_name(OPERATOR_COOKIE, secure=secure)}={session_id}; HttpOnly; {_operator_attributes(secure)}"


def clear_operator_cookie(*, secure: bool) -> str:
    return _cleared(OPERATOR_COOKIE, secure=secure)


def notice_cookie(text: str, *, secure: bool) -> str:
    """What was just done, for the next of the operators' pages to say once."""
    value = quote(text[:_LONGEST_NOTICE], safe="")
    rest = f"HttpOnly; Max-Age={_NOTICE_SECONDS}; {_operator_attributes(secure)}"
    return f"{_operator_name(_NOTICE_COOKIE, secure=secure)}={value}; {rest}"


def read_notice(header: str, *, secure: bool) -> str | None:
    found = _NOTICE[secure].search(_first_cookies(header))
    return None if found is None else unquote(found[1], errors="replace")


def clear_notice_cookie(*, secure: bool) -> str:
    return _cleared(_NOTICE_COOKIE, secure=secure)


def _cleared(name: str, *, secure: bool) -> str:
    past, rest = formatdate(0, usegmt=True), f"HttpOnly; Max-Age=0; {_operator_attributes(secure)}"
    return f"{_operator_name(name, secure=secure)}=; Expires={past}; {rest}"


def _operator_attributes(secure: bool) -> str:
    # The prefix demands the path "/".
    return f"Path={'/' if secure else OPERATOR_PATH}; SameSite=Strict{_secure(secure)}"


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
