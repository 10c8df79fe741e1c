"""The console: wires all components together and dispatches requests."""

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from sqlalchemy import Engine

from cloudconsole.backends.costs.reports import RecordedCosts
from cloudconsole.backends.embedded.cloud import EmbeddedCloud
from cloudconsole.backends.embedded.content import EmbeddedContent
from cloudconsole.backends.embedded.identity import AT_ONCE, QUEUE_LIMIT, QUEUE_SECONDS, EmbeddedIdentity
from cloudconsole.backends.prices import StoredPriceCatalog
from cloudconsole.backends.router import CloudRouter
from cloudconsole.core.clock import Clock
from cloudconsole.core.coroutines import ensure_task
from cloudconsole.core.login_throttle import widest
from cloudconsole.core.ports import Cloud, Ports, PriceMissing
from cloudconsole.server.access_log import RequestObserver
from cloudconsole.server.actions import ActionRunner
from cloudconsole.server.admin_ui.app import AdminUi
from cloudconsole.server.audit_log import AuditLog
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.extensions import enabled_handlers
from cloudconsole.server.http.api import ApiEndpoint
from cloudconsole.server.http.console_page import show_console
from cloudconsole.server.http.cookies import OPERATOR_PATH
from cloudconsole.server.http.csrf import CsrfTokens
from cloudconsole.server.http.health import ALIVE_PATH, HEALTH_PATHS, READY_PATH, HealthEndpoint
from cloudconsole.server.http.identity_providers import LOCAL_REGION, IdentityProvider, IdentityProviders
from cloudconsole.server.http.login import LoginEndpoint
from cloudconsole.server.http.login_queue import ConcurrencyLimiter
from cloudconsole.server.http.login_service import Authenticator, Rehasher
from cloudconsole.server.http.not_found_page import not_found_page, prefers_html
from cloudconsole.server.http.proxy import ProxyPolicy, UndeclaredProxies
from cloudconsole.server.http.request import ClientGone, Request, RequestSequence, new_request_id
from cloudconsole.server.http.response import Response, Route, Routes, error_response, json_response
from cloudconsole.server.http.sessions import SessionFinder
from cloudconsole.server.http.static import ASSETS, reference_routes
from cloudconsole.server.http.token_revalidation import TokenRevalidator
from cloudconsole.server.ip_addresses import throttle_address
from cloudconsole.server.logging import current_request_id
from cloudconsole.server.metrics.layout import (
    BEFORE_ACTION,
    CACHE_BYTES,
    LEASE_LOST,
    LOGIN,
    LOGOUT,
    OPEN_SESSION,
    OTHER,
    PASSWORDS_WAITING,
    STORE_ERRORS,
    WRITES_WAITING,
)
from cloudconsole.server.metrics.shared_memory import WorkerMetrics, standalone_metrics
from cloudconsole.server.response_cache import ResponseCache
from cloudconsole.server.test_mode.runtime import ServerRuntime
from cloudconsole.server.writer import Writer, lower_priority
from cloudconsole.spec import envelope
from cloudconsole.spec.errors import ApiError, InternalError, MethodNotAllowed, NotFound, Unavailable
from cloudconsole.spec.i18n import Text
from cloudconsole.store.activity_writes import ActivityStore
from cloudconsole.store.base import Reader
from cloudconsole.store.login_throttle import LoginThrottle, RecentLogins
from cloudconsole.store.session_lookup import SessionCache

if TYPE_CHECKING:
    from cloudconsole.server.openstack import OpenStack

log = logging.getLogger(__name__)

SLASH_MISSING: Final = Text("This path ends with a slash: {path}", "此路径以斜杠结尾：{path}")
WITHOUT_SLASH: Final = {"/api", "/auth/login", "/auth/logout", "/docs"}


class Console:
    """The application over one store; while `draining`, it rejects new requests and finishes running ones."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock | None = None,
        metrics: WorkerMetrics | None = None,
        runtime: ServerRuntime | None = None,
    ) -> None:
        runtime = runtime or ServerRuntime()
        clock = clock or runtime.clock
        metrics = metrics or standalone_metrics(settings.plugin_names)
        self.sequence = RequestSequence()
        store = settings.store
        reader = store.reader()
        engine = store.open_engine("activity")
        activity = ActivityStore(engine)
        hashing = ThreadPoolExecutor(1, "hashing", lower_priority)
        writer = Writer("writing", metrics, store.replication_wait_seconds)

        randomness = runtime.randomness
        tokens = CsrfTokens(activity.secret("csrf", fresh=randomness.token_bytes(32)), randomness)
        session_cache = SessionCache(reader, settings.session_idle)
        sessions = SessionFinder(
            tokens, session_cache, reader.changes, self.sequence, activity, writer, clock, randomness
        )
        regions = IdentityProviders(settings)
        identity = EmbeddedIdentity(reader, hashing)
        cloud: Cloud = EmbeddedCloud(reader, clock, settings.zone)
        limiter = ConcurrencyLimiter(QUEUE_LIMIT, at_once=AT_ONCE, retry_after=QUEUE_SECONDS)
        providers = {LOCAL_REGION: IdentityProvider(identity, limiter)}
        self._openstack = _openstack(settings, reader, engine, clock, writer, metrics)
        if self._openstack is not None:
            cloud = CloudRouter(cloud, self._openstack.cloud)
            providers |= self._openstack.providers
        cache = ResponseCache(reader.changes, clock, metrics)
        content = EmbeddedContent(reader, clock, settings.zone)
        store_access = (reader, clock, settings.zone)
        read_cloud = None if self._openstack is None else self._openstack.collector.read
        costs = RecordedCosts(*store_access, settings.issuer, read_cloud)
        ports = Ports(cloud, content, StoredPriceCatalog(*store_access), costs, clock)
        handlers = enabled_handlers(settings)
        revalidator = TokenRevalidator(providers, settings.identity_recheck, clock, activity, writer)
        api = ApiEndpoint(settings, clock, tokens, sessions, regions, handlers, ActionRunner(ports, cache), revalidator)
        throttle = LoginThrottle(reader, store.replication_wait_seconds)
        # By the widest network, so that one site takes few entries of the bounded cache.
        recent = RecentLogins(reader, lambda address: widest(throttle_address(address)))
        rehasher = Rehasher(store, hashing, Writer("rehashing", metrics))
        authenticator = Authenticator(
            settings, clock, sessions, providers, activity, writer, revalidator, throttle, recent, rehasher
        )
        login = LoginEndpoint(settings, clock, tokens, sessions, regions, authenticator)

        health = HealthEndpoint(reader, is_draining=lambda: self.draining)

        self._routes: Routes = {
            "/": {"GET": Route(OTHER, show_console)},
            **reference_routes(tuple(handler.action for handler in handlers.values())),
            "/api/": {
                "GET": Route(OPEN_SESSION, api.open_session, needs_task=False),
                "POST": Route(BEFORE_ACTION, api.call, needs_task=False),
            },
            "/auth/login/": {"POST": Route(LOGIN, login.login)},
            "/auth/logout/": {"POST": Route(LOGOUT, login.logout)},
            ALIVE_PATH: {"GET": Route("healthz", health.alive)},
            READY_PATH: {"GET": Route("readyz", health.ready)},
            **ASSETS.routes,
        }
        self._without_slash = WITHOUT_SLASH
        self._admin_ui: AdminUi | None = None
        if settings.admin_ui:
            recorded_costs = RecordedCosts(*store_access, settings.issuer)
            check_endpoints = None if self._openstack is None else self._openstack.check_endpoints
            self._admin_ui = AdminUi(
                settings, clock, tokens, sessions, authenticator, engine, metrics, recorded_costs, check_endpoints
            )
            self._routes |= self._admin_ui.routes
            self._without_slash = WITHOUT_SLASH | {path.rstrip("/") for path in self._admin_ui.routes}
        self._controls = runtime.make_controls(settings, writer, sessions) if runtime.make_controls else None
        if self._controls is not None:
            self._routes = self._controls.around(self._routes)
        self._proxy_policy = ProxyPolicy(
            settings, UndeclaredProxies(activity, writer, clock), takes_from_proxies=runtime.is_ordinary
        )
        self._metrics = metrics
        self._audit = AuditLog(metrics)
        self._observer = RequestObserver(
            metrics, self._audit, access_lines=settings.access_log, quiet_paths=HEALTH_PATHS
        )
        if self._controls is not None:
            self._observer = self._controls.observed(self._observer)
        self._watched = (limiter, writer, cache, reader.changes)
        self._held = (hashing, rehasher.writer, writer, engine, reader)
        self.draining = False

    async def handle(self, request: Request) -> Response | None:
        """Return the response to a request, or None if its client has disconnected."""
        request.started = time.perf_counter_ns()
        request.request_id = request.head.given_request_id or new_request_id()
        current_request_id.set(request.request_id)
        try:
            self._check(request)
            route = self._route(request)
            request.call = route.call
            if route.needs_task:
                await ensure_task()
            response = await route.endpoint(request)
        except ClientGone:
            self.client_gone(request)
            return None
        except Exception as problem:  # noqa: BLE001 - it is logged
            response = self._respond_to(problem, request)
        self._observer.finished(request, response.status)
        return response

    def client_gone(self, request: Request) -> None:
        """Record a request whose client no longer waits for the response."""
        self._observer.client_gone(request)

    def _respond_to(self, problem: Exception, request: Request) -> Response:
        if isinstance(problem, ApiError):
            if isinstance(problem, Unavailable):
                self._count_store_error(problem)
            request.outcome = problem.error
            return self._render_error(problem, request)
        if isinstance(problem, PriceMissing):
            log.error("%s", problem)
        else:
            log.error("%s %s failed", request.method, request.path, exc_info=problem)
        request.outcome = InternalError.error
        return self._render_error(InternalError(request.request_id), request)

    def _count_store_error(self, error: Unavailable) -> None:
        if error.of_store or error.__cause__:
            self._metrics.add(STORE_ERRORS)
        if error.__cause__:
            log.warning("unavailable: %s", error.__cause__)

    def _render_error(self, error: ApiError, request: Request) -> Response:
        """Render an error as a page for operators and, of unknown paths, for browsers; as an envelope for programs."""
        if self._admin_ui is not None and request.path.startswith(OPERATOR_PATH):
            return self._admin_ui.error_page(error, request)
        if isinstance(error, NotFound) and prefers_html(request):
            return not_found_page(request)
        return error_response(error, request)

    def _check(self, request: Request) -> None:
        if request.path in HEALTH_PATHS:
            # Probes use the IP address as Host, and must work while the server stops.
            return
        if self.draining:
            raise Unavailable
        self._proxy_policy.apply(request)

    def _route(self, request: Request) -> Route:
        routes = self._routes.get(request.path) or self._routes.get(request.path + "/", {})
        route = routes.get("GET" if request.method == "HEAD" else request.method)
        if route is not None and request.path not in self._without_slash:
            return route
        return Route(OTHER, self._respond_without_route)

    async def _respond_without_route(self, request: Request) -> Response:
        if request.path in self._without_slash and request.method != "OPTIONS":
            query = b"?" + request.query if request.query else b""
            notice = envelope.notice(SLASH_MISSING, 308, request.head.language, path=request.path + "/")
            return json_response(notice, 308, [(b"location", request.path.encode() + b"/" + query)])
        routes = self._routes.get(request.path) or self._routes.get(request.path + "/", {})
        allow = ", ".join([*routes, *(["HEAD"] if "GET" in routes else []), "OPTIONS"])
        if request.method == "OPTIONS":
            return Response(status=204, headers=[(b"allow", allow.encode())])
        error: ApiError = MethodNotAllowed(allow) if routes else NotFound()
        if self._admin_ui is not None and request.path.startswith(OPERATOR_PATH):
            return await self._admin_ui.without_route(request, error)
        raise error

    async def leave(self) -> None:
        """Close what is bound to the running event loop; `close` does the rest."""
        if self._openstack is not None:
            await self._openstack.leave()
        *_, reader = self._held
        await reader.leave()

    def hurry(self) -> None:
        """End injected delays of running requests, because the server stops."""
        if self._controls is not None:
            self._controls.end_delays()

    def run_periodic_work(self) -> None:
        """Update the gauges and run periodic work; call this a few times a second."""
        limiter, writer, cache, changes = self._watched
        self._metrics.set(PASSWORDS_WAITING, limiter.waiting)
        self._metrics.set(WRITES_WAITING, writer.waiting)
        self._metrics.set(CACHE_BYTES, cache.bytes)
        self._metrics.set(LEASE_LOST, int(changes.is_stale))
        self._audit.log_suppressed()
        if self._openstack is not None:
            self._openstack.tick()

    def close(self) -> None:
        self._audit.log_suppressed(until_now=True)
        if self._admin_ui is not None:
            self._admin_ui.close()
        hashing, rehashing, writer, engine, reader = self._held
        hashing.shutdown()
        rehashing.close()
        writer.close()
        engine.dispose()
        reader.close()
        if self._openstack is not None:
            self._openstack.close()
        if self._controls is not None:
            self._controls.close()


def _openstack(
    settings: Settings, reader: Reader, activity: Engine, clock: Clock, writer: Writer, metrics: WorkerMetrics
) -> "OpenStack | None":
    if not settings.has_keystone:
        return None
    # Imported only here: a console without Keystone does not need these modules.
    from cloudconsole.server.openstack import UpstreamObserver, open_openstack

    # A separate writer: creating a tenant may wait for an operator's change, and other logins must not wait for it.
    adopter = Writer("adopting", metrics)
    return open_openstack(settings, reader, activity, clock, writer, adopter, UpstreamObserver(metrics))
