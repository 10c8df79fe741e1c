"""Identity endpoints among the settings: addresses that login accepts as region, and whose accounts each stands for."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cloudconsole.backends.openstack.config import Endpoint
from cloudconsole.core.hosts import normalise_region
from cloudconsole.server.config.types import FILE, IDENTITY_ADDRESS, Choice, ListOf, SettingType, Word

LOCAL: Final = "local"
"""The kind of an identity endpoint whose accounts are the console's own."""
KEYSTONE: Final = "keystone"
"""The kind of one whose accounts are those of an OpenStack."""

KEYSTONE_PREFIX: Final = f"{KEYSTONE}+"
"""Before an address in a variable or a flag, it says the kind."""


@dataclass(frozen=True)
class IdentityEndpoint:
    """An address that login accepts as region, and whose accounts it stands for."""

    address: str
    kind: str = LOCAL
    keystone: Endpoint | None = None
    """How to speak to it, where it is one of kind keystone."""


class Endpoints(ListOf):
    """Identity endpoints: tables with their kind in a file; in text their addresses, of kind local unless they say."""

    def __init__(self) -> None:
        super().__init__(IDENTITY_ADDRESS)
        self.example = [{"address": IDENTITY_ADDRESS.example, "kind": LOCAL}]

    def from_text(self, text: str) -> tuple[IdentityEndpoint, ...]:
        items = [item.strip() for item in text.split(",") if item.strip()]
        return tuple(self._named(item) for item in items)

    def from_file(self, value: Any) -> tuple[IdentityEndpoint, ...]:
        if not isinstance(value, list) or not all(isinstance(table, dict) for table in value):
            raise ValueError(f'give each as a table: [[identity]], address = "{IDENTITY_ADDRESS.example}"')
        return tuple(self._endpoint(table) for table in value)

    def _named(self, item: str) -> IdentityEndpoint:
        address = item.removeprefix(KEYSTONE_PREFIX)
        kind, plus, _ = address.partition("+")
        if plus and kind.isalnum():
            raise ValueError(
                f"there is no kind {kind!r}; give {KEYSTONE_PREFIX}{IDENTITY_ADDRESS.example} or, of kind local, "
                "the address alone"
            )
        return self._endpoint({"address": address, "kind": LOCAL if address == item else KEYSTONE})

    def _endpoint(self, table: Mapping[str, Any]) -> IdentityEndpoint:
        kind = table.get("kind", LOCAL)
        if not isinstance(kind, str) or kind not in _FIELDS:
            raise ValueError(f"there is no kind {kind!r}; the kinds are: {', '.join(_FIELDS)}")
        fields = _FIELDS[kind]
        for key in table:
            if key not in ("address", "kind", *fields):
                mend = f"that is its {_ELSEWHERE[key]}" if key in _ELSEWHERE else "write [[identity]] after all else"
                raise ValueError(
                    f"an endpoint of kind {kind} has {_listed('address', 'kind', *fields)}, not {key!r}; {mend}"
                )
        address = self._read(table.get("address", ""))
        if kind == LOCAL:
            return IdentityEndpoint(address)
        values = {key: _field(fields[key], key, table[key]) for key in fields if key in table}
        place = normalise_region(address) or address
        if normalise_region(place) != place:
            # A project is kept with the address as it is when nothing more can be left out of its end.
            raise ValueError(f"{address!r} must end with one /v3 or slash at the most")
        return IdentityEndpoint(address, kind, Endpoint(place, **values))


def _field(kind: SettingType, key: str, value: Any) -> Any:
    try:
        return kind.from_file(value)
    except ValueError as problem:
        raise ValueError(f"{key}: {problem}") from None


def _name(text: str) -> str | None:
    return text if 0 < len(text) <= 255 and text.isprintable() and text == text.strip() else None


def _trusted(text: str) -> Path:
    try:
        ssl.create_default_context(cafile=text)
    except (OSError, ValueError) as problem:
        raise ValueError(f"{text} cannot be used as certificates in PEM: {problem}") from None
    return FILE.from_text(text)  # type: ignore[no-any-return]


def _listed(*names: str) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


_FIELDS: Final[dict[str, dict[str, SettingType]]] = {
    LOCAL: {},
    KEYSTONE: {
        "user_domain": Word(_name, "NAME", "a domain's name", "Default"),
        "interface": Choice("public", "internal", "admin"),
        "regions": ListOf(Word(_name, "REGION", "a region's name", "RegionOne")),
        "project": Word(_name, "NAME", "a project's name", "main"),
        "ca_file": Word(_trusted, "FILE", "a file of certificates in PEM", "/etc/cloudconsole/ca.pem"),
    },
}
"""What an endpoint of each kind has besides its address and kind."""

_ELSEWHERE: Final = {
    "auth_url": "address",
    "user_domain_name": "user_domain",
    "region_name": "regions",
    "project_name": "project",
    "cacert": "ca_file",
}
"""What clouds.yaml calls otherwise."""
