"""Login service: throttling, authentication, session creation and logout, password rehashing."""

import asyncio
import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from msgspec import Struct
from sqlalchemy import update
from sqlalchemy.exc import SQLAlchemyError

from cloudconsole.core.clock import Clock
from cloudconsole.core.login_throttle import widest
from cloudconsole.core.ports import Account, ClientInfo, CloudCredentials, Credentials, FederatedUser
from cloudconsole.core.resources import Role
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.identity_providers import LOCAL_REGION, IdentityProvider
from cloudconsole.server.http.login_queue import Priority
from cloudconsole.server.http.request import Request
from cloudconsole.server.http.sessions import TENANTS, SessionFinder
from cloudconsole.server.http.token_revalidation import TokenRevalidator
from cloudconsole.server.ip_addresses import throttle_address
from cloudconsole.server.writer import Writer
from cloudconsole.spec.errors import ApiError, InvalidCredentials, Unavailable
from cloudconsole.store.activity_writes import ActivityStore, LoginAttempt, NewSession
from cloudconsole.store.base import Store
from cloudconsole.store.login_throttle import LoginThrottle, RecentLogins
from cloudconsole.store.passwords import hash_password
from cloudconsole.store.session_lookup import Session, hash_session_id
from cloudconsole.store.tables import accounts
from cloudconsole.store.tables.activity import LOGIN, LOGOUT

log = logging.getLogger(__name__)

WRITE_SECONDS: Final = 2
"""Timeout for replacing a hash. An operator's change may hold the lock for longer; the next login retries."""


@dataclass(frozen=True)
class Rehasher:
    store: Store
    hashing: ThreadPoolExecutor
    writer: Writer
    """Separate from the writer of logins: a write to the cloud database may wait for an operator's change."""

    async def rehash(self, account: Account, password: str) -> None:
        """Replace an outdated password hash; log a failure, since the login itself has succeeded."""
        loop = asyncio.get_running_loop()
        new_hash = await loop.run_in_executor(self.hashing, hash_password, password)
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                await self.writer.write(self._replace, account, new_hash)
        except (TimeoutError, Unavailable, SQLAlchemyError) as problem:
            log.warning("could not replace an outdated password hash: %s", problem.__cause__ or problem)

    def _replace(self, account: Account, new_hash: str) -> None:
        # In a separate transaction: sessions and accounts are in different databases. The account's version stays
        # the same, so its sessions stay valid. The engine is temporary, because each account needs it only once.
        is_unchanged = (accounts.c.id == account.id) & (accounts.c.password_hash == account.outdated_hash)
        with self.store.opened("cloud") as engine, engine.begin() as connection:
            connection.execute(update(accounts).where(is_unchanged).values(password_hash=new_hash))


TOKEN_MARGIN_SECONDS: Final = 30


class SessionRequest(Struct, frozen=True):
    """Parameters of the session that a login opens."""

    csrf_seed: str
    replaces: list[str]
    """Ids of the client's previous sessions, which the login ends."""
    prefix: str = TENANTS
    role: Role | None = None
    """Required role; None accepts every role."""
    event: str = LOGIN
    endpoint: str = LOCAL_REGION
    """Identity endpoint that has the account."""


@dataclass(frozen=True)
class Authenticator:
    settings: Settings
    clock: Clock
    sessions: SessionFinder
    providers: Mapping[str, IdentityProvider]
    activity: ActivityStore
    writer: Writer
    revalidator: TokenRevalidator
    throttle: LoginThrottle
    recent: RecentLogins
    rehasher: Rehasher

    async def known_username(self, username: str, endpoint: str = LOCAL_REGION) -> str | None:
        """Return the username if the endpoint has such an account, for the logs."""
        return username if await self.providers[endpoint].backend.knows_username(username) else None

    async def login(self, request: Request, credentials: Credentials, new_session: SessionRequest) -> str:
        """Authenticate the user and return the id of a new session.

        Unknown usernames, wrong passwords and missing roles are rejected alike, in text and duration.
        """
        username, endpoint = credentials.username, new_session.endpoint
        network, client = throttle_address(request.address), request.client
        provider = self.providers[endpoint]
        attempt = LoginAttempt(provider.backend.counted_as(credentials), network, client, new_session.event)
        has_failures = await self.throttle.check(network, attempt.user_hash, self._now())
        tier = await self._tier(username, endpoint, network, has_failures=has_failures)
        async with provider.limiter.slot(tier, attempt.user_hash, widest(network)):
            proven = await provider.backend.authenticate(credentials, client)
        if proven is None or not _has_role(proven, new_session.role):
            await self.writer.write(self.activity.record_failure, attempt, request.user, self._now())
            raise InvalidCredentials
        request.user = proven.log_name
        session_id = await self._open_session(attempt, proven, new_session)
        self.recent.record(proven.log_name, widest(network))
        if isinstance(proven, Account) and proven.outdated_hash is not None:
            await self.rehasher.rehash(proven, credentials.password)
        return session_id

    async def logout(self, request: Request, session: Session, event: str = LOGOUT) -> None:
        """End a session and revoke its Keystone token, if it has one."""
        client, now = request.client, self._now()
        await self.writer.write(self.activity.end_session, session.id_hash, session.log_name, client, now, event)
        await self.writer.wait_for_replicas()
        await self.revalidator.revoke(session, client)

    async def _tier(self, username: str, endpoint: str, network: str, *, has_failures: bool) -> Priority:
        """Return the attempt's priority in the queue.

        A recent login of the account counts only from the same network: otherwise an attacker anywhere could tell from
        the delay which accounts exist.
        """
        await self.recent.read(self._now())
        around = widest(network)
        if self.recent.has(username if endpoint == LOCAL_REGION else f"{username}@{endpoint}", around):
            return Priority.TRUSTED
        return Priority.SUSPECT if has_failures and not self.recent.has_network(around) else Priority.PLAIN

    async def _open_session(
        self, attempt: LoginAttempt, proven: Account | FederatedUser, new_session: SessionRequest
    ) -> str:
        session_id, now = self.sessions.new_id(new_session.prefix), self._now()
        lifetime_end = now + self.settings.session_lifetime
        session = NewSession(
            id_hash=hash_session_id(session_id),
            csrf_seed=new_session.csrf_seed,
            expires_at=lifetime_end if isinstance(proven, Account) else min(lifetime_end, _token_end(proven)),
            replaces=tuple(hash_session_id(old) for old in new_session.replaces),
        )
        try:
            replaced = await self.writer.write(self.activity.open_session, attempt, proven, session, now)
        except ApiError:
            if isinstance(proven, FederatedUser):
                self._discard(proven.credentials, attempt.client)
            raise
        for access in replaced:
            self._discard(access, attempt.client)
        if new_session.replaces:
            # Even if they had ended already: another replica may have ended them a moment ago.
            await self.writer.wait_for_replicas()
        if isinstance(proven, FederatedUser):
            self.revalidator.opened(session.id_hash)
        return session_id

    def _discard(self, access: CloudCredentials, client: ClientInfo) -> None:
        provider = self.providers.get(access.endpoint)
        if provider is not None and provider.revoker is not None:
            provider.revoker.add(access, client)

    def _now(self) -> int:
        return int(self.clock.now())


def _has_role(proven: Account | FederatedUser, required: Role | None) -> bool:
    role: Role = proven.role if isinstance(proven, Account) else "tenant"
    return required in (None, role)


def _token_end(user: FederatedUser) -> int:
    """Return when the session must end: before its token expires, so that no request uses an expired token."""
    return int(user.expires_at) - TOKEN_MARGIN_SECONDS
