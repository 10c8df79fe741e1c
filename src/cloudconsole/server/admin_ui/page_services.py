"""What all pages share: rendering, notices, and suggestions for form fields."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from cloudconsole.backends.costs.reports import RecordedCosts
from cloudconsole.operator.entities import QUOTAS, EntityType
from cloudconsole.operator.entities.suggestions import suggestions
from cloudconsole.operator.messages import Message
from cloudconsole.operator.renames import renamed_to
from cloudconsole.operator.transaction import OperatorTransaction
from cloudconsole.server.admin_ui.database import DatabaseExecutor
from cloudconsole.server.admin_ui.fields import FormField
from cloudconsole.server.admin_ui.i18n import Label, language_of, localized_text
from cloudconsole.server.admin_ui.names import entity_name, entity_plural, title_of
from cloudconsole.server.admin_ui.sessions import OperatorRequest, OperatorSessions
from cloudconsole.server.admin_ui.templating import Renderer, link, redirect
from cloudconsole.server.http.cookies import clear_notice_cookie, notice_cookie, read_notice
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response, cookie_headers
from cloudconsole.spec.errors import NotFound
from cloudconsole.spec.i18n import Text

MAX_SUGGESTIONS: Final = 100
NOT_FOUND: Final = Text("Not found", "页面不存在")

_RENAMED: Final = ("It was renamed to {key}", "已重命名为 {key}")
_HISTORY: Final = Text("Search the audit log for it", "在审计日志中查找")

Suggestions = dict[str, list[str]]


@dataclass(frozen=True)
class PageServices:
    executor: DatabaseExecutor
    renderer: Renderer
    sessions: OperatorSessions
    costs: RecordedCosts
    """Reads the record only, not the cloud."""

    def page(
        self, template: str, request: Request, visit: OperatorRequest, *, status: int = 200, **values: Any
    ) -> Response:
        return self.renderer.page(template, request, status=status, visit=visit, **values)

    def noticed_page(self, template: str, request: Request, visit: OperatorRequest, **values: Any) -> Response:
        """Render a page with the notice of the last change, once."""
        notice = read_notice(request.head.header(b"cookie") or "", secure=request.secure)
        headers = [] if notice is None else cookie_headers(clear_notice_cookie(secure=request.secure))
        return self.page(template, request, visit, headers=headers, notice=notice, **values)

    def done(self, request: Request, entity: EntityType, subject: str, past: Label, location: str) -> Response:
        """Redirect to a page that shows what was done."""
        language = language_of(request)
        values = {"key": self.renderer.named(subject, entity, language), "past": past}
        if entity is QUOTAS:
            notice = Message("Quotas for {key}: {past}", "{key} 的配额：{past}", **values)
        else:
            one = entity_name(entity)
            label = Text(title_of(one.en), one.zh)
            notice = Message("{label} {key}: {past}", "{label} {key}：{past}", label=label, **values)
        text = localized_text(notice, language)
        return redirect(location, cookie_headers(notice_cookie(text, secure=request.secure)))

    def not_found(
        self, request: Request, visit: OperatorRequest, problem: Label, links: Iterable[tuple[Label, str]] = ()
    ) -> Response:
        """Render a 404 page."""
        request.outcome = NotFound.error
        title, links = NOT_FOUND, list(links)
        return self.page("error.html", request, visit, status=404, title=title, problem=problem, code=404, links=links)

    async def entity_not_found(
        self, request: Request, visit: OperatorRequest, entity: EntityType, key: str, problem: Label
    ) -> Response:
        """Render a 404 page that leads to the entity if it was renamed, and to what happened to it."""
        name = await self.executor.read(lambda tx: renamed_to(tx, entity, key))
        links: list[tuple[Label, str]] = []
        if name is not None:
            present = self.renderer.named(name, entity, language_of(request))
            links.append((Message(*_RENAMED, key=present), link(f"{entity.name}/one/", key=name)))
        history = link("audit/", subject=key, change=None if entity is QUOTAS else f"{entity.name}.")
        list_name = entity_plural(entity)
        links += [(_HISTORY, history), (Text(title_of(list_name.en), list_name.zh), link(f"{entity.name}/"))]
        return self.not_found(request, visit, problem, links)


def suggestions_for(tx: OperatorTransaction, controls: Iterable[FormField]) -> Suggestions:
    """Return names to suggest for fields that refer to tenants or nodes."""
    suggested = {control.suggests: control.suggests_enabled for control in controls if control.suggests}
    return {
        entity: [each["name"] for each in suggestions(tx, entity, is_enabled=is_enabled, limit=MAX_SUGGESTIONS)]
        for entity, is_enabled in suggested.items()
    }
