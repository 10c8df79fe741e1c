"""The application: everything is put together here, and the way of one request can be read from top to bottom."""

import logging
import secrets
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from cloudconsole.backends.embedded.cloud import EmbeddedCloud
from cloudconsole.backends.embedded.content import EmbeddedContent
from cloudconsole.backends.embedded.identity import EmbeddedIdentity
from cloudconsole.core.clock import Clock, SystemClock
from cloudconsole.server.actions import Ports
from cloudconsole.server.http.api import ApiEndpoint
from cloudconsole.server.http.csrf import CsrfTokens
from cloudconsole.server.http.front import Front, FrontDoor
from cloudconsole.server.http.head import Heads
from cloudconsole.server.http.login import LoginEndpoint
from cloudconsole.server.http.page import HomePage
from cloudconsole.server.http.regions import Regions
from cloudconsole.server.http.request import ClientGone, Receive, Request, Scope, Send
from cloudconsole.server.http.response import Response, json_response, refusal_response, send_response
from cloudconsole.server.http.session import Sessions
from cloudconsole.server.logs import current_request_id
from cloudconsole.server.payloads import Payloads
from cloudconsole.server.settings import Settings
from cloudconsole.server.writing import Writer
from cloudconsole.spec import envelope
from cloudconsole.spec.errors import ApiError, InternalError, MethodNotAllowed, NotFound, Unavailable
from cloudconsole.spec.language import Text
from cloudconsole.store.activity import Activity
from cloudconsole.store.engine import open_engine
from cloudconsole.store.reader import Reader
from cloudconsole.store.sessions import SessionReader

log = logging.getLogger(__name__)
access_log = logging.getLogger("cloudconsole.access")

Endpoint = Callable[[Request, Front], Awaitable[Response]]

SLASH_MISSING: Final = Text("This path ends with a slash: {path}", "此路径以斜杠结尾：{path}")
WITHOUT_SLASH: Final = {"/api", "/auth/login", "/auth/logout"}


class Console:
    """An ASGI application over one data folder; `draining` makes it refuse what is new and finish what is under way."""

    def __init__(self, settings: Settings, clock: Clock | None = None) -> None:
        clock = clock or SystemClock()
        reader = Reader(settings.data)
        engine = open_engine(settings.data, "activity")
        activity = Activity(engine)
        hashing, writing = ThreadPoolExecutor(1, "hashing"), ThreadPoolExecutor(1, "writing")
        writer = Writer(writing)

        tokens = CsrfTokens(activity.secret("csrf", fresh=secrets.token_bytes(32)))
        sessions = Sessions(tokens, SessionReader(reader, settings.session_idle), activity, writer, clock)
        regions = Regions(settings)
        identity = EmbeddedIdentity(reader, hashing)
        cloud = EmbeddedCloud(reader, clock, settings.zone)
        ports = Ports(cloud, EmbeddedContent(reader, clock, settings.zone))
        api = ApiEndpoint(settings, clock, tokens, sessions, regions, ports, Payloads(clock))
        login = LoginEndpoint(settings, clock, tokens, sessions, regions, identity, activity, writer)

        self._routes: dict[str, dict[str, Endpoint]] = {
            "/": {"GET": HomePage(regions).show},
            "/api/": {"GET": api.welcome, "POST": api.call},
            "/auth/login/": {"POST": login.log_in},
            "/auth/logout/": {"POST": login.log_out},
        }
        self._heads = Heads()
        self._front_door = FrontDoor(settings)
        self._log_calls = settings.access_log
        self._held = (hashing, writing, engine, reader)
        self.in_flight = 0
        self.draining = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope, self._heads.read(scope["headers"]), receive)
            current_request_id.set(request.request_id)
            self.in_flight += 1
            try:
                response = await self._answer(request)
                await send_response(response, request, send)
            except ClientGone:
                log.info("%s %r: the caller went away", request.method, request.path)
            finally:
                self.in_flight -= 1

    async def _answer(self, request: Request) -> Response:
        try:
            if self.draining:
                raise Unavailable
            response = await self._dispatch(request, self._front_door.enter(request))
        except ApiError as error:
            if isinstance(error, Unavailable) and error.__cause__:
                log.warning("unavailable: %s", error.__cause__)
            response = refusal_response(error, request)
        except ClientGone:
            raise
        except Exception:
            log.exception("%s %r failed", request.method, request.path)
            response = refusal_response(InternalError(request.request_id), request)
        if self._log_calls:
            access_log.info("%s %r %d", request.method, request.path, response.status)
        return response

    async def _dispatch(self, request: Request, front: Front) -> Response:
        if request.path in WITHOUT_SLASH and request.method != "OPTIONS":
            query = b"?" + request.query if request.query else b""
            notice = envelope.notice(SLASH_MISSING, 308, request.head.language, path=request.path + "/")
            return json_response(notice, 308, [(b"location", request.path.encode() + b"/" + query)])
        endpoints = self._routes.get(request.path) or self._routes.get(request.path + "/", {})
        endpoint = endpoints.get("GET" if request.method == "HEAD" else request.method)
        if endpoint is not None:
            return await endpoint(request, front)
        allow = ", ".join([*endpoints, *(["HEAD"] if "GET" in endpoints else []), "OPTIONS"])
        if request.method == "OPTIONS":
            return Response(status=204, headers=[(b"allow", allow.encode())])
        raise MethodNotAllowed(allow) if endpoints else NotFound

    def close(self) -> None:
        hashing, writing, engine, reader = self._held
        hashing.shutdown()
        writing.shutdown()
        engine.dispose()
        reader.close()
