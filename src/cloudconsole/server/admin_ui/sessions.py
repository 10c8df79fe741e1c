"""Operator sessions, sign-in and sign-out."""

import re
from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from typing import Final, NamedTuple
from urllib.parse import urlencode

from cloudconsole.core.clock import Clock
from cloudconsole.core.origins import parse_origin
from cloudconsole.core.ports import Credentials
from cloudconsole.server.admin_ui.i18n import Label, is_language
from cloudconsole.server.admin_ui.templating import SIGN_IN_PATH, Renderer, form_address, parse_query, redirect
from cloudconsole.server.admin_ui.unsaved_forms import (
    MAX_SEALED,
    MAX_UNSAVED,
    OWNER_FIELD,
    TOKEN_FIELD,
    UNSAVED_FIELD,
    FormUnsaved,
    UnsavedForm,
    UnsavedForms,
)
from cloudconsole.server.http.body import media_type, parse_form, read_body, required_text
from cloudconsole.server.http.cookies import (
    OPERATOR_PATH,
    clear_operator_cookie,
    csrf_cookie,
    language_cookie,
    operator_cookie,
    read_operator_cookies,
)
from cloudconsole.server.http.csrf import SEED_LENGTH, CsrfTokens, check_origin
from cloudconsole.server.http.login_service import Authenticator, SessionRequest
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.response import HeaderList, Response, Routes, cookie_headers
from cloudconsole.server.http.sessions import OPERATORS, SessionFinder
from cloudconsole.spec.errors import (
    ApiError,
    CsrfFailed,
    InvalidCredentials,
    LoginRequired,
    MissingField,
    TooManyRequests,
)
from cloudconsole.spec.i18n import Language, Text
from cloudconsole.spec.operations import FORM
from cloudconsole.store.session_lookup import Session, hash_session_id
from cloudconsole.store.tables.activity import OPERATOR_LOGIN, OPERATOR_LOGOUT

OPERATOR: Final = "operator"
"""Role that may sign in."""
MAX_FORM: Final = 1_048_576
"""Bytes of a form from a signed-in operator; the JSON of a domain may be long."""

_SESSION_ID: Final = re.compile(rf"{OPERATORS}[0-9a-f]{{48}}")


class OperatorRequest(NamedTuple):
    """Session of an operator's request, and the CSRF token for its forms."""

    session: Session
    token: str
    owner: str
    """Binds a form to the account, so that it can be restored after a sign-in."""

    @property
    def username(self) -> str:
        return self.session.username


class FormPost(NamedTuple):
    """A submitted form."""

    visit: OperatorRequest
    fields: dict[str, str]
    is_current: bool
    """Whether its token belongs to this session; otherwise the page is from before a sign-in."""

    @property
    def confirmations(self) -> frozenset[str]:
        """Of the questions that its page showed."""
        return frozenset(self.fields.get("confirmations", "").split())


class OperatorSessions:
    def __init__(self, sessions: SessionFinder, tokens: CsrfTokens, clock: Clock) -> None:
        self._sessions = sessions
        self._tokens = tokens
        self._clock = clock
        self.unsaved = UnsavedForms(tokens.key)

    def held(self, request: Request) -> list[str]:
        """Return the operator session ids in the request's cookies, valid or not."""
        values = read_operator_cookies(request.head.header(b"cookie") or "", secure=request.secure)
        return [value for value in values if _SESSION_ID.fullmatch(value)]

    async def find(self, request: Request) -> OperatorRequest | None:
        """Return the valid session of an account that is an operator."""
        for session_id in self.held(request):
            visit = await self.opened(request, session_id, request.arrival)
            if visit is not None:
                return visit
        return None

    async def opened(self, request: Request, session_id: str, arrival: int | None = None) -> OperatorRequest | None:
        """Return the session of this id if it is a valid one of an operator."""
        now = self._clock.now()
        session = await self._sessions.lookup(hash_session_id(session_id), arrival, now)
        if session is None or session.role != OPERATOR:
            return None
        request.user = session.username
        self._sessions.touch(session, now)
        token = self._tokens.from_seed(session.csrf_seed)
        return OperatorRequest(session, token, self.unsaved.owner(token, session.username))

    async def require(self, request: Request) -> OperatorRequest:
        visit = await self.find(request)
        if visit is None:
            raise LoginRequired
        return visit

    async def receive(self, request: Request) -> FormPost:
        """Read a form of a signed-in operator; reject forms that another site may have sent."""
        if await self.find(request) is None:
            raise await self._without_session(request)
        body = await read_body(request, MAX_FORM)
        # Checked again: the session may have ended while the body arrived.
        visit = await self.find(request)
        if visit is None:
            raise await self._without_session(request)
        media_type(request, (FORM,))
        check_origin(request)
        fields = parse_form(body)
        token = fields.get(TOKEN_FIELD, "")
        is_current = self._tokens.is_of(visit.session, token)
        if not is_current and not (self._tokens.is_ours(token) and _is_from_ours(request)):
            raise CsrfFailed
        return FormPost(visit, fields, is_current)

    async def _without_session(self, request: Request) -> LoginRequired:
        """Return the rejection, which carries the form if it is one of our pages and not too large."""
        try:
            fields = parse_form(await read_body(request, MAX_UNSAVED))
            media_type(request, (FORM,))
            check_origin(request)
        except ApiError:
            return LoginRequired()
        is_ours = self._tokens.is_ours(fields.get(TOKEN_FIELD, "")) and _is_from_ours(request)
        if not is_ours or OWNER_FIELD not in fields:
            return LoginRequired()
        sealed = self.unsaved.seal(UnsavedForm(request.path, request.query, fields))
        return FormUnsaved(sealed) if len(sealed) <= MAX_SEALED else LoginRequired()


def _is_from_ours(request: Request) -> bool:
    """Return whether the Origin header names this console."""
    origin = request.head.origin
    return origin is not None and request.origin is not None and parse_origin(origin) == request.origin


LOST: Final = Text(
    "You are no longer signed in, and nothing was changed. After signing in you return to the page you sent; "
    "going back in your browser's history may still show what you typed.",
    "登录已失效，未做任何更改。重新登录后将返回原页面；在浏览器中后退可能仍可看到已填写的内容。",
)
UNSAVED: Final = Text(
    "You are no longer signed in, and nothing was changed. Sign in again to continue with what you typed, except "
    "passwords.",
    "登录已失效，未做任何更改。重新登录后可继续编辑已填写的内容（密码除外）。",
)
_TOO_OLD: Final = Text("This page was too old: try again.", "页面已过期，请重试。")
_MISSING: Final = {
    "username": Text("Enter your username.", "请输入用户名。"),
    "password": Text("Enter your password.", "请输入密码。"),
}
_MAX_NEXT: Final = 2000
_SIGNED_OUT: Final = "signed_out"

Restore = Callable[[Request, FormPost], Awaitable[Response]]
"""Shows a form with what was typed in it."""


class SignInView:
    def __init__(
        self,
        sessions: OperatorSessions,
        authenticator: Authenticator,
        tokens: CsrfTokens,
        clock: Clock,
        renderer: Renderer,
    ) -> None:
        self._sessions = sessions
        self._authenticator = authenticator
        self._tokens = tokens
        self._clock = clock
        self._renderer = renderer
        self.pages: Routes = {}
        """Pages that may follow a sign-in."""
        self.restores: dict[str, Restore] = {}
        """Forms that may follow a sign-in, by the path to which they are sent."""

    async def show(self, request: Request) -> Response:
        query = parse_query(request)
        onward = self._onward(query.get("next", ""))
        if await self._sessions.find(request) is not None:
            return redirect(onward)
        has_signed_out = bool(query.get(_SIGNED_OUT))
        return self._form(request, onward, problem=LOST if query.get("lost") else "", has_signed_out=has_signed_out)

    async def sign_in(self, request: Request) -> Response:
        body = await read_body(request, self._authenticator.settings.max_body + MAX_SEALED)
        media_type(request, (FORM,))
        check_origin(request)
        fields = parse_form(body)
        onward, sealed = self._onward(fields.get("next", "")), fields.get(UNSAVED_FIELD, "")
        try:
            self._tokens.check_login(request, fields.get(TOKEN_FIELD))
            username, password = (required_text(fields, name) for name in ("username", "password"))
            session_id = await self._login(request, username, password)
        except (CsrfFailed, MissingField, InvalidCredentials, TooManyRequests) as error:
            request.outcome = error.error
            return self._form(request, onward, fields.get("username", ""), _message(error), error, sealed)
        response = await self._restored(request, session_id, sealed) or redirect(onward)
        cookie = cookie_headers(operator_cookie(session_id, secure=request.secure))
        response.headers = [*response.headers, *cookie]
        return response

    async def _restored(self, request: Request, session_id: str, sealed: str) -> Response | None:
        """Return the page of the form that the operator sent without a session, if there is one."""
        visit = await self._sessions.opened(request, session_id) if sealed else None
        form = None if visit is None else self._sessions.unsaved.open(sealed, visit.username)
        if visit is None or form is None or form.path not in self.restores:
            return None
        as_sent = copy(request)
        as_sent.path, as_sent.query = form.path, form.query
        return await self.restores[form.path](as_sent, FormPost(visit, form.fields, is_current=False))

    async def sign_out(self, request: Request) -> Response:
        try:
            posted = await self._sessions.receive(request)
        except LoginRequired:
            if self._sessions.held(request):
                # Another replica may just have ended it, and its response was lost.
                await self._authenticator.writer.wait_for_replicas()
            raise
        if not posted.is_current:
            raise CsrfFailed
        await self._authenticator.logout(request, posted.visit.session, OPERATOR_LOGOUT)
        return redirect(f"{SIGN_IN_PATH}?{_SIGNED_OUT}=1", cookie_headers(clear_operator_cookie(secure=request.secure)))

    async def choose_language(self, request: Request) -> Response:
        """Store the language in a cookie, with or without a session, and return to the page."""
        query = parse_query(request)
        if query.get("form") and await self._sessions.find(request) is not None:
            return await self._choose_for_form(request, query)
        body = await read_body(request, self._authenticator.settings.max_body + MAX_SEALED)
        media_type(request, (FORM,))
        check_origin(request)
        fields = parse_form(body)
        chosen, sealed = fields.get("language"), fields.get(UNSAVED_FIELD, "")
        headers = [] if not is_language(chosen) else cookie_headers(language_cookie(chosen, secure=request.secure))
        if not sealed:
            return redirect(self._onward(fields.get("next", ""), is_sign_in_allowed=True), headers)
        # A redirect would lose the form that the sign-in page carries.
        onward, language = self._onward(fields.get("next", "")), chosen if is_language(chosen) else None
        response = self._form(request, onward, problem=UNSAVED, sealed=sealed, language=language)
        response.headers = [*response.headers, *headers]
        return response

    async def _choose_for_form(self, request: Request, query: Mapping[str, str]) -> Response:
        """Let the browser send the form to its own address, which shows it as it was typed."""
        await read_body(request, MAX_FORM)
        check_origin(request)
        chosen, address = query.get("language"), query["form"]
        if not is_language(chosen) or not (_is_plain(address) and address.partition("?")[0] in self.restores):
            return redirect(OPERATOR_PATH)
        headers = cookie_headers(language_cookie(chosen, secure=request.secure))
        return redirect(address, headers, status=307)

    def send_there(self, request: Request, error: LoginRequired) -> Response:
        """Show a client without a session the sign-in page, which carries its form or says that it was lost."""
        onward = self._onward(form_address(request))
        if isinstance(error, FormUnsaved):
            return self._form(request, onward, problem=UNSAVED, error=error, sealed=error.sealed)
        parameters = {"lost": "1"} if request.method == "POST" else {}
        parameters |= {} if onward == OPERATOR_PATH else {"next": onward}
        return redirect(SIGN_IN_PATH + ("?" + urlencode(parameters) if parameters else ""))

    async def _login(self, request: Request, username: str, password: str) -> str:
        request.user = await self._authenticator.known_username(username)
        session = SessionRequest(
            csrf_seed=self._tokens.new()[:SEED_LENGTH],
            replaces=self._sessions.held(request),
            prefix=OPERATORS,
            role=OPERATOR,
            event=OPERATOR_LOGIN,
        )
        return await self._authenticator.login(request, Credentials(username, password), session)

    def _form(
        self,
        request: Request,
        onward: str,
        username: str = "",
        problem: Label = "",
        error: ApiError | None = None,
        sealed: str = "",
        language: Language | None = None,
        *,
        has_signed_out: bool = False,
    ) -> Response:
        existing = (token for token in request.head.cookies.csrf_tokens if self._tokens.is_ours(token))
        token = next(existing, None) or self._tokens.new()
        headers: HeaderList = cookie_headers(csrf_cookie(token, self._clock.now(), secure=request.secure))
        if error is not None and error.retry_after is not None:
            headers.append((b"retry-after", b"%d" % error.retry_after))
        return self._renderer.page(
            "sign_in.html",
            request,
            status=200 if error is None else error.code,
            headers=headers,
            language=language,
            token=token,
            onward=onward,
            username=username,
            problem=problem,
            is_refusal=error is not None,
            has_signed_out=has_signed_out,
            unsaved=sealed if len(sealed) <= MAX_SEALED else "",
        )

    def _onward(self, url: str, *, is_sign_in_allowed: bool = False) -> str:
        """Return the URL if it is a page of this UI, otherwise the home page."""
        path = url.partition("?")[0]
        is_page = "GET" in self.pages.get(path, {}) and (is_sign_in_allowed or path != SIGN_IN_PATH)
        return url if _is_plain(url) and is_page else OPERATOR_PATH


def _is_plain(url: str) -> bool:
    return url.isascii() and url.isprintable() and " " not in url and len(url) <= _MAX_NEXT


def _message(error: ApiError) -> Label:
    if isinstance(error, CsrfFailed):
        return _TOO_OLD
    if isinstance(error, MissingField) and error.field in _MISSING:
        return _MISSING[error.field]
    return Text(error.message("en"), error.message("zh"))
