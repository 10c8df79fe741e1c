"""The console page: one document with its script, style sheet and icon, so that it needs no further file.

Its policy names their hashes. Nothing else can run, not even other files of the console, and no two versions can mix.
"""

import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Final
from urllib.parse import quote

from cloudconsole.server.http.bundle import BundleError, bundle
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response
from cloudconsole.server.http.static import HTML, SOURCES, CachedResponse, make_cached

_STYLES: Final = ("theme.css", "console/shell.css", "console/pages.css", "console/costs.css")

_ENDS_ELEMENT: Final = re.compile(rb"</(?:script|style)|<!--|\r", re.IGNORECASE)
"""What would end an inline element or its script, or is not what the browser computes the hash of."""


def build_page(sources: Mapping[str, bytes]) -> CachedResponse:
    """Return the page that is composed of these files."""
    theme = _inline("theme.js", sources["theme.js"])
    style = _inline("the style sheets", b"".join(sources[path] for path in _STYLES))
    script = _inline("the script", bundle(sources, "console/main.js"))
    parts = {
        b"icon": b"data:image/svg+xml," + quote(sources["icon.svg"].strip()).encode(),
        b"theme": theme,
        b"style": style,
        b"script": script,
    }
    page = re.sub(rb"\{(\w+)\}", lambda found: parts[found[1]], sources["console/index.html"])
    policy = (
        f"default-src 'none'; script-src {_source(theme)} {_source(script)}; style-src {_source(style)}; "
        "img-src data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    return make_cached(page, HTML, (b"content-security-policy", policy.encode()))


def _inline(name: str, content: bytes) -> bytes:
    if found := _ENDS_ELEMENT.search(content):
        raise BundleError(f"{name}: cannot be inline: {found[0]!r}")
    return content


def _source(content: bytes) -> str:
    """Return the source expression of a content security policy for inline content."""
    return f"'sha256-{b64encode(sha256(content).digest()).decode()}'"


_PAGE: Final = build_page(SOURCES)


async def show_console(request: Request) -> Response:
    return _PAGE.respond(request)
