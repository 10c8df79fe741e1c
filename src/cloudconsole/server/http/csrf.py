"""CSRF protection: signed tokens, bound to a session at login, and Origin checks."""

from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from hmac import compare_digest
from typing import Final

from cloudconsole.core.origins import parse_origin
from cloudconsole.core.ports import SYSTEM_RANDOM, RandomSource
from cloudconsole.server.http.request import Request
from cloudconsole.spec.errors import CsrfFailed
from cloudconsole.store.session_lookup import Session

SEED_LENGTH: Final = 32
TOKEN_LENGTH: Final = 64


class CsrfTokens:
    """Tokens consist of a random seed and its MAC: forged ones are rejected, and anonymous ones need no storage."""

    def __init__(self, key: bytes, randomness: RandomSource = SYSTEM_RANDOM) -> None:
        self.key = key
        self._randomness = randomness
        self._mac = blake2b(key=key, digest_size=(TOKEN_LENGTH - SEED_LENGTH) // 2)
        self.from_seed: Callable[[str], str] = lru_cache(maxsize=1024)(self._from_seed)
        """Cached, for sessions only: a flood of anonymous tokens would evict those of sessions."""

    def new(self) -> str:
        return self._from_seed(self._randomness.token_bytes(SEED_LENGTH // 2).hex())

    def _from_seed(self, seed: str) -> str:
        mac = self._mac.copy()
        mac.update(seed.encode())
        return seed + mac.hexdigest()

    def is_ours(self, token: str) -> bool:
        return len(token) == TOKEN_LENGTH and _equal(token, self._from_seed(token[:SEED_LENGTH]))

    def is_of(self, session: Session, token: str) -> bool:
        """Return whether the token belongs to the session."""
        return _equal(token, self.from_seed(session.csrf_seed))

    def came_along(self, session: Session, request: Request) -> bool:
        """Return whether the session's token is among the request's cookies."""
        return any(self.is_of(session, sent) for sent in request.head.cookies.csrf_tokens)

    def check_call(self, request: Request, session: Session) -> None:
        """Check a request in a session: the header must equal a cookie, and both must be the session's token."""
        check_origin(request)
        if not request.head.has_csrf_cookie or not self.is_of(session, request.head.csrf_token):
            raise CsrfFailed

    def check_login(self, request: Request, field: object) -> str:
        """Check a login: the token must equal a cookie and have a valid MAC. Return its seed."""
        token = field if isinstance(field, str) and field else request.head.csrf_token
        if token not in request.head.cookies.csrf_tokens or not self.is_ours(token):
            raise CsrfFailed
        return token[:SEED_LENGTH]


def check_origin(request: Request) -> None:
    """Reject requests that a browser sends for a foreign page; other clients send neither header."""
    origin = request.head.origin
    if origin is not None and (request.origin is None or parse_origin(origin) != request.origin):
        raise CsrfFailed
    if request.head.is_from_foreign_page:
        raise CsrfFailed


def _equal(sent: str, ours: str) -> bool:
    """Compare in constant time; `ours` is always ASCII."""
    return sent.isascii() and compare_digest(sent, ours)
