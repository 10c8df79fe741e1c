"""The console's cookies: parse them from a Cookie header, and build Set-Cookie values.

A Cookie header has another syntax than the Set-Cookie values that `spec.set_cookie` parses for clients.
"""

import re
from email.utils import formatdate
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from cloudconsole.spec.set_cookie import CSRF_COOKIE, SESSION_COOKIE

OPERATOR_COOKIE: Final = "operatorid"
OPERATOR_PATH: Final = "/admin/"
"""Path of the admin UI; over http also of their cookies."""

CSRF_SECONDS: Final = 52 * 7 * 24 * 3600
"""A year; also of the language of operator pages."""

MAX_TRIED: Final = 4
"""Same-named cookies that are tried; a client gains nothing by sending more."""
MAX_COOKIES: Final = 2048
"""Cookies of any name that are parsed; browsers send fewer than 200 to one site."""
MAX_MATCHES: Final = 64
"""Cookies of the console's names that are matched, before `MAX_TRIED` applies to each name."""

# Matches the result of `_first_cookies`. Possessive quantifiers make it linear in time.
_OURS: Final = re.compile(rf';\s*+({SESSION_COOKIE}|{CSRF_COOKIE})\s*+=\s*+("?)([0-9A-Za-z]++)\2\s*+(?=;|$)')


def _operator_name(name: str, *, secure: bool) -> str:
    """Add the `__Host-` prefix over https: browsers accept such a cookie only from this host, over https."""
    return f"__Host-{name}" if secure else name


def _operator_patterns(name: str, value: str) -> dict[bool, re.Pattern[str]]:
    names = {secure: _operator_name(name, secure=secure) for secure in (False, True)}
    return {secure: re.compile(rf";\s*+{name}\s*+=\s*+{value}\s*+(?=;|$)") for secure, name in names.items()}


_OPERATORS: Final = _operator_patterns(OPERATOR_COOKIE, r'("?)([0-9A-Za-z]++)\1')
_NOTICE_COOKIE: Final = "operatornotice"
_NOTICE: Final = _operator_patterns(_NOTICE_COOKIE, r"([0-9A-Za-z%_.~-]++)")
_LANGUAGE_COOKIE: Final = "operatorlanguage"
_LANGUAGE: Final = _operator_patterns(_LANGUAGE_COOKIE, r"([a-z]++)")
_NOTICE_SECONDS: Final = 60
_MAX_NOTICE: Final = 320
"""Characters; even with all of them escaped, the cookie is within the limits of browsers."""


class Cookies(NamedTuple):
    sessions: list[str]
    csrf_tokens: list[str]


def read_cookies(header: str) -> Cookies:
    """Return the session and CSRF cookies in order; ignore anything else, well-formed or not."""
    cookies = Cookies([], [])
    for match in islice(_OURS.finditer(_first_cookies(header)), MAX_MATCHES):
        name, _, value = match.groups()
        values = cookies.sessions if name == SESSION_COOKIE else cookies.csrf_tokens
        if len(values) < MAX_TRIED:
            values.append(value)
    return cookies


def _first_cookies(header: str) -> str:
    """Limit the number of cookies, and put a semicolon before each."""
    if header.count(";") >= MAX_COOKIES:
        header = ";".join(header.split(";", MAX_COOKIES)[:MAX_COOKIES])
    return ";" + header


def read_operator_cookies(header: str, *, secure: bool) -> list[str]:
    """Return the operator cookies in order."""
    return [match[2] for match in islice(_OPERATORS[secure].finditer(_first_cookies(header)), MAX_TRIED)]


def operator_cookie(session_id: str, *, secure: bool) -> str:
    return f"{_operator_name(OPERATOR_COOKIE, secure=secure)}={session_id}; HttpOnly; {_operator_attributes(secure)}"


def clear_operator_cookie(*, secure: bool) -> str:
    return _cleared(OPERATOR_COOKIE, secure=secure)


def notice_cookie(text: str, *, secure: bool) -> str:
    """Return a cookie whose text the next operator page shows once."""
    value = quote(text[:_MAX_NOTICE], safe="")
    rest = f"HttpOnly; Max-Age={_NOTICE_SECONDS}; {_operator_attributes(secure)}"
    return f"{_operator_name(_NOTICE_COOKIE, secure=secure)}={value}; {rest}"


def read_notice(header: str, *, secure: bool) -> str | None:
    match = _NOTICE[secure].search(_first_cookies(header))
    return None if match is None else unquote(match[1], errors="replace")


def clear_notice_cookie(*, secure: bool) -> str:
    return _cleared(_NOTICE_COOKIE, secure=secure)


def language_cookie(language: str, *, secure: bool) -> str:
    """Return a cookie with the language of operator pages; unlike a session, it also follows links of other sites."""
    name, path = _operator_name(_LANGUAGE_COOKIE, secure=secure), _operator_path(secure)
    return f"{name}={language}; HttpOnly; Max-Age={CSRF_SECONDS}; Path={path}; SameSite=Lax{_secure(secure)}"


def read_language(header: str, *, secure: bool) -> str | None:
    match = _LANGUAGE[secure].search(_first_cookies(header))
    return None if match is None else match[1]


def _cleared(name: str, *, secure: bool) -> str:
    past, rest = formatdate(0, usegmt=True), f"HttpOnly; Max-Age=0; {_operator_attributes(secure)}"
    return f"{_operator_name(name, secure=secure)}=; Expires={past}; {rest}"


def _operator_attributes(secure: bool) -> str:
    return f"Path={_operator_path(secure)}; SameSite=Strict{_secure(secure)}"


def _operator_path(secure: bool) -> str:
    # The `__Host-` prefix requires the path "/".
    return "/" if secure else OPERATOR_PATH


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
