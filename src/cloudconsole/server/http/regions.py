"""Which addresses login accepts as `region`, and whose accounts each means. A caller's address is only compared."""

from typing import Final

from cloudconsole.core.hosts import normalise_region
from cloudconsole.server.config.identity_endpoints import LOCAL
from cloudconsole.server.config.settings import Settings
from cloudconsole.spec.errors import UnknownRegion

OURS: Final = ""
"""What stands for the console's own accounts; an identity endpoint's address, in one form, for those of another."""


class Regions:
    def __init__(self, settings: Settings) -> None:
        self._addresses = [endpoint.address for endpoint in settings.identity]
        self._accepted = {
            normalise_region(endpoint.address): OURS if endpoint.kind == LOCAL else normalise_region(endpoint.address)
            for endpoint in settings.identity
        }
        self._has_local_accounts = settings.has_local_accounts
        self._any_region = settings.any_region

    def offered(self, origin: str | None) -> list[str]:
        """The addresses to send as region; our own origin's where no other is set."""
        if self._addresses:
            return list(self._addresses)
        return [f"{origin}/v3"] if origin else []

    def meant_by(self, region: str, origin: str | None) -> str:
        """Whose accounts are meant."""
        address = normalise_region(region)
        if address is not None:
            endpoint = self._accepted.get(address)
            if endpoint is not None:
                return endpoint
            if self._has_local_accounts and _is_below(address, origin):
                return OURS
        if self._any_region:
            return OURS
        raise UnknownRegion(self.offered(origin))


def _is_below(address: str, origin: str | None) -> bool:
    return origin is not None and (address == origin or address.startswith(origin + "/"))
