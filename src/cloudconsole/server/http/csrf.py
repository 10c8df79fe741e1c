"""CSRF: tokens that only we can make, bound to a session at login, and requests that only our own pages can send."""

import hmac
import secrets
from typing import Final

from cloudconsole.server.addresses import parse_origin
from cloudconsole.server.http.front import Front
from cloudconsole.server.http.request import Request
from cloudconsole.spec.errors import CsrfFailed
from cloudconsole.store.sessions import Session

SEED_LENGTH: Final = 32
TOKEN_LENGTH: Final = 64


class CsrfTokens:
    """A token is a random seed and a MAC over it: a made-up one is refused, and an anonymous one costs no storage."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def new(self) -> str:
        return self.from_seed(secrets.token_hex(SEED_LENGTH // 2))

    def from_seed(self, seed: str) -> str:
        mac = hmac.digest(self._key, seed.encode(), "sha256").hex()
        return seed + mac[: TOKEN_LENGTH - SEED_LENGTH]

    def is_ours(self, token: str) -> bool:
        return len(token) == TOKEN_LENGTH and _equal(token, self.from_seed(token[:SEED_LENGTH]))

    def came_along(self, session: Session, request: Request) -> bool:
        """Whether the session's token is among the request's cookies."""
        return _is_among(self.from_seed(session.csrf_seed), request.cookies.csrf_tokens)

    def check_call(self, request: Request, front: Front, session: Session) -> None:
        """Of a call in a session: the header must equal a cookie, and both must be this session's token."""
        check_origin(request, front)
        token = request.header(b"x-csrftoken") or ""
        if not _equal(token, self.from_seed(session.csrf_seed)) or not _is_among(token, request.cookies.csrf_tokens):
            raise CsrfFailed

    def check_login(self, request: Request, field: object) -> str:
        """Of a login: the token, which must equal a cookie and be one that we issued. Gives its seed."""
        token = field if isinstance(field, str) and field else request.header(b"x-csrftoken") or ""
        if not _is_among(token, request.cookies.csrf_tokens) or not self.is_ours(token):
            raise CsrfFailed
        return token[:SEED_LENGTH]


def check_origin(request: Request, front: Front) -> None:
    """Refuse what a foreign page makes a browser send. Scripts send neither header, which is fine."""
    origin = request.header(b"origin")
    if origin is not None and (front.origin is None or parse_origin(origin) != front.origin):
        raise CsrfFailed
    sites = (request.header(b"sec-fetch-site") or "").lower().split(",")
    if any(site.strip() in ("cross-site", "same-site") for site in sites):
        raise CsrfFailed


def _is_among(token: str, cookies: list[str]) -> bool:
    return any(_equal(token, cookie) for cookie in cookies)


def _equal(first: str, second: str) -> bool:
    return hmac.compare_digest(first.encode("utf-8", "replace"), second.encode("utf-8", "replace"))
