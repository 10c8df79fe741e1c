"""Periodic check that the Keystone token of a session is still valid."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import ClientInfo, CloudCredentials, TokenVerifier
from cloudconsole.server.http.identity_providers import IdentityProvider
from cloudconsole.server.writer import Writer
from cloudconsole.spec.errors import ApiError, LoginRequired
from cloudconsole.store.activity_writes import ActivityStore
from cloudconsole.store.session_lookup import Session

log = logging.getLogger(__name__)

REVOKED: Final = "session_revoked"
"""Audit event: a session ended because Keystone no longer accepts its token."""
MAX_REMEMBERED: Final = 10_000


class TokenRevalidator:
    """Periodically revalidates the tokens of federated sessions; ends sessions whose tokens are invalid."""

    def __init__(
        self,
        providers: Mapping[str, IdentityProvider],
        every: int,
        clock: Clock,
        activity: ActivityStore,
        writer: Writer,
    ) -> None:
        self._providers = providers
        self._interval = every
        self._clock = clock
        self._activity = activity
        self._writer = writer
        self._validated: dict[bytes, float] = {}
        self._verifications: dict[bytes, asyncio.Task[bool]] = {}

    def opened(self, id_hash: bytes) -> None:
        """Record the token of a new session as valid."""
        self._remember(id_hash, self._clock.now())

    def is_due(self, session: Session) -> bool:
        """Return whether the token must be verified again before it is used."""
        now = self._clock.now()
        validated_at = self._validated.get(session.id_hash)
        # `<=`, because a clock may be set back.
        return validated_at is None or not validated_at <= now < validated_at + self._interval

    async def revalidate(self, session: Session, access: CloudCredentials, client: ClientInfo) -> None:
        """Verify the token now; if it is invalid, end the session and raise `LoginRequired`."""
        if await self._is_valid(session, access, client):
            return
        self._validated.pop(session.id_hash, None)
        end = self._activity.end_session
        await self._writer.write(end, session.id_hash, session.log_name, client, int(self._clock.now()), REVOKED)
        await self._writer.wait_for_replicas()
        raise LoginRequired

    async def revoke(self, session: Session, client: ClientInfo) -> None:
        """Revoke the token of an ended session; log a failure."""
        self._validated.pop(session.id_hash, None)
        verifier = self._verifier_for(session)
        if verifier is not None and session.credentials is not None:
            try:
                await verifier.revoke(session.credentials, client)
            except ApiError as problem:
                log.warning("could not revoke a token at logout: %s", problem.error)

    async def _is_valid(self, session: Session, access: CloudCredentials, client: ClientInfo) -> bool:
        verifier = self._verifier_for(session)
        if verifier is None:
            return False
        if not self._interval:
            return await self._verify(session.id_hash, verifier, access, client)
        # Concurrent requests share one verification, which continues if the first of them is cancelled.
        verification = self._verifications.get(session.id_hash)
        if verification is None:
            verification = asyncio.create_task(self._verify(session.id_hash, verifier, access, client))
            self._verifications[session.id_hash] = verification
            verification.add_done_callback(lambda _task: self._verifications.pop(session.id_hash, None))
        return await asyncio.shield(verification)

    async def _verify(
        self, id_hash: bytes, verifier: TokenVerifier, access: CloudCredentials, client: ClientInfo
    ) -> bool:
        started_at = self._clock.now()
        is_valid = await verifier.is_valid(access, client)
        if is_valid:
            # As of the start: the token may be revoked while others join the wait.
            self._remember(id_hash, started_at)
        return is_valid

    def _verifier_for(self, session: Session) -> TokenVerifier | None:
        """Return None if the endpoint is no longer configured."""
        provider = None if session.credentials is None else self._providers.get(session.credentials.endpoint)
        return None if provider is None else provider.verifier

    def _remember(self, id_hash: bytes, moment: float) -> None:
        if len(self._validated) >= MAX_REMEMBERED:
            self._validated.clear()
        self._validated[id_hash] = moment
