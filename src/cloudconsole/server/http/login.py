"""Login and logout endpoints."""

from dataclasses import dataclass

from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import Credentials
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.body import media_type, optional_identifier, parse_form, read_body, required_text
from cloudconsole.server.http.cookies import clear_session_cookie, csrf_cookie, session_cookie
from cloudconsole.server.http.csrf import CsrfTokens, check_origin
from cloudconsole.server.http.identity_providers import LOCAL_REGION, IdentityProviders
from cloudconsole.server.http.login_service import Authenticator, SessionRequest
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import HeaderList, Response, cookie_headers
from cloudconsole.server.http.sessions import SessionFinder
from cloudconsole.spec.errors import LoginRequired
from cloudconsole.spec.operations import FORM


@dataclass(frozen=True)
class LoginEndpoint:
    settings: Settings
    clock: Clock
    tokens: CsrfTokens
    sessions: SessionFinder
    providers: IdentityProviders
    authenticator: Authenticator

    async def login(self, request: Request) -> Response:
        body = await read_body(request, self.settings.max_body)
        media_type(request, (FORM,))
        check_origin(request)
        fields = parse_form(body)
        csrf_seed = self.tokens.check_login(request, fields.get("csrfmiddlewaretoken"))
        username, password, region = (required_text(fields, name) for name in ("username", "password", "region"))
        user_domain, project = (optional_identifier(fields, name) for name in ("user_domain", "project"))
        credentials = Credentials(username, password, user_domain, project)
        request.user = await self.authenticator.known_username(username)
        endpoint = self.providers.for_region(region, request.origin)
        if endpoint != LOCAL_REGION:
            request.user = await self.authenticator.known_username(username, endpoint)
        replaces = [session_id for session_id, _ in request.head.sessions]
        new_session = SessionRequest(csrf_seed, replaces, endpoint=endpoint)
        session_id = await self.authenticator.login(request, credentials, new_session)
        return self._logged_in(session_id, csrf_seed, request)

    async def logout(self, request: Request) -> Response:
        try:
            session = await self.sessions.require(request)
        except LoginRequired:
            if request.head.sessions:
                # Another replica may have ended it a moment ago, with its response lost.
                await self.authenticator.writer.wait_for_replicas()
            raise
        self.tokens.check_call(request, session)
        await self.authenticator.logout(request, session)
        return Response(headers=cookie_headers(clear_session_cookie(secure=request.secure)))

    def _logged_in(self, session_id: str, csrf_seed: str, request: Request) -> Response:
        headers: HeaderList = cookie_headers(
            session_cookie(session_id, secure=request.secure),
            csrf_cookie(self.tokens.from_seed(csrf_seed), self.clock.now(), secure=request.secure),
        )
        if self.settings.login_redirect:
            return Response(status=302, headers=[(b"location", b"/"), *headers])
        return Response(headers=headers)
