"""The page at `/`: what this is and how to begin. It loads nothing from elsewhere and runs no script."""

import base64
import hashlib
from html import escape
from typing import Final

from cloudconsole.server.http.front import Front
from cloudconsole.server.http.regions import Regions
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response
from cloudconsole.server.page_style import STYLE
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.language import Language, Text


def page_policy(style: str) -> tuple[bytes, bytes]:
    """The policy of a page with this style and nothing else."""
    style_hash = base64.b64encode(hashlib.sha256(style.encode()).digest())
    directives = (
        b"default-src 'none'; style-src 'sha256-%b'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )
    return b"content-security-policy", directives % style_hash


_POLICY: Final = page_policy(STYLE)

_TITLE: Final = Text("Cloud Console", "云控制台")
_LEAD: Final = Text(
    "The programmatic interface of a cloud: quotas and usage, flavors, URLs, CDN domains, news and estimated costs.",
    "云平台的编程接口：配额与用量、云主机配置、常用 URL、CDN 域名、新闻公告与预估消费。",
)
_BEGIN: Final = Text("Three steps", "三个步骤")
_STEPS: Final = (
    Text(
        "GET <a href='/api/'><code>/api/</code></a> sets the cookies <code>csrftoken</code> and <code>sessionid</code> "
        "and lists actions and regions.",
        "GET <a href='/api/'><code>/api/</code></a> 设置 Cookie <code>csrftoken</code> 与 <code>sessionid</code>，"
        "并列出操作与 region。",
    ),
    Text(
        "POST <code>/auth/login/</code> as a form: <code>csrfmiddlewaretoken</code>, <code>username</code>, "
        "<code>password</code> and <code>region</code>, here <code>{region}</code>.",
        "以表单 POST <code>/auth/login/</code>：<code>csrfmiddlewaretoken</code>、<code>username</code>、"
        "<code>password</code> 与 <code>region</code>（此处为 <code>{region}</code>）。",
    ),
    Text(
        "POST <code>/api/</code> with the field <code>action</code> and the header <code>X-CSRFToken</code>.",
        "POST <code>/api/</code>，带字段 <code>action</code> 与请求头 <code>X-CSRFToken</code>。",
    ),
)
_ACTIONS: Final = Text("Actions", "操作")
_DOCUMENTATION: Final = Text("Documentation", "文档")
_WHERE: Final = Text(
    "<a href='/docs/'>The reference</a> has every action, field and error, with examples; "
    "<a href='/openapi.json'>openapi.json</a> is the same for programs.",
    "<a href='/docs/'>参考手册</a>（英文）说明每个操作、字段与错误，并附示例；"
    "<a href='/openapi.json'>openapi.json</a> 供程序读取。",
)


class HomePage:
    def __init__(self, regions: Regions) -> None:
        self._regions = regions

    async def show(self, request: Request, front: Front) -> Response:
        """The page in the caller's language."""
        region = ", ".join(self._regions.offered(front.origin))
        html = _render(request.head.language, region).encode()
        return Response(body=html, headers=[(b"content-type", b"text/html; charset=utf-8")], policy=_POLICY)


def _render(language: Language, region: str) -> str:
    actions = "".join(
        f"<li><code>{action.name}</code> {escape(action.purpose.format_in(language))}</li>" for action in ACTIONS
    )
    steps = "".join(f"<li>{step.format_in(language, region=escape(region))}</li>" for step in _STEPS)
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_TITLE.format_in(language)}</title><style>{STYLE}</style></head><body><main>"
        f'<h1>{_TITLE.format_in(language)}</h1><p class="lead">{_LEAD.format_in(language)}</p>'
        f"<h2>{_BEGIN.format_in(language)}</h2><ol>{steps}</ol>"
        f"<h2>{_ACTIONS.format_in(language)}</h2><ul>{actions}</ul>"
        f"<h2>{_DOCUMENTATION.format_in(language)}</h2><p>{_WHERE.format_in(language)}</p></main></body></html>"
    )
