"""Encode request bodies, and mutate fields or bytes."""

import json
from collections.abc import Callable
from random import Random
from typing import Any, Final
from urllib.parse import quote_plus

from tests.harness import JSON

from fuzz.values import Values

Fields = dict[str, Any]
Pairs = list[tuple[str, Any]]

OVERSIZED: Final = 65_537
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
    """Encode fields in order, duplicates included, as JSON or form data."""
    if media == JSON:
        escape = rng.random() < 0.5
        members = ",".join(f"{json.dumps(name)}:{json.dumps(value, ensure_ascii=escape)}" for name, value in pairs)
        return ("{" + members + "}").encode("utf-8", "surrogatepass")
    text = "&".join(f"{_quote(name)}={_quote(value)}" for name, value in pairs)
    return text.encode()


def _quote(value: Any) -> str:
    return quote_plus(value if isinstance(value, str) else json.dumps(value), errors="replace")


class BodyMutator:
    """Applies random mutations to fields and encoded bodies."""

    def __init__(self, rng: Random, values: Values) -> None:
        self._rng = rng
        self._values = values
        self._field_mutations: list[Callable[[Pairs], Pairs]] = [
            self._drop_field,
            self._odd_values,
            self._swap_case,
            self._duplicate_fields,
            self._add_fields,
        ]
        self._byte_mutations: list[Callable[[bytes], bytes]] = [
            self._truncate,
            self._insert_bytes,
            self._reencode,
            lambda body: b"\xef\xbb\xbf" + body,
            lambda body: b"[" + body + b"]",
            lambda body: body + body,
            lambda _: rng.choice(ODD_BODIES),
            lambda _: rng.randbytes(rng.randrange(60)),
        ]

    def mutate_fields(self, pairs: Pairs) -> Pairs:
        return self._rng.choice(self._field_mutations)(pairs)

    def mutate_bytes(self, body: bytes) -> bytes:
        if self._rng.random() < 0.003:
            return body + b" " * OVERSIZED
        return self._rng.choice(self._byte_mutations)(body)

    def _drop_field(self, pairs: Pairs) -> Pairs:
        index = self._rng.randrange(len(pairs)) if pairs else 0
        return pairs[:index] + pairs[index + 1 :]

    def _odd_values(self, pairs: Pairs) -> Pairs:
        return [(name, self._values.odd() if self._rng.random() < 0.6 else value) for name, value in pairs]

    def _swap_case(self, pairs: Pairs) -> Pairs:
        return [(name, value.swapcase() if isinstance(value, str) else value) for name, value in pairs]

    def _duplicate_fields(self, pairs: Pairs) -> Pairs:
        return [*pairs, *((name, self._values.odd()) for name, _ in pairs)]

    def _add_fields(self, pairs: Pairs) -> Pairs:
        added = [(self._values.text(12), self._values.odd()) for _ in range(self._rng.randrange(6))]
        return [*added, *pairs]

    def _truncate(self, body: bytes) -> bytes:
        return body[: self._rng.randrange(len(body) + 1)]

    def _insert_bytes(self, body: bytes) -> bytes:
        index = self._rng.randrange(len(body) + 1)
        return body[:index] + self._rng.choice(ODD_BYTES) + body[index + self._rng.randrange(3) :]

    def _reencode(self, body: bytes) -> bytes:
        encoding = self._rng.choice(("utf-16", "utf-32", "gb18030", "utf-7", "latin-1"))
        return body.decode("utf-8", "replace").encode(encoding, "replace")
