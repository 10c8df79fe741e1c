"""`/openapi.json` and the page to read at `/docs/`."""

import base64
import hashlib
from typing import Final

from cloudconsole.server.http.front import Front
from cloudconsole.server.http.kept import keep
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response
from cloudconsole.server.openapi.document import build_document
from cloudconsole.server.openapi.page import STYLE, render
from cloudconsole.spec.envelope import encode

HTML: Final = b"text/html; charset=utf-8"


def _policy_of(style: str) -> tuple[bytes, bytes]:
    """The policy of a page with this style and nothing else."""
    style_hash = base64.b64encode(hashlib.sha256(style.encode()).digest())
    directives = (
        b"default-src 'none'; style-src 'sha256-%b'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )
    return b"content-security-policy", directives % style_hash


_DOCUMENT: Final = build_document()
_OPENAPI: Final = keep(encode(_DOCUMENT), b"application/json")
_REFERENCE: Final = keep(render(_DOCUMENT).encode(), HTML, _policy_of(STYLE))


async def show_openapi(request: Request, _front: Front) -> Response:
    return _OPENAPI.answer(request)


async def show_reference(request: Request, _front: Front) -> Response:
    return _REFERENCE.answer(request)
