"""Identity providers by region: accounts of the store, or users of an external Keystone."""

from typing import Final

from msgspec import Struct

from cloudconsole.core.identity_urls_and_projects import normalise_region
from cloudconsole.core.ports import IdentityBackend, TokenVerifier
from cloudconsole.server.config.identity_endpoints import LOCAL
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.http.login_queue import ConcurrencyLimiter
from cloudconsole.server.token_revocation import TokenRevoker
from cloudconsole.spec.errors import UnknownRegion


class IdentityProvider(Struct, frozen=True):
    """Identity backend with a separate limiter, so that a slow provider does not delay logins at others."""

    backend: IdentityBackend
    limiter: ConcurrencyLimiter
    verifier: TokenVerifier | None = None
    """Verifies the tokens of federated sessions; None for local accounts."""
    revoker: TokenRevoker | None = None
    """Revokes these tokens."""


LOCAL_REGION: Final = ""
"""Key of the local accounts; the key of a Keystone is its normalised address."""


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
        """Return the regions that clients may send; by default the console's origin."""
        if self._addresses:
            return list(self._addresses)
        return [f"{origin}/v3"] if origin else []

    def for_region(self, region: str, origin: str | None) -> str:
        """Return the identity endpoint of a region."""
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
