"""What is made of what a service answered: a success, a token that is no longer taken, or nothing to go by."""

from typing import Any, Final

import msgspec
from msgspec import Struct

from cloudconsole.backends.openstack.endpoint import Service


class Call(Struct, frozen=True):
    """What was asked, as far as a log may tell it."""

    place: str
    method: str
    path: str
    service: Service

    def __str__(self) -> str:
        return f"{self.method} {self.place}{self.path}"


class Answer(Struct, frozen=True):
    call: Call
    status: int
    headers: dict[str, str]
    """By names in lower case."""
    body: Any
    """What the JSON says, an object; None where there is no body, or where that of a refusal is no JSON."""


class TokenRefused(Exception):
    """A service no longer takes the tenant's token."""

    def __init__(self, token: str) -> None:
        super().__init__("a service refused the token")
        self.token = token


class BadAnswer(Exception):
    """What came is no answer to go by; the text says why, and holds nothing of what came."""

    def __init__(self, why: str, *, was_slow: bool = False) -> None:
        super().__init__(why)
        self.was_slow = was_slow


_GATEWAY_TIMEOUT: Final = 504


def judged(
    call: Call, status: int, headers: dict[str, str], content: bytes, *, token: str | None, expected: frozenset[int]
) -> Answer:
    """A success or a status that is expected; raises `TokenRefused` or `BadAnswer` for every other."""
    if 200 <= status < 300:
        return Answer(call, status, headers, _object(content))
    if status in expected:
        return Answer(call, status, headers, _object_or_nothing(content))
    if status == 401 and token is not None:
        raise TokenRefused(token)
    raise BadAnswer(f"status {status}", was_slow=status == _GATEWAY_TIMEOUT)


def _object(content: bytes) -> dict[str, Any] | None:
    if not content:
        return None
    try:
        # As text, since msgspec does not look at the bytes of what it skips.
        decoded = msgspec.json.decode(content.decode())
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as problem:
        raise BadAnswer("an answer that is no JSON") from problem
    if not isinstance(decoded, dict):
        raise BadAnswer("an answer that is no JSON object")
    return decoded


def _object_or_nothing(content: bytes) -> dict[str, Any] | None:
    try:
        return _object(content)
    except BadAnswer:
        return None
