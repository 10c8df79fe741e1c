"""Identity providers by region: accounts of the store, or users of an external Keystone."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from cloudconsole.core.clock import Clock
from cloudconsole.core.hosts import normalise_region
from cloudconsole.core.ports import ClientInfo, CloudCredentials, IdentityBackend, TokenVerifier
from cloudconsole.server.config.identity_endpoints import LOCAL
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.concurrency import ConcurrencyLimiter
from cloudconsole.server.token_revocation import TokenRevoker
from cloudconsole.server.writer import Writer
from cloudconsole.spec.errors import ApiError, LoginRequired, UnknownRegion
from cloudconsole.store.activity import ActivityStore
from cloudconsole.store.sessions import Session

log = logging.getLogger(__name__)

REVOKED: Final = "session_revoked"
"""What the access trail calls a session's end that the cloud decided."""
MOST_REMEMBERED: Final = 10_000


class IdentityProvider(Struct, frozen=True):
    """One way in; each has its own turns, so that a slow one holds up nobody at another."""

    backend: IdentityBackend
    limiter: ConcurrencyLimiter
    verifier: TokenVerifier | None = None
    """Of sessions that another than the console vouches for."""
    revoker: TokenRevoker | None = None
    """Of their tokens."""


class TokenRevalidator:
    """Asks again and again whether the tokens of guests' sessions are still good, and ends those whose are not."""

    def __init__(
        self,
        providers: Mapping[str, IdentityProvider],
        every: int,
        clock: Clock,
        activity: ActivityStore,
        writer: Writer,
    ) -> None:
        self._providers = providers
        self._every = every
        self._clock = clock
        self._activity = activity
        self._writer = writer
        self._vouched: dict[bytes, float] = {}
        self._asking: dict[bytes, asyncio.Task[bool]] = {}

    def opened(self, id_hash: bytes) -> None:
        """A session was opened just now: its token is good."""
        self._remember(id_hash, self._clock.now())

    async def ensure_valid(self, session: Session, access: CloudCredentials, client: ClientInfo) -> None:
        """See that the session may still be served; `LoginRequired` where its token is no good any more."""
        now = self._clock.now()
        vouched_at = self._vouched.get(session.id_hash)
        # `<=`, because a clock may be set back.
        if vouched_at is not None and vouched_at <= now < vouched_at + self._every:
            return
        await self.revalidate(session, access, client)

    async def revalidate(self, session: Session, access: CloudCredentials, client: ClientInfo) -> None:
        """Ask, however lately it was done, whether the token is good; if not, the session ends with `LoginRequired`."""
        if await self._is_good(session, access, client):
            return
        self._vouched.pop(session.id_hash, None)
        end = self._activity.end_session
        await self._writer.write(end, session.id_hash, session.log_name, client, int(self._clock.now()), REVOKED)
        await self._writer.wait_for_replicas()
        raise LoginRequired

    async def revoke(self, session: Session, client: ClientInfo) -> None:
        """Make the token of an ended session worthless, as far as its endpoint can be reached."""
        self._vouched.pop(session.id_hash, None)
        verifier = self._verifier_for(session)
        if verifier is not None and session.credentials is not None:
            try:
                await verifier.revoke(session.credentials, client)
            except ApiError as problem:
                log.warning("a token could not be revoked at logout: %s", problem.error)

    async def _is_good(self, session: Session, access: CloudCredentials, client: ClientInfo) -> bool:
        verifier = self._verifier_for(session)
        if verifier is None:
            return False
        if not self._every:
            return await self._verify(session.id_hash, verifier, access, client)
        # Those who come together ask once; the asking outlives the one who began it.
        asking = self._asking.get(session.id_hash)
        if asking is None:
            asking = asyncio.create_task(self._verify(session.id_hash, verifier, access, client))
            self._asking[session.id_hash] = asking
            asking.add_done_callback(lambda _task: self._asking.pop(session.id_hash, None))
        return await asyncio.shield(asking)

    async def _verify(
        self, id_hash: bytes, verifier: TokenVerifier, access: CloudCredentials, client: ClientInfo
    ) -> bool:
        asked_at = self._clock.now()
        is_good = await verifier.is_valid(access, client)
        if is_good:
            # Not as of when the last one came who waited with the first: the token may have been revoked before.
            self._remember(id_hash, asked_at)
        return is_good

    def _verifier_for(self, session: Session) -> TokenVerifier | None:
        """None where the endpoint is not among the settings any more."""
        provider = None if session.credentials is None else self._providers.get(session.credentials.endpoint)
        return None if provider is None else provider.verifier

    def _remember(self, id_hash: bytes, moment: float) -> None:
        if len(self._vouched) >= MOST_REMEMBERED:
            self._vouched.clear()
        self._vouched[id_hash] = moment


LOCAL_REGION: Final = ""
"""What stands for the console's own accounts; an identity endpoint's address, in one form, for those of another."""


class IdentityProviders:
    def __init__(self, settings: Settings) -> None:
        self._addresses = [endpoint.address for endpoint in settings.identity]
        self._accepted = {
            normalise_region(endpoint.address): LOCAL_REGION
            if endpoint.kind == LOCAL
            else normalise_region(endpoint.address)
            for endpoint in settings.identity
        }
        self._has_local_accounts = settings.has_local_accounts
        self._any_region = settings.any_region

    def offered(self, origin: str | None) -> list[str]:
        """The addresses to send as region; our own origin's where no other is set."""
        if self._addresses:
            return list(self._addresses)
        return [f"{origin}/v3"] if origin else []

    def for_region(self, region: str, origin: str | None) -> str:
        """Whose accounts are meant."""
        address = normalise_region(region)
        if address is not None:
            endpoint = self._accepted.get(address)
            if endpoint is not None:
                return endpoint
            if self._has_local_accounts and _is_below(address, origin):
                return LOCAL_REGION
        if self._any_region:
            return LOCAL_REGION
        raise UnknownRegion(self.offered(origin))


def _is_below(address: str, origin: str | None) -> bool:
    return origin is not None and (address == origin or address.startswith(origin + "/"))
