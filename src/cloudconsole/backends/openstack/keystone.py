"""Keystone authentication, token check and revocation, catalog."""

import asyncio
import re
from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from typing import Annotated, Any, Final, Protocol
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from cloudconsole.backends.openstack.client import OpenStackClient, UpstreamResponse
from cloudconsole.backends.openstack.config import Endpoint
from cloudconsole.backends.openstack.token_encryption import TokenCipher
from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import ClientInfo, CloudCredentials, FederatedUser, Services
from cloudconsole.core.usernames import is_plain
from cloudconsole.spec.errors import NoProject, UpstreamTimeout

Id = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,128}\Z")]
"""As it can stand in an address."""
Name = Annotated[str, Meta(min_length=1)]


class Domain(Struct):
    id: Id


class User(Struct):
    id: Id
    name: Name
    domain: Domain


class Project(Struct):
    id: Id
    name: Name
    enabled: bool = True
    is_domain: bool = False
    domain_id: Id | None = None


class Token(Struct):
    user: User
    expires_at: Annotated[datetime, Meta(tz=True)]
    project: Project | None = None
    """None where it is good for no project."""
    catalog: list[Any] = []


class Authenticated(Struct):
    token: Token


class OwnProjects(Struct):
    projects: list[Project]


class Told(Struct):
    code: int


class Refusal(Struct):
    """Keystone's own no, and not that of something in front of it."""

    error: Told


_TYPES: Final = (
    ("compute", ("compute",)),
    ("volume", ("block-storage", "volumev3", "block-store")),
    ("network", ("network",)),
    ("image", ("image",)),
    ("load-balancer", ("load-balancer",)),
)
"""Our name of each service, and the types under which catalogs have it: the first that is there counts."""

_VERSIONS: Final = {
    "compute": "/v2.1",
    "volume": "/v3/{project_id}",
    "network": "/v2.0",
    "image": "/v2",
    "load-balancer": "/v2",
}
_VERSION: Final = re.compile(r"v\d+(\.\d+)?", re.ASCII)
_ADDRESS: Final = re.compile(r"[!-~]+", re.ASCII)


class _Entry(Struct):
    type: str
    endpoints: list[Any]


class _Endpoint(Struct):
    interface: str
    url: str
    region_id: str | None = None
    region: str | None = None


def services_of(catalog: list[Any], *, interface: str, regions: Collection[str], project_id: str) -> Services:
    """The services of the named regions, or of all where none is named.

    Whatever is odd in the catalog is left out; of two addresses for the same, the first counts.
    """
    services: Services = {}
    for name, types in _TYPES:
        for kind in types:
            for endpoint in _endpoints(catalog, kind):
                region = endpoint.region_id or endpoint.region
                if endpoint.interface != interface or not region or (regions and region not in regions):
                    continue
                address = _address(endpoint.url)
                if address is not None:
                    complete = _with_version(address, _VERSIONS[name].format(project_id=project_id))
                    services.setdefault(region, {}).setdefault(name, complete)
    return services


def _endpoints(catalog: list[Any], kind: str) -> Iterator[_Endpoint]:
    for entry in catalog:
        try:
            known = msgspec.convert(entry, _Entry)
        except msgspec.ValidationError:
            continue
        if known.type != kind:
            continue
        for endpoint in known.endpoints:
            try:
                yield msgspec.convert(endpoint, _Endpoint)
            except msgspec.ValidationError:
                continue


def _address(url: str) -> str | None:
    """The address without a final slash, if a token may be sent there."""
    if not _ADDRESS.fullmatch(url):
        return None
    try:
        parts = urlsplit(url)
        has_place = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or not has_place or parts.query or parts.fragment or "@" in parts.netloc:
        return None
    return url.rstrip("/")


def _with_version(address: str, version: str) -> str:
    has_version = any(_VERSION.fullmatch(part) for part in urlsplit(address).path.split("/"))
    return address if has_version else address + version


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
        upstream: OpenStackClient,
        cipher: TokenCipher,
        projects: Projects,
        clock: Clock,
        discard: Callable[[CloudCredentials, ClientInfo], None] = lambda _access, _caller: None,
    ) -> None:
        """`discard` is called for the token of a login that is rejected because its tenant is disabled."""
        self._endpoint = endpoint
        self._discard = discard
        self._upstream = upstream
        self._cipher = cipher
        self._projects = projects
        self._clock = clock

    async def authenticate(self, username: str, password: str, client: ClientInfo) -> FederatedUser | None:
        """Who it is, after at most three calls; raises `NoProject` where there is none to work in."""
        if not is_plain(username):
            return None
        try:
            async with asyncio.timeout(self._upstream.action_seconds):
                return await self._authenticate(username, password, client)
        except TimeoutError as slow:
            raise UpstreamTimeout from slow

    async def _authenticate(self, username: str, password: str, client: ClientInfo) -> FederatedUser | None:
        """The same in its own time.

        None is Keystone's own no: to a wrong password as to an expired one, an unknown user, a disabled or locked one.
        """
        user = {"name": username, "domain": {"name": self._endpoint.user_domain}, "password": password}
        # Without a scope, Keystone takes the user's default project, if there is one.
        response = await self._log_in({"password": {"user": user}}, client, expected=401)
        if response.status == 401:
            if _RECEIPT not in response.headers:
                self._upstream.read(response, Refusal)
            return None
        secret, token = self._proof(response)
        if token.project is None:
            project = await self._project_for(token.user, secret, client)
            scope = {"project": {"id": project.id}}
            response = await self._log_in({"token": {"id": secret}}, client, scope=scope, expected=403)
            if response.status == 403:
                raise NoProject
            secret, token = self._proof(response)
        if token.project is None:
            raise self._upstream.invalid_response(response, "a token for a project is for none")
        return await self._federated_user(secret, token, token.project, client)

    async def knows_username(self, username: str) -> bool:  # noqa: ARG002
        """Only Keystone knows its users."""
        return False

    async def is_valid(self, access: CloudCredentials, client: ClientInfo) -> bool:
        """Whether the token is still good, and for the same user and project."""
        secret = self._cipher.decrypt(access.encrypted_token)
        if secret is None:
            return False
        response = await self._token_details("GET", secret, client)
        if response.status >= 400:
            self._upstream.read(response, Refusal)
            return False
        token = self._upstream.read(response, Authenticated).token
        return token.project is not None and (token.user.id, token.project.id) == (access.user_id, access.project_id)

    async def revoke(self, access: CloudCredentials, client: ClientInfo) -> None:
        """Make the token worthless; it is none the worse if it is already."""
        secret = self._cipher.decrypt(access.encrypted_token)
        if secret is not None:
            await self._token_details("DELETE", secret, client)

    async def _log_in(
        self, proof: dict[str, Any], client: ClientInfo, *, expected: int, scope: dict[str, Any] | None = None
    ) -> UpstreamResponse:
        auth: dict[str, Any] = {"identity": {"methods": list(proof), **proof}}
        if scope is not None:
            auth["scope"] = scope
        return await self._upstream.request(
            self._endpoint.address, "POST", _TOKENS, client=client, body={"auth": auth}, expected=frozenset({expected})
        )

    async def _token_details(self, method: str, secret: str, client: ClientInfo) -> UpstreamResponse:
        return await self._upstream.request(
            self._endpoint.address,
            method,
            _TOKENS,
            client=client,
            token=secret,
            headers={"X-Subject-Token": secret},
            params={"nocatalog": ""},
            expected=frozenset({401, 404}),
        )

    async def _project_for(self, user: User, secret: str, client: ClientInfo) -> Project:
        """The only project, else the one of the configured name, and of two the one in the user's own domain."""
        # Not as a tenant's token: that a new one is refused is Keystone's failure.
        headers = {"X-Auth-Token": secret}
        response = await self._upstream.request(
            self._endpoint.address, "GET", _PROJECTS, client=client, headers=headers
        )
        own = self._upstream.read(response, OwnProjects).projects
        possible = [project for project in own if project.enabled and not project.is_domain]
        named = [project for project in possible if project.name == self._endpoint.project]
        near = [project for project in named if project.domain_id == user.domain.id]
        for candidates in (possible, named, near):
            if len(candidates) == 1:
                return candidates[0]
        raise NoProject

    def _proof(self, response: UpstreamResponse) -> tuple[str, Token]:
        secret = response.headers.get("x-subject-token")
        token = self._upstream.read(response, Authenticated).token
        if not secret:
            raise self._upstream.invalid_response(response, "an answer without its token")
        if token.expires_at.timestamp() <= self._clock.now():
            raise self._upstream.invalid_response(response, "a token that has expired already")
        return secret, token

    async def _federated_user(
        self, secret: str, token: Token, project: Project, client: ClientInfo
    ) -> FederatedUser | None:
        endpoint = self._endpoint
        tenant_id = await self._projects.tenant_of(f"{project.id}@{endpoint.address}", project.name)
        services = services_of(
            token.catalog, interface=endpoint.interface, regions=endpoint.regions, project_id=project.id
        )
        access = CloudCredentials(endpoint.address, token.user.id, project.id, services, self._cipher.encrypt(secret))
        if tenant_id is None:
            self._discard(access, client)
            return None
        return FederatedUser(token.user.name, tenant_id, access, token.expires_at.timestamp())
