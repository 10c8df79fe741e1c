"""The `/api/` endpoint: `GET` opens a session, `POST` calls an action."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from msgspec import Struct

from cloudconsole.core.clock import Clock
from cloudconsole.core.coroutines import ensure_task
from cloudconsole.core.ports import CloudCredentials, Tenant
from cloudconsole.core.pricing import MONTH_DAYS
from cloudconsole.server.actions import ActionRunner, Handler
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.body import (
    Fields,
    media_type,
    parse_fields,
    read_body,
    required_text,
)
from cloudconsole.server.http.cookies import csrf_cookie, session_cookie
from cloudconsole.server.http.csrf import CsrfTokens
from cloudconsole.server.http.identity_providers import IdentityProviders
from cloudconsole.server.http.parameters import read_parameters
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import AGE, Response, cookie_headers, json_response
from cloudconsole.server.http.sessions import FoundSession, SessionFinder
from cloudconsole.server.http.token_revalidation import TokenRevalidator
from cloudconsole.spec import envelope
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.errors import LoginRequired, UnknownAction, UpstreamFailed, UpstreamTimeout
from cloudconsole.spec.i18n import Language, Text
from cloudconsole.spec.operations import FORM, JSON
from cloudconsole.spec.records import Welcome
from cloudconsole.store.session_lookup import Session

MAX_CACHED_BODY: Final = 256
"""Largest body, in bytes, whose parsed form is cached: small bodies are few and frequent."""

FIELDS: Final = ("action", *sorted({name for action in ACTIONS for name in action.parameter_names}))
"""Fields of the six actions."""

SERVICE_INFO = Text("Welcome to Cloud Console.", "欢迎使用云控制台。")


class _AcceptedCall(NamedTuple):
    """A call that has passed all checks; an equal one in the same session passes them too."""

    session: Session
    body: bytes
    handler: Handler
    parameters: Struct


@dataclass(frozen=True)
class ApiEndpoint:
    settings: Settings
    clock: Clock
    tokens: CsrfTokens
    sessions: SessionFinder
    providers: IdentityProviders
    handlers: Mapping[str, Handler]
    """By the name of their action."""
    actions: ActionRunner
    revalidator: TokenRevalidator

    async def open_session(self, request: Request) -> Response:
        """Set both cookies, reusing valid ones, and return the service information."""
        current = await self.sessions.find(request)
        cookies = cookie_headers(
            csrf_cookie(self._token_to_keep(request, current), self.clock.now(), secure=request.secure),
            session_cookie(self.sessions.id_to_keep(request, current), secure=request.secure),
        )
        return json_response(self._service_info(request.origin, request.head.language), headers=cookies)

    @cached_property
    def _service_info(self) -> Callable[[str | None, Language], bytes]:
        return lru_cache(maxsize=64)(self._encode_service_info)

    def _encode_service_info(self, origin: str | None, language: Language) -> bytes:
        data = Welcome(
            actions=[action.name for action in ACTIONS],
            regions=self.providers.offered(origin),
            currency=self.settings.currency,
            time_zone=self.settings.time_zone,
            month_days=MONTH_DAYS,
            extensions=[name for name, handler in self.handlers.items() if handler.action not in ACTIONS],
        )
        return envelope.success(SERVICE_INFO, language, envelope.encode(data))

    async def call(self, request: Request) -> Response:
        body = await read_body(request, self.settings.max_body)
        media = media_type(request, (JSON, FORM))
        current = await self.sessions.find(request)
        if current is None:
            raise LoginRequired
        session = current[1]
        if session.credentials is not None:
            return await self._call_federated(request, session, session.credentials, (body, media))
        handler, parameters = self._requested_action(request, session, body, media)
        tenant = Tenant(session.tenant_id, session.username)
        language = request.head.language
        entry = self.actions.cached(handler, tenant, parameters, language)
        if entry is None:
            entry = await self.actions.run(handler, tenant, parameters, language)
        return json_response(entry.body)

    async def _call_federated(
        self,
        request: Request,
        session: Session,
        access: CloudCredentials,
        sent: tuple[bytes, str],
    ) -> Response:
        """Run an action of a federated session: within one deadline, with the age of the data in the response."""
        client, language = request.client, request.head.language
        deadline = asyncio.get_running_loop().time() + self.settings.cloud_timeout
        if self.revalidator.is_due(session):
            async with _upstream(deadline):
                await self.revalidator.revalidate(session, access, client)
        handler, parameters = self._requested_action(request, session, *sent)
        tenant = Tenant(session.tenant_id, session.username, access, client)
        entry = self.actions.cached(handler, tenant, parameters, language)
        if entry is None:
            async with _upstream(deadline):
                try:
                    entry = await self.actions.run(handler, tenant, parameters, language)
                except LoginRequired as rejection:
                    # A service that cannot reach Keystone may reject any token: only Keystone itself ends a session.
                    await self.revalidator.revalidate(session, access, client)
                    raise UpstreamFailed from rejection
        if entry.read_at is None:
            return json_response(entry.body)
        age = max(0, int(self.clock.now() - entry.read_at))
        return json_response(entry.body, headers=[(AGE, b"%d" % age)])

    def _requested_action(self, request: Request, session: Session, body: bytes, media: str) -> tuple[Handler, Struct]:
        """Check the CSRF token, then return the requested action's handler and its parameters."""
        last: _AcceptedCall | None = request.head.memo
        if last is not None and last.session is session and last.body == body:
            request.call = last.handler.action.name
            return last.handler, last.parameters
        self.tokens.check_call(request, session)
        handler, fields = (self._parse_cached if len(body) <= MAX_CACHED_BODY else self._parse_action)(body, media)
        # Set before validation, so that metrics and audit log name the action of a rejected request.
        request.call = handler.action.name
        parameters = read_parameters(handler.action.parameters, fields, body, media)
        if len(body) <= MAX_CACHED_BODY:
            request.head.memo = _AcceptedCall(session, body, handler, parameters)
        return handler, parameters

    def _parse_action(self, body: bytes, media: str) -> tuple[Handler, Fields]:
        """Return the handler of the requested action, and the fields."""
        fields = parse_fields(body, media, FIELDS)
        handler = self.handlers.get(required_text(fields, "action"))
        if handler is None:
            raise UnknownAction
        return handler, fields

    @cached_property
    def _parse_cached(self) -> Callable[[bytes, str], tuple[Handler, Fields]]:
        return lru_cache(maxsize=1024)(self._parse_action)

    def _token_to_keep(self, request: Request, current: FoundSession | None) -> str:
        if current is not None and self.tokens.came_along(current[1], request):
            return self.tokens.from_seed(current[1].csrf_seed)
        for token in request.head.cookies.csrf_tokens:
            if self.tokens.is_ours(token):
                return token
        # A client that lost its token gets the session's token again: any other would fail the CSRF check.
        return self.tokens.from_seed(current[1].csrf_seed) if current else self.tokens.new()


@asynccontextmanager
async def _upstream(deadline: float) -> AsyncIterator[None]:
    """Limit calls of an upstream cloud to a deadline in event-loop time."""
    await ensure_task()
    try:
        async with asyncio.timeout_at(deadline):
            yield
    except TimeoutError as problem:
        raise UpstreamTimeout from problem
