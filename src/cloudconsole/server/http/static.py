"""Static responses with ETag and gzip: assets and the API documentation."""

import gzip
import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final, NamedTuple

from cloudconsole.server.http.bundle import bundle
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import CLOSED_POLICY, Endpoint, HeaderList, Response, Route, Routes
from cloudconsole.server.metrics.layout import OTHER
from cloudconsole.server.openapi.document import build_document
from cloudconsole.server.openapi.html import render
from cloudconsole.spec.actions import Action
from cloudconsole.spec.envelope import encode

REVALIDATED: Final = (b"cache-control", b"no-cache")
IMMUTABLE: Final = (b"cache-control", b"public, max-age=31536000, immutable")

_GZIP: Final = re.compile(r"(?:^|,)\s*(?:gzip|\*)\s*(?:;\s*q=(?P<weight>[0-9.]+)\s*)?(?=,|$)", re.IGNORECASE)
_VARIES: Final = (b"vary", b"accept-encoding")


class CachedResponse(NamedTuple):
    """Static response, with and without compression."""

    body: bytes
    compressed: bytes
    tag: str
    content_type: bytes
    policy: tuple[bytes, bytes]
    caching: tuple[bytes, bytes]

    def respond(self, request: Request) -> Response:
        """Return the body, compressed if the client accepts gzip, or 304 if its copy is current."""
        headers: HeaderList = [(b"etag", self.tag.encode()), _VARIES]
        known = request.head.header(b"if-none-match") or ""
        # Its quotation marks prevent a match inside another tag.
        if self.tag in known or known.strip() == "*":
            return Response(status=304, headers=headers, policy=self.policy, caching=self.caching)
        body = self.body
        if len(self.compressed) < len(body) and _takes_gzip(request):
            headers.append((b"content-encoding", b"gzip"))
            body = self.compressed
        return Response(200, body, headers, self.content_type, self.policy, self.caching)


def make_cached(
    body: bytes,
    content_type: bytes,
    policy: tuple[bytes, bytes] = CLOSED_POLICY,
    caching: tuple[bytes, bytes] = REVALIDATED,
) -> CachedResponse:
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return CachedResponse(body, gzip.compress(body, mtime=0), tag, content_type, policy, caching)


def _takes_gzip(request: Request) -> bool:
    entries = list(_GZIP.finditer((request.head.header(b"accept-encoding") or "")[:1000]))
    return bool(entries) and all((entry["weight"] or "1").strip("0.") for entry in entries)


_TYPES: Final = {
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}

PAGE_POLICY: Final = (
    b"content-security-policy",
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    b"frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
)
"""Policy of a page that uses only these files: other scripts do not run, and text cannot become markup."""


class Assets:
    def __init__(self, contents: Mapping[str, bytes]) -> None:
        """Take contents by path."""
        self.contents = contents
        whole = hashlib.sha256()
        for path, content in sorted(contents.items()):
            whole.update(b"%b\0%d\0%b" % (path.encode(), len(content), content))
        self.root: Final = f"/web/{whole.hexdigest()[:16]}/"
        """Common root with a hash of all files: modules import by relative path, and versions never mix."""

    def address(self, path: str) -> str:
        if path not in self.contents:
            raise KeyError(path)
        return self.root + path

    @cached_property
    def routes(self) -> Routes:
        """Routes of all assets, compressed once per process."""
        return {
            self.root + path: {
                "GET": Route(OTHER, _show(make_cached(content, _TYPES[path[path.rfind(".") :]], caching=IMMUTABLE)))
            }
            for path, content in self.contents.items()
        }


def _show(asset: CachedResponse) -> Endpoint:
    async def show(request: Request) -> Response:
        return asset.respond(request)

    return show


def _files(directory: Traversable, path: str = "") -> Iterator[tuple[str, bytes]]:
    for entry in directory.iterdir():
        if entry.is_dir():
            yield from _files(entry, f"{path}{entry.name}/")
        else:
            yield path + entry.name, entry.read_bytes()


def _contents(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return what is served: all files but those of the console page, which contains them."""
    scripts = ["docs.js", *(path for path in sources if path.startswith("admin/") and path.endswith(".js"))]
    return {
        **{path: content for path, content in sources.items() if not path.startswith("console/")},
        **{path: bundle(sources, path) for path in scripts},
    }


SOURCES: Final = dict(_files(files("cloudconsole") / "web"))
ASSETS: Final = Assets(_contents(SOURCES))

HTML: Final = b"text/html; charset=utf-8"


_REFERENCE_HEAD: Final = (
    f'<script src="{ASSETS.address("theme.js")}"></script>'
    f'<script type="module" src="{ASSETS.address("docs.js")}"></script>'
    f'<link rel="icon" href="{ASSETS.address("icon.svg")}" type="image/svg+xml">'
    f'<link rel="stylesheet" href="{ASSETS.address("theme.css")}">'
    f'<link rel="stylesheet" href="{ASSETS.address("docs.css")}">'
)


@lru_cache(maxsize=4)
def reference_routes(actions: tuple[Action, ...]) -> Routes:
    """Return the routes of the reference to these actions, as a page and as OpenAPI."""
    document = build_document(actions)
    page = make_cached(render(document, _REFERENCE_HEAD, ASSETS.address("icon.svg")).encode(), HTML, PAGE_POLICY)
    return {
        "/docs/": {"GET": Route(OTHER, _show(page))},
        "/openapi.json": {"GET": Route(OTHER, _show(make_cached(encode(document), b"application/json")))},
    }
