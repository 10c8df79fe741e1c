"""The page for browsers at a path that does not exist; programs get the error as JSON."""

from functools import cache
from html import escape
from typing import Final

from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response
from cloudconsole.server.http.static import ASSETS, HTML, PAGE_POLICY
from cloudconsole.spec.errors import NotFound
from cloudconsole.spec.i18n import Language, Text

_TITLE: Final = Text("Page not found", "页面不存在")
_CONSOLE: Final = Text("Cloud Console", "云控制台")
_TO_CONSOLE: Final = Text("Go to the console", "前往控制台")
_TO_REFERENCE: Final = Text("API reference", "接口文档（英文）")

_PAGE: Final = (
    '<!doctype html><html lang="{language}"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark"><title>{title} · {console}</title>'
    f'<script src="{ASSETS.address("theme.js")}"></script>'
    f'<link rel="icon" href="{ASSETS.address("icon.svg")}" type="image/svg+xml">'
    f'<link rel="stylesheet" href="{ASSETS.address("theme.css")}"></head>'
    '<body><main><div class="card not-found"><h1>{title}</h1><p>{text}</p><p class="row">'
    '<a class="button primary" href="/">{to_console}</a><a class="button" href="/docs/">{to_reference}</a></p></div>'
    "</main></body></html>"
)


def prefers_html(request: Request) -> bool:
    """Whether a browser asks for a page: programs and scripts accept anything, or JSON."""
    return request.method in ("GET", "HEAD") and "text/html" in (request.head.header(b"accept") or "").lower()


def not_found_page(request: Request) -> Response:
    return Response(404, _body(request.head.language), content_type=HTML, policy=PAGE_POLICY)


@cache
def _body(language: Language) -> bytes:
    texts = {
        "title": _TITLE,
        "console": _CONSOLE,
        "text": NotFound.text,
        "to_console": _TO_CONSOLE,
        "to_reference": _TO_REFERENCE,
    }
    chosen = {name: escape(getattr(text, language)) for name, text in texts.items()}
    return _PAGE.format(language=language, **chosen).encode()
