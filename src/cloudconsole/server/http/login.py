"""Logging in and out."""

from dataclasses import dataclass

from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import Account, Identity
from cloudconsole.server.addresses import throttle_address
from cloudconsole.server.http.body import media_type, parse_fields, read_body, required_text
from cloudconsole.server.http.cookies import clear_session_cookie, csrf_cookie, session_cookie
from cloudconsole.server.http.csrf import CsrfTokens, check_origin
from cloudconsole.server.http.front import Front
from cloudconsole.server.http.regions import Regions
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import Headers, Response, cookie_headers
from cloudconsole.server.http.session import Sessions
from cloudconsole.server.http.turns import Turns
from cloudconsole.server.settings import Settings
from cloudconsole.server.writing import Writer
from cloudconsole.spec.errors import InvalidCredentials
from cloudconsole.spec.wire import FORM
from cloudconsole.store.activity import Activity, Attempt, Caller, NewSession
from cloudconsole.store.sessions import hash_session_id


@dataclass(frozen=True)
class LoginEndpoint:
    settings: Settings
    clock: Clock
    tokens: CsrfTokens
    sessions: Sessions
    regions: Regions
    identity: Identity
    activity: Activity
    writer: Writer
    turns: Turns

    async def log_in(self, request: Request, front: Front) -> Response:
        body = await read_body(request, self.settings.max_body)
        media = media_type(request, (FORM,))
        check_origin(request, front)
        fields = parse_fields(body, media)
        csrf_seed = self.tokens.check_login(request, fields.get("csrfmiddlewaretoken"))
        username, password, region = (required_text(fields, name) for name in ("username", "password", "region"))
        request.user = username if self.identity.recognises(username) else None
        self.regions.check(region, front.origin)
        caller = Caller(front.address, request.request_id)
        attempt = Attempt(username, throttle_address(front.address), caller)
        session_id = await self._admit(request, attempt, password, csrf_seed)
        return self._let_in(session_id, csrf_seed, front)

    async def log_out(self, request: Request, front: Front) -> Response:
        session = self.sessions.require(request)
        self.tokens.check_call(request, front, session)
        caller = Caller(front.address, request.request_id)
        await self.writer.run(self.activity.end_session, session.id_hash, session.username, caller, self._now())
        return Response(headers=cookie_headers(clear_session_cookie(secure=front.secure)))

    async def _admit(self, request: Request, attempt: Attempt, password: str, csrf_seed: str) -> str:
        """A new session for whom the caller proved to be; else a refusal, the same in words and time."""
        await self.writer.look(self.activity.check_throttle, attempt, self._now())
        with self.turns.taken(attempt.user_hash, attempt.network):
            account = await self.identity.authenticate(attempt.username, password)
        if account is None:
            await self.writer.run(self.activity.count_failure, attempt, request.user, self._now())
            raise InvalidCredentials
        return await self._open_session(request, attempt, account, csrf_seed)

    async def _open_session(self, request: Request, attempt: Attempt, account: Account, csrf_seed: str) -> str:
        session_id, now = self.sessions.new_id(), self._now()
        session = NewSession(
            id_hash=hash_session_id(session_id),
            csrf_seed=csrf_seed,
            expires_at=now + self.settings.session_lifetime,
            replaces=tuple(hash_session_id(old) for old in request.head.cookies.sessions),
        )
        await self.writer.run(self.activity.open_session, attempt, account, session, now)
        return session_id

    def _now(self) -> int:
        return int(self.clock.now())

    def _let_in(self, session_id: str, csrf_seed: str, front: Front) -> Response:
        headers: Headers = cookie_headers(
            session_cookie(session_id, secure=front.secure),
            csrf_cookie(self.tokens.from_seed(csrf_seed), self.clock.now(), secure=front.secure),
        )
        if self.settings.login_redirect:
            return Response(status=302, headers=[(b"location", b"/"), *headers])
        return Response(headers=headers)
