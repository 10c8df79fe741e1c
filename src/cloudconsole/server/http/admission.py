"""Letting someone in who proves to be who: what every login goes through, whichever form it comes from."""

from dataclasses import dataclass

from msgspec import Struct

from cloudconsole.core.clock import Clock
from cloudconsole.core.kinds import Role
from cloudconsole.core.ports import Account, Identity
from cloudconsole.server.addresses import throttle_address
from cloudconsole.server.http.front import Front
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.session import TENANTS, Sessions
from cloudconsole.server.http.turns import Turns
from cloudconsole.server.settings import Settings
from cloudconsole.server.writing import Writer
from cloudconsole.spec.errors import InvalidCredentials
from cloudconsole.store.activity import LOGIN, LOGOUT, Activity, Attempt, Caller, NewSession
from cloudconsole.store.sessions import Session, hash_session_id


class Wanted(Struct, frozen=True):
    """The session that a login is to open."""

    csrf_seed: str
    replaces: list[str]
    """Ids of sessions that the caller held before; they end."""
    prefix: str = TENANTS
    role: Role | None = None
    """The only one that is let in, where not all are."""
    event: str = LOGIN


@dataclass(frozen=True)
class Admission:
    settings: Settings
    clock: Clock
    sessions: Sessions
    identity: Identity
    activity: Activity
    writer: Writer
    turns: Turns

    def recognise(self, request: Request, username: str) -> None:
        """Let those who note what becomes of the request know whom it is about, if there is such an account."""
        request.user = username if self.identity.recognises(username) else None

    async def admit(self, request: Request, front: Front, username: str, password: str, wanted: Wanted) -> str:
        """The id of a new session for whom the caller proved to be; else a refusal, the same in words and time."""
        attempt = Attempt(username, throttle_address(front.address), _caller(request, front), wanted.event)
        await self.writer.look(self.activity.check_throttle, attempt, self._now())
        with self.turns.taken(attempt.user_hash, attempt.network):
            account = await self.identity.authenticate(attempt.username, password)
        if account is None or wanted.role not in (None, account.role):
            await self.writer.run(self.activity.count_failure, attempt, request.user, self._now())
            raise InvalidCredentials
        return await self._open_session(attempt, account, wanted)

    async def dismiss(self, request: Request, front: Front, session: Session, event: str = LOGOUT) -> None:
        """End a session."""
        caller, now = _caller(request, front), self._now()
        await self.writer.run(self.activity.end_session, session.id_hash, session.username, caller, now, event)

    async def _open_session(self, attempt: Attempt, account: Account, wanted: Wanted) -> str:
        session_id, now = self.sessions.new_id(wanted.prefix), self._now()
        session = NewSession(
            id_hash=hash_session_id(session_id),
            csrf_seed=wanted.csrf_seed,
            expires_at=now + self.settings.session_lifetime,
            replaces=tuple(hash_session_id(old) for old in wanted.replaces),
        )
        await self.writer.run(self.activity.open_session, attempt, account, session, now)
        return session_id

    def _now(self) -> int:
        return int(self.clock.now())


def _caller(request: Request, front: Front) -> Caller:
    return Caller(front.address, request.request_id)
