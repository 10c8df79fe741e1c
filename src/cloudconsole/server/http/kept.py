"""Answers that are the same for everyone: compressed once, and a copy may be kept and asked after."""

import gzip
import hashlib
import re
from typing import Final, NamedTuple

from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import CLOSED_POLICY, Headers, Response

REVALIDATED: Final = (b"cache-control", b"no-cache")
FOR_GOOD: Final = (b"cache-control", b"public, max-age=31536000, immutable")

_GZIP: Final = re.compile(r"(?:^|,)\s*(?:gzip|\*)\s*(?:;\s*q=(?P<weight>[0-9.]+)\s*)?(?=,|$)", re.IGNORECASE)
_VARIES: Final = (b"vary", b"accept-encoding")


class Kept(NamedTuple):
    """One such answer, with and without compression."""

    body: bytes
    compressed: bytes
    tag: str
    content_type: tuple[bytes, bytes]
    policy: tuple[bytes, bytes]
    caching: tuple[bytes, bytes]

    def answer(self, request: Request) -> Response:
        """The whole, as small as the caller takes it, or 304 to one whose copy is this one."""
        headers: Headers = [(b"etag", self.tag.encode()), _VARIES]
        known = request.head.header(b"if-none-match") or ""
        # A tag has its quotation marks, so it is no part of another.
        if self.tag in known or known.strip() == "*":
            return Response(status=304, headers=headers, policy=self.policy, caching=self.caching)
        headers.append(self.content_type)
        body = self.body
        if len(self.compressed) < len(body) and _takes_gzip(request):
            headers.append((b"content-encoding", b"gzip"))
            body = self.compressed
        return Response(body=body, headers=headers, policy=self.policy, caching=self.caching)


def keep(
    body: bytes,
    content_type: bytes,
    policy: tuple[bytes, bytes] = CLOSED_POLICY,
    caching: tuple[bytes, bytes] = REVALIDATED,
) -> Kept:
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return Kept(body, gzip.compress(body, mtime=0), tag, (b"content-type", content_type), policy, caching)


def _takes_gzip(request: Request) -> bool:
    entries = list(_GZIP.finditer((request.head.header(b"accept-encoding") or "")[:1000]))
    return bool(entries) and all((entry["weight"] or "1").strip("0.") for entry in entries)
