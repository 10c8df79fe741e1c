"""Which addresses login accepts as `region`. They are only compared: none is ever dialled or resolved."""

from cloudconsole.core.addresses import normalise_region
from cloudconsole.server.settings import Settings
from cloudconsole.spec.errors import UnknownRegion


class Regions:
    def __init__(self, settings: Settings) -> None:
        self._addresses = [endpoint.address for endpoint in settings.identity]
        self._accepted = {normalise_region(address) for address in self._addresses}
        self._any_region = settings.any_region

    def offered(self, origin: str | None) -> list[str]:
        """The addresses to send as region; our own origin's where no other is set."""
        if self._addresses:
            return list(self._addresses)
        return [f"{origin}/v3"] if origin else []

    def check(self, region: str, origin: str | None) -> None:
        address = normalise_region(region)
        if address is not None and (address in self._accepted or _is_below(address, origin)):
            return
        if not self._any_region:
            raise UnknownRegion(self.offered(origin))


def _is_below(address: str, origin: str | None) -> bool:
    return origin is not None and (address == origin or address.startswith(origin + "/"))
