"""What is examined: the console that was given to the command, and what can be called on any."""

from typing import Final, NamedTuple
from urllib.parse import urlsplit

from cloudconsole.conformance.client import Account, BodyForm
from cloudconsole.conformance.responses import RawResponse
from cloudconsole.spec.actions import ACTIONS
from cloudconsole.spec.urls import normalise_base_url

FORMS: Final[tuple[BodyForm, ...]] = ("JSON", "form")
ACTION_NAMES: Final = tuple(action.name for action in ACTIONS)
OBJECTS: Final = ("GetUsageLimits", "GetFlavors", "GetDomainDetail")
"""The actions whose `data` is an object; that of the others is an array."""


class Target(NamedTuple):
    """What was given to the command."""

    base: str
    region: str
    account: Account
    other: Account | None = None
    domains: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """What a browser on this server's own pages would send as Origin."""
        parts = urlsplit(normalise_base_url(self.base))
        return f"{parts.scheme}://{parts.netloc}"


class WorkingCall(NamedTuple):
    """An action that was successful, with the body form and the fields that made it so."""

    action: str
    form: BodyForm
    fields: dict[str, str]
    answer: RawResponse
