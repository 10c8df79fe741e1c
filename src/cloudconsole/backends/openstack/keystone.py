"""Keystone: authentication, token validation and revocation, service catalog."""

import asyncio
import re
from collections.abc import Callable, Collection, Coroutine, Iterator
from datetime import datetime
from typing import Annotated, Any, Final, Protocol, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from cloudconsole.backends.openstack.client import OpenStackClient, UpstreamResponse
from cloudconsole.backends.openstack.config import Endpoint
from cloudconsole.backends.openstack.secret_files import ApplicationCredential
from cloudconsole.backends.openstack.token_encryption_and_keys import TokenCipher
from cloudconsole.core.clock import Clock
from cloudconsole.core.ports import ClientInfo, CloudCredentials, Credentials, FederatedUser, Services
from cloudconsole.core.usernames import fold_username, is_plain
from cloudconsole.spec.errors import InvalidField, NoProject, ProjectRequired, UpstreamTimeout
from cloudconsole.spec.i18n import Text

Id = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,128}\Z")]
"""An id that is safe in a URL path."""
Name = Annotated[str, Meta(min_length=1)]


Result = TypeVar("Result")


class Domain(Struct):
    id: Id
    name: Name


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
    """None for an unscoped token."""
    catalog: list[Any] = []


class Authenticated(Struct):
    token: Token


class ProjectList(Struct):
    projects: list[Project]


class ErrorDetails(Struct):
    code: int


class ErrorResponse(Struct):
    """An error of Keystone itself, not of a proxy in front of it."""

    error: ErrorDetails


_TYPES: Final = (
    ("compute", ("compute",)),
    ("volume", ("block-storage", "volumev3", "block-store")),
    ("network", ("network",)),
    ("image", ("image",)),
    ("load-balancer", ("load-balancer",)),
)
"""The console's name of each service, and its types in catalogs, in order of preference."""

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
    """Return the services of the given regions, or of all regions if none is given.

    Invalid catalog entries are ignored; of several addresses for a service, the first is used.
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
    """Return the address without a final slash, or None if it is unsafe to send a token there."""
    if not _ADDRESS.fullmatch(url):
        return None
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or not has_host or parts.query or parts.fragment or "@" in parts.netloc:
        return None
    return url.rstrip("/")


def _with_version(address: str, version: str) -> str:
    has_version = any(_VERSION.fullmatch(part) for part in urlsplit(address).path.split("/"))
    return address if has_version else address + version


APPLICATION_CREDENTIAL: Final = "application_credential"
"""Keystone's method of authentication, and what the username begins with, before a colon and the credential's ID."""
_CREDENTIAL_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)

_TOKENS: Final = "/v3/auth/tokens"
_PROJECTS: Final = "/v3/auth/projects"
_RECEIPT: Final = "openstack-auth-receipt"
"""Header of a rejection that requires another factor, which is not supported here."""


_DOMAIN_NOT_ADMITTED: Final = Text(
    "The field '{field}' must be a domain whose users can log in here.", "字段“{field}”必须是其用户可在此登录的域。"
)


class Projects(Protocol):
    async def tenant_of(self, project: str, name: str) -> int | None:
        """Return the tenant of a project, `ID@ENDPOINT`, creating it if needed; None if it is disabled."""


class KeystoneIdentity:
    """The users of one Keystone and their tokens: an `IdentityBackend` and a `TokenVerifier`."""

    def __init__(
        self,
        endpoint: Endpoint,
        upstream: OpenStackClient,
        cipher: TokenCipher,
        projects: Projects,
        clock: Clock,
        discard: Callable[[CloudCredentials, ClientInfo], None] = lambda _credentials, _client: None,
    ) -> None:
        """`discard` is called for the token of a login that is rejected for its tenant or domain."""
        self._endpoint = endpoint
        self._discard = discard
        self._upstream = upstream
        self._cipher = cipher
        self._projects = projects
        self._clock = clock

    async def authenticate(self, credentials: Credentials, client: ClientInfo) -> FederatedUser | None:
        """Authenticate with at most three requests; raise `NoProject` or `ProjectRequired` without a project to use."""
        if not is_plain(credentials.username):
            return None
        kind, _, credential_id = credentials.username.partition(":")
        if kind != APPLICATION_CREDENTIAL:
            return await self._in_time(self._authenticate(credentials, client))
        if not _CREDENTIAL_ID.fullmatch(credential_id):
            return None
        credential = ApplicationCredential(credential_id, credentials.password)
        user = await self.use_application_credential(credential, client)
        if user is None:
            return None
        if not self._endpoint.admits(user.domain):
            self._discard(user.credentials, client)
            return None
        if credentials.project not in ("", user.project, user.credentials.project_id):
            self._discard(user.credentials, client)
            raise ProjectRequired([user.project])
        return user

    def counted_as(self, credentials: Credentials) -> str:
        """Return the same key for all spellings of a user that a database may equate."""
        name, domain = self._name_and_domain(credentials)
        if not self._endpoint.admits(domain):
            raise InvalidField("user_domain", _DOMAIN_NOT_ADMITTED)
        key = f"{self._endpoint.address} {fold_username(name)}"
        return key if domain == self._endpoint.user_domain else f"{key}\n{fold_username(domain)}"

    async def use_application_credential(
        self, credential: ApplicationCredential, client: ClientInfo
    ) -> FederatedUser | None:
        """Return the user and project of an application credential, or None if Keystone rejects it."""
        method = {APPLICATION_CREDENTIAL: {"id": credential.id, "secret": credential.secret}}
        # 404 if its user has lost a role that it needs.
        response = await self._in_time(self._request_token(method, client, expected={401, 404}))
        if response.status >= 400:
            self._upstream.read(response, ErrorResponse)
            return None
        return await self._user_of(response, client)

    async def _in_time(self, work: Coroutine[Any, Any, Result]) -> Result:
        try:
            async with asyncio.timeout(self._upstream.action_seconds):
                return await work
        except TimeoutError as slow:
            raise UpstreamTimeout from slow

    async def _authenticate(self, credentials: Credentials, client: ClientInfo) -> FederatedUser | None:
        """Authenticate without the deadline.

        Keystone does not distinguish a wrong or expired password from an unknown, disabled or locked user.
        """
        name, domain = self._name_and_domain(credentials)
        user = {"name": name, "domain": {"name": domain}, "password": credentials.password}
        # Without a scope, Keystone uses the user's default project, if any.
        unscoped = "unscoped" if credentials.project else None
        response = await self._request_token({"password": {"user": user}}, client, scope=unscoped, expected={401})
        if response.status == 401:
            if _RECEIPT not in response.headers:
                self._upstream.read(response, ErrorResponse)
            return None
        secret, token = self._parse_token(response)
        if token.project is None:
            project = await self._project_for(token.user, credentials.project, secret, client)
            scope = {"project": {"id": project.id}}
            response = await self._request_token({"token": {"id": secret}}, client, scope=scope, expected={403})
            if response.status == 403:
                raise NoProject
        return await self._user_of(response, client)

    def _name_and_domain(self, credentials: Credentials) -> tuple[str, str]:
        """Return the name and the domain of a user, who may be written as `user@domain`."""
        if credentials.user_domain:
            return credentials.username, credentials.user_domain
        name, _, domain = credentials.username.rpartition("@")
        if name and domain in self._endpoint.user_domains:
            return name, domain
        return credentials.username, self._endpoint.user_domain

    async def _user_of(self, response: UpstreamResponse, client: ClientInfo) -> FederatedUser | None:
        secret, token = self._parse_token(response)
        if token.project is None:
            raise self._upstream.invalid_response(response, "a project-scoped token without a project")
        return await self._federated_user(secret, token, token.project, client)

    async def knows_username(self, username: str) -> bool:  # noqa: ARG002
        """Return False: only Keystone knows its users."""
        return False

    async def is_valid(self, access: CloudCredentials, client: ClientInfo) -> bool:
        """Return whether the token is still valid for the same user and project."""
        secret = self._cipher.decrypt(access.encrypted_token)
        if secret is None:
            return False
        response = await self._token_details("GET", secret, client)
        if response.status >= 400:
            self._upstream.read(response, ErrorResponse)
            return False
        token = self._upstream.read(response, Authenticated).token
        return token.project is not None and (token.user.id, token.project.id) == (access.user_id, access.project_id)

    async def revoke(self, access: CloudCredentials, client: ClientInfo) -> None:
        """Revoke the token; a token that is already invalid is no error."""
        secret = self._cipher.decrypt(access.encrypted_token)
        if secret is not None:
            await self._token_details("DELETE", secret, client)

    async def _request_token(
        self,
        method: dict[str, Any],
        client: ClientInfo,
        *,
        expected: set[int],
        scope: dict[str, Any] | str | None = None,
    ) -> UpstreamResponse:
        auth: dict[str, Any] = {"identity": {"methods": list(method), **method}}
        if scope is not None:
            auth["scope"] = scope
        return await self._upstream.request(
            self._endpoint.address, "POST", _TOKENS, client=client, body={"auth": auth}, expected=frozenset(expected)
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

    async def _project_for(self, user: User, wanted: str, secret: str, client: ClientInfo) -> Project:
        """Return the wanted project, else the only one or that with the configured name.

        Of several with the same name, that of the user's domain counts.
        """
        # Not as a tenant's token: if Keystone rejects a new token, that is an upstream failure.
        headers = {"X-Auth-Token": secret}
        response = await self._upstream.request(
            self._endpoint.address, "GET", _PROJECTS, client=client, headers=headers
        )
        own = self._upstream.read(response, ProjectList).projects
        usable = [project for project in own if project.enabled and not project.is_domain]
        if not usable:
            raise NoProject
        named = [project for project in usable if project.name == (wanted or self._endpoint.project)]
        same_domain = [project for project in named if project.domain_id == user.domain.id]
        first = [project for project in usable if project.id == wanted] if wanted else usable
        for candidates in (first, named, same_domain):
            if len(candidates) == 1:
                return candidates[0]
        raise ProjectRequired(project.name for project in usable)

    def _parse_token(self, response: UpstreamResponse) -> tuple[str, Token]:
        secret = response.headers.get("x-subject-token")
        token = self._upstream.read(response, Authenticated).token
        if not secret:
            raise self._upstream.invalid_response(response, "a response without its token")
        if token.expires_at.timestamp() <= self._clock.now():
            raise self._upstream.invalid_response(response, "a token that has already expired")
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
        name, domain = token.user.name, token.user.domain.name
        username = name if domain == endpoint.user_domain else f"{name}@{domain}"
        return FederatedUser(username, tenant_id, access, token.expires_at.timestamp(), domain, project.name)
