"""Routes and error pages of the admin UI."""

from typing import Final

from sqlalchemy import Engine

from cloudconsole.backends.costs.reports import RecordedCosts
from cloudconsole.core.clock import Clock
from cloudconsole.operator.entities import ENTITY_TYPES, EntityType
from cloudconsole.operator.messages import Message
from cloudconsole.server.admin_ui.attention import AttentionReader, CheckEndpoints
from cloudconsole.server.admin_ui.database import DatabaseExecutor
from cloudconsole.server.admin_ui.i18n import Label
from cloudconsole.server.admin_ui.page_services import NOT_FOUND, PageServices
from cloudconsole.server.admin_ui.row_actions import row_actions_for
from cloudconsole.server.admin_ui.sessions import OperatorRequest, OperatorSessions, SignInView
from cloudconsole.server.admin_ui.templating import (
    AUDIT_PATH,
    LANGUAGE_PATH,
    SIGN_IN_PATH,
    SIGN_OUT_PATH,
    SUGGEST_PATH,
    Renderer,
    back_of,
    key_of,
    link,
    parse_query,
    redirect,
)
from cloudconsole.server.admin_ui.views.audit import AuditView
from cloudconsole.server.admin_ui.views.create import CreateView
from cloudconsole.server.admin_ui.views.detail import DetailView
from cloudconsole.server.admin_ui.views.home import HomeView
from cloudconsole.server.admin_ui.views.list import ListView
from cloudconsole.server.admin_ui.views.row_action import RowActionView
from cloudconsole.server.admin_ui.views.suggest import SuggestView
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.cookies import OPERATOR_PATH
from cloudconsole.server.http.csrf import CsrfTokens
from cloudconsole.server.http.login_service import Authenticator
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Endpoint, Response, Route, Routes, error_headers
from cloudconsole.server.http.sessions import SessionFinder
from cloudconsole.server.metrics.layout import ADMIN_UI, OPERATOR_LOGIN, OPERATOR_LOGOUT
from cloudconsole.server.metrics.shared_memory import WorkerMetrics
from cloudconsole.spec.errors import ApiError, LoginRequired, MethodNotAllowed, Unavailable
from cloudconsole.spec.i18n import Text

_TITLES: Final = {
    400: Text("Bad request", "请求无效"),
    403: Text("Forbidden", "禁止访问"),
    404: NOT_FOUND,
    405: Text("Method not allowed", "不支持的请求方法"),
    413: Text("Request too large", "请求过大"),
    415: Text("Unsupported media type", "不支持的内容类型"),
    500: Text("Something went wrong", "出错了"),
    503: Text("Service unavailable", "服务不可用"),
}
_REJECTED: Final = Text("Rejected", "请求被拒绝")
_OUTCOME_UNKNOWN: Final = Text(
    " If you sent a change, the audit log shows whether it was made.",
    "如果您提交了更改，可在审计日志中查看是否已生效。",
)
_WRONG_METHOD: Final = (
    "This address does not accept {method} requests, so nothing was changed.",
    "此地址不接受 {method} 请求，未做任何更改。",
)
_OPEN_PAGE: Final = Text("Open the page at this address", "打开此地址的页面")


class AdminUi:
    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        tokens: CsrfTokens,
        sessions: SessionFinder,
        authenticator: Authenticator,
        activity: Engine,
        metrics: WorkerMetrics,
        costs: RecordedCosts,
        check_endpoints: CheckEndpoints | None = None,
    ) -> None:
        self._sessions = OperatorSessions(sessions, tokens, clock)
        self._renderer = Renderer(settings.zone, settings.time_zone, settings.currency, clock)
        self._executor = DatabaseExecutor(
            settings.store, activity, clock, settings.zone, metrics, settings.password_policy
        )
        self._context = PageServices(self._executor, self._renderer, self._sessions, costs)
        attention = AttentionReader(self._executor, metrics, check_endpoints, is_embedded=settings.database is None)
        audit = AuditView(self._context)
        self._sign_in = SignInView(self._sessions, authenticator, tokens, clock, self._renderer)
        self.routes: Routes = {
            OPERATOR_PATH: {"GET": _route(HomeView(self._context, attention).show)},
            SIGN_IN_PATH: {
                "GET": _route(self._sign_in.show),
                "POST": Route(OPERATOR_LOGIN, self._sign_in.sign_in),
            },
            SIGN_OUT_PATH: {"POST": Route(OPERATOR_LOGOUT, self._sign_in.sign_out)},
            LANGUAGE_PATH: {"POST": _route(self._sign_in.choose_language)},
            SUGGEST_PATH: {"GET": _route(SuggestView(self._context).show)},
            AUDIT_PATH: {"GET": _route(audit.show)},
            f"{AUDIT_PATH}csv/": {"GET": _route(audit.download)},
        }
        for entity in ENTITY_TYPES:
            self.routes |= self._routes_of(entity)
        self._sign_in.pages = self.routes
        self.routes = {path: {"GET": _route(_go_to_page), **methods} for path, methods in self.routes.items()}

    def _routes_of(self, entity: EntityType) -> Routes:
        base, one = f"{OPERATOR_PATH}{entity.name}/", DetailView(entity, self._context)
        listed = ListView(entity, self._context)
        routes: Routes = {
            base: {"GET": _route(listed.show)},
            f"{base}csv/": {"GET": _route(listed.download)},
            f"{base}one/": {"GET": _route(one.show)},
        }
        if "add" in entity.verbs:
            adding = CreateView(entity, self._context)
            routes[f"{base}add/"] = {"GET": _route(adding.show), "POST": _route(adding.add)}
            self._sign_in.restores[f"{base}add/"] = adding.restore
        if "change" in entity.verbs:
            routes[f"{base}change/"] = {"POST": _route(one.change)}
            self._sign_in.restores[f"{base}change/"] = one.restore
        for action in row_actions_for(entity):
            page = RowActionView(action, self._context)
            routes[OPERATOR_PATH + action.path] = {"GET": _route(page.ask), "POST": _route(page.do)}
            self._sign_in.restores[OPERATOR_PATH + action.path] = page.restore
        return routes

    async def without_route(self, request: Request, error: ApiError) -> Response:
        """Render the page for an unknown path or method, which has navigation if an operator is signed in."""
        visit = await self._sessions.find(request)
        if visit is None:
            raise error
        request.outcome = error.error
        return self._error_page(error, request, visit)

    def error_page(self, error: ApiError, request: Request) -> Response:
        """Render an API error as a page without navigation: the session may be what cannot be read."""
        if isinstance(error, LoginRequired):
            return self._sign_in.send_there(request, error)
        return self._error_page(error, request, None)

    def _error_page(self, error: ApiError, request: Request, visit: OperatorRequest | None) -> Response:
        problem: Label = Text(error.message("en"), error.message("zh"))
        if isinstance(error, Unavailable) and request.method == "POST":
            problem = Message("{problem}{more}", "{problem}{more}", problem=problem, more=_OUTCOME_UNKNOWN)
        links: list[tuple[Label, str]] = []
        if isinstance(error, MethodNotAllowed):
            problem = Message(*_WRONG_METHOD, method=request.method)
            links = [(_OPEN_PAGE, request.path)] if "GET" in error.allow.split(", ") else []
        return self._renderer.page(
            "error.html",
            request,
            status=error.code,
            headers=error_headers(error),
            visit=visit,
            title=_TITLES.get(error.code, _REJECTED),
            problem=problem,
            code=error.code,
            links=links,
        )

    def close(self) -> None:
        self._executor.close()


async def _go_to_page(request: Request) -> Response:
    """Redirect from an address that only accepts a form to the page that has it."""
    entity, _, verb = request.path.removeprefix(OPERATOR_PATH).partition("/")
    if verb != "change/":
        return redirect(OPERATOR_PATH)
    key = key_of(parse_query(request))
    return redirect(link(f"{entity}/one/", key=key, back=back_of(request)) if key else link(f"{entity}/"))


def _route(endpoint: Endpoint) -> Route:
    return Route(ADMIN_UI, endpoint)
