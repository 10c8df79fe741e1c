"""Who is at the pages: an operator's own session, apart from any that the same person has as a tenant."""

import re
from typing import Final, NamedTuple

from cloudconsole.core.clock import Clock
from cloudconsole.core.hosts import parse_origin
from cloudconsole.server.http.body import media_type, parse_form, read_body
from cloudconsole.server.http.cookies import read_operator_cookies
from cloudconsole.server.http.csrf import CsrfTokens, check_origin
from cloudconsole.server.http.proxy import Front
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.sessions import OPERATORS, Sessions
from cloudconsole.server.operator_pages.office import OPERATOR
from cloudconsole.spec.constants import FORM
from cloudconsole.spec.errors import CsrfFailed, LoginRequired
from cloudconsole.store.sessions import Session, SessionReader, hash_session_id

TOKEN_FIELD: Final = "csrfmiddlewaretoken"  # noqa: S105 - a name
LARGEST_FORM: Final = 1_048_576
"""Of an operator who is signed in: a domain's structured parts may be long."""

_SESSION_ID: Final = re.compile(rf"{OPERATORS}[0-9a-f]{{48}}")


class Visit(NamedTuple):
    """An operator's request: whose, and the token that forms get."""

    session: Session
    token: str

    @property
    def username(self) -> str:
        return self.session.username


class Posted(NamedTuple):
    """A form that an operator sent."""

    visit: Visit
    fields: dict[str, str]
    is_current: bool
    """Whether its token is this session's; else it is one of our own pages from before a sign-in."""


class OperatorSessions:
    def __init__(self, reader: SessionReader, sessions: Sessions, tokens: CsrfTokens, clock: Clock) -> None:
        self._reader = reader
        self._sessions = sessions
        self._tokens = tokens
        self._clock = clock

    def held(self, request: Request, front: Front) -> list[str]:
        """The ids of operators' sessions that the request has, live or not."""
        values = read_operator_cookies(request.head.header(b"cookie") or "", secure=front.secure)
        return [value for value in values if _SESSION_ID.fullmatch(value)]

    async def find(self, request: Request, front: Front) -> Visit | None:
        """The live session of an account that is an operator's now."""
        now = self._clock.now()
        for session_id in self.held(request, front):
            session = await self._reader.find(hash_session_id(session_id), now, request.arrival)
            if session is not None and session.role == OPERATOR:
                request.user = session.username
                self._sessions.note_use(session, now)
                return Visit(session, self._tokens.from_seed(session.csrf_seed))
        return None

    async def require(self, request: Request, front: Front) -> Visit:
        visit = await self.find(request, front)
        if visit is None:
            raise LoginRequired
        return visit

    async def receive(self, request: Request, front: Front) -> Posted:
        """A form that an operator sent from one of our pages; refused where a foreign page may have sent it."""
        await self.require(request, front)
        body = await read_body(request, LARGEST_FORM)
        # Again: a body may take its time, and whoever sends it may be no operator any more.
        visit = await self.require(request, front)
        media_type(request, (FORM,))
        check_origin(request, front)
        fields = parse_form(body)
        token = fields.get(TOKEN_FIELD, "")
        is_current = self._tokens.is_of(visit.session, token)
        if not is_current and not (self._tokens.is_ours(token) and _is_from_ours(request, front)):
            raise CsrfFailed
        return Posted(visit, fields, is_current)


def _is_from_ours(request: Request, front: Front) -> bool:
    """Whether the browser itself says that one of our pages sent this."""
    origin = request.head.origin
    return origin is not None and front.origin is not None and parse_origin(origin) == front.origin
