"""The one path of all actions: `GET` opens a session, `POST` calls an action."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from cloudconsole.core.clock import Clock
from cloudconsole.core.estimate import MONTH_DAYS
from cloudconsole.core.ports import Tenant
from cloudconsole.server.actions import HANDLERS, Handler, Ports
from cloudconsole.server.http.body import (
    Fields,
    media_type,
    parse_fields,
    read_body,
    required_identifier,
    required_text,
)
from cloudconsole.server.http.cookies import csrf_cookie, session_cookie
from cloudconsole.server.http.csrf import CsrfTokens
from cloudconsole.server.http.front import Front
from cloudconsole.server.http.regions import Regions
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Response, cookie_headers, json_response, plain_answer
from cloudconsole.server.http.session import Found, Sessions
from cloudconsole.server.payloads import Asked, Payloads
from cloudconsole.server.settings import Settings
from cloudconsole.spec import envelope
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.errors import UnknownAction
from cloudconsole.spec.language import Text
from cloudconsole.spec.records import Welcome
from cloudconsole.spec.wire import FORM, JSON

LARGEST_REMEMBERED: Final = 256
"""Bodies up to this size are remembered with what they ask for: there are few of them, and they come often."""

WELCOME = Text("Welcome to Cloud Console.", "欢迎使用云控制台。")


@dataclass(frozen=True)
class ApiEndpoint:
    settings: Settings
    clock: Clock
    tokens: CsrfTokens
    sessions: Sessions
    regions: Regions
    ports: Ports
    payloads: Payloads

    async def welcome(self, request: Request, front: Front) -> Response:
        """Both cookies, kept where they are good, and what a newcomer needs to know."""
        data = envelope.encode(
            Welcome(
                actions=[action.name for action in ACTIONS],
                regions=self.regions.offered(front.origin),
                currency=self.settings.currency,
                time_zone=self.settings.time_zone,
                month_days=MONTH_DAYS,
            )
        )
        found = self.sessions.find(request)
        cookies = cookie_headers(
            csrf_cookie(self._token_to_keep(request, found), self.clock.now(), secure=front.secure),
            session_cookie(self.sessions.id_to_keep(request, found), secure=front.secure),
        )
        return json_response(envelope.success(WELCOME, request.head.language, data), headers=cookies)

    async def call(self, request: Request, front: Front) -> Response:
        body = await read_body(request, self.settings.max_body)
        media = media_type(request, (JSON, FORM))
        session = self.sessions.require(request)
        self.tokens.check_call(request, front, session)
        handler, fields = (_lately_asked if len(body) <= LARGEST_REMEMBERED else _asked)(body, media)
        # Known from here on, also to those who count and note what is refused.
        request.call = handler.action.name
        parameters = tuple([required_identifier(fields, name) for name in handler.action.parameters])
        tenant = Tenant(session.tenant_id, session.username)
        asked = Asked(tenant, parameters, request.head.language, session.stamp)
        return plain_answer(await self.payloads.get(handler, self.ports, asked))

    def _token_to_keep(self, request: Request, found: Found | None) -> str:
        if found is not None and self.tokens.came_along(found[1], request):
            return self.tokens.from_seed(found[1].csrf_seed)
        for token in request.head.cookies.csrf_tokens:
            if self.tokens.is_ours(token):
                return token
        # A caller that lost its token gets the session's own again: another would not let it call anything.
        return self.tokens.from_seed(found[1].csrf_seed) if found else self.tokens.new()


def _asked(body: bytes, media: str) -> tuple[Handler, Fields]:
    """What a body asks for: the action's handler, and all fields."""
    fields = parse_fields(body, media)
    handler = HANDLERS.get(required_text(fields, "action"))
    if handler is None:
        raise UnknownAction
    return handler, fields


_lately_asked = lru_cache(maxsize=1024)(_asked)
