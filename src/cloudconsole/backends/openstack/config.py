"""OpenStack settings, without any dependency on the client library."""

from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args

from msgspec import Struct

Interface = Literal["public", "internal", "admin"]
Service = Literal["identity", "compute", "volume", "network", "image", "load-balancer"]
SERVICES: Final[tuple[Service, ...]] = get_args(Service)
"""The services used, by the console's names."""


class Endpoint(Struct, frozen=True):
    """A Keystone whose users can log in, and the part of its cloud they can use."""

    address: str
    """Normalised, without a final `/v3`."""
    user_domain: str = "Default"
    """The name of the users' domain."""
    user_domains: tuple[str, ...] = ()
    """The names of further domains whose users can log in."""
    interface: Interface = "public"
    """The interface of the catalog's endpoints to use."""
    regions: tuple[str, ...] = ()
    """The allowed regions; empty for all regions in the user's catalog."""
    project: str | None = None
    """The project for users who have several and no default one."""
    ca_file: Path | None = None
    """CA certificates instead of the system's."""
    application_credentials: Path | None = None
    """A file of credentials that projects have given, to read their resources without a session."""

    def admits(self, user_domain: str) -> bool:
        return user_domain in (self.user_domain, *self.user_domains)

    def may_use(self, region: str) -> bool:
        return not self.regions or region in self.regions


class EndpointState(NamedTuple):
    """Whether an identity endpoint responds like a Keystone."""

    address: str
    failure: Literal["slow", "unreachable", "invalid"] | None = None


class ClientLimits(Struct, frozen=True):
    """Timeouts, concurrency and cache lifetimes for a cloud."""

    call_seconds: float = 10
    action_seconds: float = 15
    concurrency: int = 16
    """Concurrent requests to one service of one region."""
    cache_seconds: int = 5
    flavor_seconds: int = 300
