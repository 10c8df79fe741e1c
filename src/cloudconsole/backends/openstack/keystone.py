"""The identity port over a Keystone: it proves who somebody is, and says whether a token is still good."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, Protocol

from cloudconsole.backends.openstack.answers import Answer
from cloudconsole.backends.openstack.catalog import services_of
from cloudconsole.backends.openstack.endpoint import Endpoint
from cloudconsole.backends.openstack.keystone_answers import Authenticated, OwnProjects, Project, Refusal, Token, User
from cloudconsole.backends.openstack.sealing import Seals
from cloudconsole.backends.openstack.upstream import Upstream
from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import Access, Caller, Guest
from cloudconsole.core.usernames import is_plain
from cloudconsole.spec.errors import NoProject, UpstreamTimeout

_TOKENS: Final = "/v3/auth/tokens"
_PROJECTS: Final = "/v3/auth/projects"
_RECEIPT: Final = "openstack-auth-receipt"
"""What comes with a no to a right password that is not enough: another factor is due, which cannot be given here."""


class Projects(Protocol):
    async def tenant_of(self, project: str, name: str) -> int | None:
        """Our tenant for a project, `ID@ENDPOINT`, made if there is none; None where the operator disabled it."""


class KeystoneIdentity:
    """Looks after those whom one Keystone knows and after their tokens: an `Identity` and a `Warden`."""

    def __init__(
        self,
        endpoint: Endpoint,
        upstream: Upstream,
        seals: Seals,
        projects: Projects,
        clock: Clock,
        discard: Callable[[Access, Caller], None] = lambda _access, _caller: None,
    ) -> None:
        """`discard` is called for the token of a login that is rejected because its tenant is disabled."""
        self._endpoint = endpoint
        self._discard = discard
        self._upstream = upstream
        self._seals = seals
        self._projects = projects
        self._clock = clock

    async def authenticate(self, username: str, password: str, caller: Caller) -> Guest | None:
        """Who it is, after at most three calls; raises `NoProject` where there is none to work in."""
        if not is_plain(username):
            return None
        try:
            async with asyncio.timeout(self._upstream.action_seconds):
                return await self._authenticate(username, password, caller)
        except TimeoutError as slow:
            raise UpstreamTimeout from slow

    async def _authenticate(self, username: str, password: str, caller: Caller) -> Guest | None:
        """The same in its own time.

        None is Keystone's own no: to a wrong password as to an expired one, an unknown user, a disabled or locked one.
        """
        user = {"name": username, "domain": {"name": self._endpoint.user_domain}, "password": password}
        # Without a scope, Keystone takes the user's default project, if there is one.
        answer = await self._log_in({"password": {"user": user}}, caller, expected=401)
        if answer.status == 401:
            if _RECEIPT not in answer.headers:
                self._upstream.read(answer, Refusal)
            return None
        secret, token = self._proof(answer)
        if token.project is None:
            project = await self._project_for(token.user, secret, caller)
            scope = {"project": {"id": project.id}}
            answer = await self._log_in({"token": {"id": secret}}, caller, scope=scope, expected=403)
            if answer.status == 403:
                raise NoProject
            secret, token = self._proof(answer)
        if token.project is None:
            raise self._upstream.nonsense(answer, "a token for a project is for none")
        return await self._guest(secret, token, token.project, caller)

    async def recognises(self, username: str) -> bool:  # noqa: ARG002
        """Only Keystone knows its users."""
        return False

    async def vouches(self, access: Access, caller: Caller) -> bool:
        """Whether the token is still good, and for the same user and project."""
        secret = self._seals.open(access.sealed_token)
        if secret is None:
            return False
        answer = await self._about_itself("GET", secret, caller)
        if answer.status >= 400:
            self._upstream.read(answer, Refusal)
            return False
        token = self._upstream.read(answer, Authenticated).token
        return token.project is not None and (token.user.id, token.project.id) == (access.user_id, access.project_id)

    async def revoke(self, access: Access, caller: Caller) -> None:
        """Make the token worthless; it is none the worse if it is already."""
        secret = self._seals.open(access.sealed_token)
        if secret is not None:
            await self._about_itself("DELETE", secret, caller)

    async def _log_in(
        self, proof: dict[str, Any], caller: Caller, *, expected: int, scope: dict[str, Any] | None = None
    ) -> Answer:
        auth: dict[str, Any] = {"identity": {"methods": list(proof), **proof}}
        if scope is not None:
            auth["scope"] = scope
        return await self._upstream.ask(
            self._endpoint.address, "POST", _TOKENS, caller=caller, body={"auth": auth}, expected=frozenset({expected})
        )

    async def _about_itself(self, method: str, secret: str, caller: Caller) -> Answer:
        return await self._upstream.ask(
            self._endpoint.address,
            method,
            _TOKENS,
            caller=caller,
            token=secret,
            headers={"X-Subject-Token": secret},
            params={"nocatalog": ""},
            expected=frozenset({401, 404}),
        )

    async def _project_for(self, user: User, secret: str, caller: Caller) -> Project:
        """The only project, else the one of the configured name, and of two the one in the user's own domain."""
        # Not as a tenant's token: that a new one is refused is Keystone's failure.
        headers = {"X-Auth-Token": secret}
        answer = await self._upstream.ask(self._endpoint.address, "GET", _PROJECTS, caller=caller, headers=headers)
        own = self._upstream.read(answer, OwnProjects).projects
        possible = [project for project in own if project.enabled and not project.is_domain]
        named = [project for project in possible if project.name == self._endpoint.project]
        near = [project for project in named if project.domain_id == user.domain.id]
        for candidates in (possible, named, near):
            if len(candidates) == 1:
                return candidates[0]
        raise NoProject

    def _proof(self, answer: Answer) -> tuple[str, Token]:
        secret = answer.headers.get("x-subject-token")
        token = self._upstream.read(answer, Authenticated).token
        if not secret:
            raise self._upstream.nonsense(answer, "an answer without its token")
        if token.expires_at.timestamp() <= self._clock.now():
            raise self._upstream.nonsense(answer, "a token that has expired already")
        return secret, token

    async def _guest(self, secret: str, token: Token, project: Project, caller: Caller) -> Guest | None:
        endpoint = self._endpoint
        tenant_id = await self._projects.tenant_of(f"{project.id}@{endpoint.address}", project.name)
        services = services_of(
            token.catalog, interface=endpoint.interface, regions=endpoint.regions, project_id=project.id
        )
        access = Access(endpoint.address, token.user.id, project.id, services, self._seals.seal(secret))
        if tenant_id is None:
            self._discard(access, caller)
            return None
        return Guest(token.user.name, tenant_id, access, token.expires_at.timestamp())
