"""Operator sessions, sign-in and sign-out."""

import re
from typing import Final, NamedTuple
from urllib.parse import urlencode

from cloudconsole.core.clock import Clock
from cloudconsole.core.hosts import parse_origin
from cloudconsole.server.admin_ui.templating import SIGN_IN_PATH, Renderer, parse_query, redirect
from cloudconsole.server.http.authentication import Authenticator, SessionRequest
from cloudconsole.server.http.body import media_type, parse_form, read_body, required_text
from cloudconsole.server.http.cookies import (
    OPERATOR_PATH,
    clear_operator_cookie,
    csrf_cookie,
    operator_cookie,
    read_operator_cookies,
)
from cloudconsole.server.http.csrf import SEED_LENGTH, CsrfTokens, check_origin
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import HeaderList, Response, Routes, cookie_headers
from cloudconsole.server.http.sessions import OPERATORS, Sessions
from cloudconsole.spec.constants import FORM
from cloudconsole.spec.errors import (
    ApiError,
    CsrfFailed,
    InvalidCredentials,
    LoginRequired,
    MissingField,
    TooManyRequests,
)
from cloudconsole.store.sessions import Session, hash_session_id
from cloudconsole.store.tables.activity import OPERATOR_LOGIN, OPERATOR_LOGOUT

OPERATOR: Final = "operator"
"""Role that may sign in."""
TOKEN_FIELD: Final = "csrfmiddlewaretoken"  # noqa: S105 - a name
LARGEST_FORM: Final = 1_048_576
"""Of an operator who is signed in: a domain's structured parts may be long."""

_SESSION_ID: Final = re.compile(rf"{OPERATORS}[0-9a-f]{{48}}")


class OperatorRequest(NamedTuple):
    """An operator's request: whose, and the token that forms get."""

    session: Session
    token: str

    @property
    def username(self) -> str:
        return self.session.username


class FormPost(NamedTuple):
    """A form that an operator sent."""

    visit: OperatorRequest
    fields: dict[str, str]
    is_current: bool
    """Whether its token is this session's; else it is one of our own pages from before a sign-in."""


class OperatorSessions:
    def __init__(self, sessions: Sessions, tokens: CsrfTokens, clock: Clock) -> None:
        self._sessions = sessions
        self._tokens = tokens
        self._clock = clock

    def held(self, request: Request) -> list[str]:
        """The ids of operators' sessions that the request has, live or not."""
        values = read_operator_cookies(request.head.header(b"cookie") or "", secure=request.secure)
        return [value for value in values if _SESSION_ID.fullmatch(value)]

    async def find(self, request: Request) -> OperatorRequest | None:
        """The live session of an account that is an operator's now."""
        now = self._clock.now()
        for session_id in self.held(request):
            session = await self._sessions.lookup(hash_session_id(session_id), request.arrival, now)
            if session is not None and session.role == OPERATOR:
                request.user = session.username
                self._sessions.touch(session, now)
                return OperatorRequest(session, self._tokens.from_seed(session.csrf_seed))
        return None

    async def require(self, request: Request) -> OperatorRequest:
        visit = await self.find(request)
        if visit is None:
            raise LoginRequired
        return visit

    async def receive(self, request: Request) -> FormPost:
        """A form that an operator sent from one of our pages; refused where a foreign page may have sent it."""
        await self.require(request)
        body = await read_body(request, LARGEST_FORM)
        # Again: a body may take its time, and whoever sends it may be no operator any more.
        visit = await self.require(request)
        media_type(request, (FORM,))
        check_origin(request)
        fields = parse_form(body)
        token = fields.get(TOKEN_FIELD, "")
        is_current = self._tokens.is_of(visit.session, token)
        if not is_current and not (self._tokens.is_ours(token) and _is_from_ours(request)):
            raise CsrfFailed
        return FormPost(visit, fields, is_current)


def _is_from_ours(request: Request) -> bool:
    """Whether the browser itself says that one of our pages sent this."""
    origin = request.head.origin
    return origin is not None and request.origin is not None and parse_origin(origin) == request.origin


LOST: Final = "You are not signed in any more, and nothing was changed. Once you are, you come to the page you sent; \
going back in your browser's history, past this sign-in, may still show what you typed."
_TOO_OLD: Final = "This page was too old: try again."
_LONGEST_NEXT: Final = 2000


class SignInView:
    def __init__(
        self, sessions: OperatorSessions, admission: Authenticator, tokens: CsrfTokens, clock: Clock, renderer: Renderer
    ) -> None:
        self._sessions = sessions
        self._admission = admission
        self._tokens = tokens
        self._clock = clock
        self._renderer = renderer
        self.pages: Routes = {}
        """Those to which a sign-in may go back."""

    async def show(self, request: Request) -> Response:
        query = parse_query(request)
        onward = self._onward(query.get("next", ""))
        if await self._sessions.find(request) is not None:
            return redirect(onward)
        return self._form(request, onward, problem=LOST if query.get("lost") else None)

    async def sign_in(self, request: Request) -> Response:
        body = await read_body(request, self._admission.settings.max_body)
        media_type(request, (FORM,))
        check_origin(request)
        fields = parse_form(body)
        onward = self._onward(fields.get("next", ""))
        try:
            self._tokens.check_login(request, fields.get(TOKEN_FIELD))
            username, password = (required_text(fields, name) for name in ("username", "password"))
            session_id = await self._admit(request, username, password)
        except (CsrfFailed, MissingField, InvalidCredentials, TooManyRequests) as refused:
            request.outcome = refused.error
            return self._form(request, onward, fields.get("username", ""), _words(refused), refused)
        return redirect(onward, cookie_headers(operator_cookie(session_id, secure=request.secure)))

    async def sign_out(self, request: Request) -> Response:
        try:
            posted = await self._sessions.receive(request)
        except LoginRequired:
            if self._sessions.held(request):
                # It may have ended a moment ago on another replica whose answer was lost.
                await self._admission.writer.wait_for_replicas()
            raise
        if not posted.is_current:
            raise CsrfFailed
        await self._admission.logout(request, posted.visit.session, OPERATOR_LOGOUT)
        return redirect(SIGN_IN_PATH, cookie_headers(clear_operator_cookie(secure=request.secure)))

    def send_there(self, request: Request) -> Response:
        """To whoever asks for a page without being signed in; a form is lost, and they are told so."""
        query = f"?{request.query.decode('latin-1')}" if request.query else ""
        path = request.path
        if request.method == "POST" and path.endswith("/change/"):
            path = path.removesuffix("change/") + "one/"
        onward = self._onward(path + query)
        asked = {"lost": "1"} if request.method == "POST" else {}
        asked |= {} if onward == OPERATOR_PATH else {"next": onward}
        return redirect(SIGN_IN_PATH + ("?" + urlencode(asked) if asked else ""))

    async def _admit(self, request: Request, username: str, password: str) -> str:
        request.user = await self._admission.known_username(username)
        wanted = SessionRequest(
            csrf_seed=self._tokens.new()[:SEED_LENGTH],
            replaces=self._sessions.held(request),
            prefix=OPERATORS,
            role=OPERATOR,
            event=OPERATOR_LOGIN,
        )
        return await self._admission.login(request, username, password, wanted)

    def _form(
        self,
        request: Request,
        onward: str,
        username: str = "",
        problem: str | None = None,
        refused: ApiError | None = None,
    ) -> Response:
        kept = (token for token in request.head.cookies.csrf_tokens if self._tokens.is_ours(token))
        token = next(kept, None) or self._tokens.new()
        headers: HeaderList = cookie_headers(csrf_cookie(token, self._clock.now(), secure=request.secure))
        if refused is not None and refused.retry_after is not None:
            headers.append((b"retry-after", b"%d" % refused.retry_after))
        return self._renderer.page(
            "sign_in.html",
            request,
            status=200 if refused is None else refused.code,
            headers=headers,
            token=token,
            onward=onward,
            username=username,
            problem=problem,
            is_refusal=refused is not None,
        )

    def _onward(self, wanted: str) -> str:
        """A page of ours to go to: the one that is wanted, if it is one."""
        path = wanted.partition("?")[0]
        is_plain = wanted.isascii() and wanted.isprintable() and " " not in wanted and len(wanted) <= _LONGEST_NEXT
        is_page = "GET" in self.pages.get(path, {}) and path != SIGN_IN_PATH
        return wanted if is_plain and is_page else OPERATOR_PATH


def _words(refused: ApiError) -> str:
    return _TOO_OLD if isinstance(refused, CsrfFailed) else refused.message("en")
