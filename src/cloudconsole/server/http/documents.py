"""`/openapi.json` and the page to read at `/docs/`: the same for everyone, so a copy may be kept and asked after."""

import hashlib
from typing import Final

from cloudconsole.server.http.front import Front
from cloudconsole.server.http.page import page_policy
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import CLOSED_POLICY, JSON_TYPE, Response
from cloudconsole.server.openapi.document import build_document
from cloudconsole.server.openapi.page import STYLE, render
from cloudconsole.spec.envelope import encode

HTML_TYPE: Final = (b"content-type", b"text/html; charset=utf-8")
REVALIDATED: Final = (b"cache-control", b"no-cache")


def _kept(body: bytes, content_type: tuple[bytes, bytes], policy: tuple[bytes, bytes] = CLOSED_POLICY) -> Response:
    tag = b'"%b"' % hashlib.sha256(body).hexdigest()[:32].encode()
    return Response(body=body, headers=[content_type, (b"etag", tag)], policy=policy, caching=REVALIDATED)


_DOCUMENT: Final = build_document()
_OPENAPI: Final = _kept(encode(_DOCUMENT), JSON_TYPE)
_REFERENCE: Final = _kept(render(_DOCUMENT).encode(), HTML_TYPE, page_policy(STYLE))


async def show_openapi(request: Request, _front: Front) -> Response:
    return _unless_known(_OPENAPI, request)


async def show_reference(request: Request, _front: Front) -> Response:
    return _unless_known(_REFERENCE, request)


def _unless_known(whole: Response, request: Request) -> Response:
    """The document, or 304 to a caller whose copy is this one."""
    tag = dict(whole.headers)[b"etag"].decode()
    known = [entry.strip().removeprefix("W/") for entry in (request.head.header(b"if-none-match") or "").split(",")]
    if tag not in known and known != ["*"]:
        return whole
    headers = [header for header in whole.headers if header[0] == b"etag"]
    return Response(status=304, headers=headers, policy=whole.policy, caching=whole.caching)
