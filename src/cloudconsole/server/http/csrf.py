"""CSRF: tokens that only we can make, bound to a session at login, and requests that only our own pages can send."""

from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from hmac import compare_digest
from typing import Final

from cloudconsole.core.entropy import SYSTEM_RANDOM, RandomSource
from cloudconsole.core.hosts import parse_origin
from cloudconsole.server.http.request import Request
from cloudconsole.spec.errors import CsrfFailed
from cloudconsole.store.sessions import Session

SEED_LENGTH: Final = 32
TOKEN_LENGTH: Final = 64


class CsrfTokens:
    """A token is a random seed and a MAC over it: a made-up one is refused, and an anonymous one costs no storage."""

    def __init__(self, key: bytes, randomness: RandomSource = SYSTEM_RANDOM) -> None:
        self._randomness = randomness
        self._mac = blake2b(key=key, digest_size=(TOKEN_LENGTH - SEED_LENGTH) // 2)
        self.from_seed: Callable[[str], str] = lru_cache(maxsize=1024)(self._from_seed)
        """Of sessions in use. Strangers' are not remembered: a flood of them would drive out the others."""

    def new(self) -> str:
        return self._from_seed(self._randomness.token_bytes(SEED_LENGTH // 2).hex())

    def _from_seed(self, seed: str) -> str:
        mac = self._mac.copy()
        mac.update(seed.encode())
        return seed + mac.hexdigest()

    def is_ours(self, token: str) -> bool:
        return len(token) == TOKEN_LENGTH and _equal(token, self._from_seed(token[:SEED_LENGTH]))

    def is_of(self, session: Session, token: str) -> bool:
        """Whether the token is the session's."""
        return _equal(token, self.from_seed(session.csrf_seed))

    def came_along(self, session: Session, request: Request) -> bool:
        """Whether the session's token is among the request's cookies."""
        return any(self.is_of(session, sent) for sent in request.head.cookies.csrf_tokens)

    def check_call(self, request: Request, session: Session) -> None:
        """Of a call in a session: the header must equal a cookie, and both must be this session's token."""
        check_origin(request)
        if not request.head.has_csrf_cookie or not self.is_of(session, request.head.csrf_token):
            raise CsrfFailed

    def check_login(self, request: Request, field: object) -> str:
        """Of a login: the token, which must equal a cookie and be one that we issued. Gives its seed."""
        token = field if isinstance(field, str) and field else request.head.csrf_token
        if token not in request.head.cookies.csrf_tokens or not self.is_ours(token):
            raise CsrfFailed
        return token[:SEED_LENGTH]


def check_origin(request: Request) -> None:
    """Refuse what a foreign page makes a browser send. Scripts send neither header, which is fine."""
    origin = request.head.origin
    if origin is not None and (request.origin is None or parse_origin(origin) != request.origin):
        raise CsrfFailed
    if request.head.is_from_foreign_page:
        raise CsrfFailed


def _equal(sent: str, ours: str) -> bool:
    """Compared in a time that does not tell where they differ; what is ours is always ASCII."""
    return sent.isascii() and compare_digest(sent, ours)
