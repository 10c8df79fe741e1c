"""Bodies: encoded as they should be, and damaged in every way that comes to mind."""

import json
from collections.abc import Callable
from random import Random
from typing import Any, Final
from urllib.parse import quote_plus

from tests.harness import JSON

from fuzz.values import Values

Fields = dict[str, Any]
Pairs = list[tuple[str, Any]]

OVER_THE_LIMIT: Final = 65_537
ODD_BYTES: Final = (
    b"\0",
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"%",
    b"%zz",
    b"&",
    b";",
    b"=",
    b'"',
    b"\\u",
    b"}",
    b"[",
    b"\r\n",
)
ODD_BODIES: Final = (
    b"",
    b"null",
    b"[]",
    b"{}",
    b'"GetNews"',
    b"NaN",
    b'{"action": NaN}',
    b'{"action": "\\ud800"}',
    b"[" * 5000,
    b'{"a":' * 5000,
    b'{"action":"GetNews","n":' + b"9" * 5000 + b"}",
    b'{"action":"GetNews","n":1e99999}',
    b"\xef\xbb\xbf\xef\xbb\xbf{}",
    b"&&&===&",
    b"action",
    b"\0" * 100,
)


def encode_pairs(pairs: Pairs, media: str, rng: Random) -> bytes:
    """Fields in their order, repeated ones too, as JSON or as form data."""
    if media == JSON:
        escape = rng.random() < 0.5
        members = ",".join(f"{json.dumps(name)}:{json.dumps(value, ensure_ascii=escape)}" for name, value in pairs)
        return ("{" + members + "}").encode("utf-8", "surrogatepass")
    text = "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in pairs)
    return text.encode()


def _quoted(value: Any) -> str:
    return quote_plus(value if isinstance(value, str) else json.dumps(value), errors="replace")


class Damage:
    """One more fault in a body, chosen at random."""

    def __init__(self, rng: Random, values: Values) -> None:
        self._rng = rng
        self._values = values
        self._of_pairs: list[Callable[[Pairs], Pairs]] = [
            self._without_one,
            self._with_odd_value,
            self._with_other_case,
            self._repeated,
            self._with_more,
        ]
        self._of_bytes: list[Callable[[bytes], bytes]] = [
            self._cut,
            self._with_odd_bytes,
            self._in_other_encoding,
            lambda body: b"\xef\xbb\xbf" + body,
            lambda body: b"[" + body + b"]",
            lambda body: body + body,
            lambda _: rng.choice(ODD_BODIES),
            lambda _: rng.randbytes(rng.randrange(60)),
        ]

    def fields(self, pairs: Pairs) -> Pairs:
        return self._rng.choice(self._of_pairs)(pairs)

    def encoded(self, body: bytes) -> bytes:
        if self._rng.random() < 0.003:
            return body + b" " * OVER_THE_LIMIT
        return self._rng.choice(self._of_bytes)(body)

    def _without_one(self, pairs: Pairs) -> Pairs:
        dropped = self._rng.randrange(len(pairs)) if pairs else 0
        return pairs[:dropped] + pairs[dropped + 1 :]

    def _with_odd_value(self, pairs: Pairs) -> Pairs:
        return [(name, self._values.odd() if self._rng.random() < 0.6 else value) for name, value in pairs]

    def _with_other_case(self, pairs: Pairs) -> Pairs:
        return [(name, value.swapcase() if isinstance(value, str) else value) for name, value in pairs]

    def _repeated(self, pairs: Pairs) -> Pairs:
        return [*pairs, *((name, self._values.odd()) for name, _ in pairs)]

    def _with_more(self, pairs: Pairs) -> Pairs:
        more = [(self._values.text(12), self._values.odd()) for _ in range(self._rng.randrange(6))]
        return [*more, *pairs]

    def _cut(self, body: bytes) -> bytes:
        return body[: self._rng.randrange(len(body) + 1)]

    def _with_odd_bytes(self, body: bytes) -> bytes:
        place = self._rng.randrange(len(body) + 1)
        return body[:place] + self._rng.choice(ODD_BYTES) + body[place + self._rng.randrange(3) :]

    def _in_other_encoding(self, body: bytes) -> bytes:
        encoding = self._rng.choice(("utf-16", "utf-32", "gb18030", "utf-7", "latin-1"))
        return body.decode("utf-8", "replace").encode(encoding, "replace")
