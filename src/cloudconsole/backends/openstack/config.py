"""How the console is to speak to an OpenStack: what an operator sets, and nothing that needs a library."""

from pathlib import Path
from typing import Final, Literal, Protocol, get_args

from msgspec import Struct

Interface = Literal["public", "internal", "admin"]
Service = Literal["identity", "compute", "volume", "network", "image", "load-balancer"]
SERVICES: Final[tuple[Service, ...]] = get_args(Service)
"""What is asked of a cloud, by our names."""


class Endpoint(Struct, frozen=True):
    """A Keystone whose users may log in, and what of its cloud is theirs."""

    address: str
    """In one form, without a final `/v3`."""
    user_domain: str = "Default"
    """The name of the domain that users are of."""
    interface: Interface = "public"
    """Which of a service's addresses are used."""
    regions: tuple[str, ...] = ()
    """The regions that may be used; all of a user's catalog where none is named."""
    project: str | None = None
    """The name of the project for users who have several and no default one."""
    ca_file: Path | None = None
    """Certificates to trust instead of the system's."""

    def may_use(self, region: str) -> bool:
        return not self.regions or region in self.regions


class ClientLimits(Struct, frozen=True):
    """How much of the cloud's time and how many of its connections the console takes."""

    call_seconds: float = 10
    action_seconds: float = 15
    concurrency: int = 16
    """Calls at once to one service of one region."""
    cache_seconds: int = 5
    flavor_seconds: int = 300


class CallObserver(Protocol):
    """Sees every call to a cloud, to count it."""

    def started(self, service: Service) -> None: ...

    def finished(self, service: Service, nanoseconds: int) -> None:
        """However it ended; the time includes waiting for its turn."""

    def failed(self, service: Service, *, was_slow: bool) -> None:
        """Of a call, also of one that had ended before its answer was found to be nonsense."""


class NullObserver:
    """For whoever counts nothing."""

    def started(self, service: Service) -> None:
        """Nobody looks."""

    def finished(self, service: Service, nanoseconds: int) -> None:
        """Nobody looks."""

    def failed(self, service: Service, *, was_slow: bool) -> None:
        """Nobody looks."""
