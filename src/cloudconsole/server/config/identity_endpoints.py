"""Setting type of identity endpoints: the addresses that login accepts as region."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cloudconsole.backends.openstack.config import Endpoint
from cloudconsole.backends.openstack.secret_files import SecretFileError, read_application_credentials
from cloudconsole.core.identity_urls_and_projects import normalise_region
from cloudconsole.server.config.types import FILE, IDENTITY_ADDRESS, Choice, ListOf, SettingType, Word

LOCAL: Final = "local"
"""Kind of an endpoint with accounts in the store."""
KEYSTONE: Final = "keystone"
"""Kind of an endpoint with OpenStack users."""

KEYSTONE_PREFIX: Final = f"{KEYSTONE}+"
"""Prefix that marks a Keystone address in a variable or a flag."""


@dataclass(frozen=True)
class IdentityEndpoint:
    """An address that login accepts as region, and the kind of its accounts."""

    address: str
    kind: str = LOCAL
    keystone: Endpoint | None = None
    """Connection settings; set for kind keystone only."""


class Endpoints(ListOf):
    """List of identity endpoints: tables in a file; addresses with an optional prefix in text."""

    def __init__(self) -> None:
        super().__init__(IDENTITY_ADDRESS)
        self.example = [{"address": IDENTITY_ADDRESS.example, "kind": LOCAL}]

    def from_text(self, text: str) -> tuple[IdentityEndpoint, ...]:
        items = [item.strip() for item in text.split(",") if item.strip()]
        return tuple(self._from_item(item) for item in items)

    def from_file(self, value: Any) -> tuple[IdentityEndpoint, ...]:
        if not isinstance(value, list) or not all(isinstance(table, dict) for table in value):
            raise ValueError(f'must be tables: [[identity]], address = "{IDENTITY_ADDRESS.example}"')
        return tuple(self._endpoint(table) for table in value)

    def _from_item(self, item: str) -> IdentityEndpoint:
        address = item.removeprefix(KEYSTONE_PREFIX)
        kind, plus, _ = address.partition("+")
        if plus and kind.isalnum():
            raise ValueError(
                f"unknown kind {kind!r}; use {KEYSTONE_PREFIX}{IDENTITY_ADDRESS.example} or, for kind local, "
                "the address alone"
            )
        return self._endpoint({"address": address, "kind": LOCAL if address == item else KEYSTONE})

    def _endpoint(self, table: Mapping[str, Any]) -> IdentityEndpoint:
        kind = table.get("kind", LOCAL)
        if not isinstance(kind, str) or kind not in _FIELDS:
            raise ValueError(f"unknown kind {kind!r}; use one of: {', '.join(_FIELDS)}")
        fields = _FIELDS[kind]
        for key in table:
            if key not in ("address", "kind", *fields):
                fix = f"use {_CLOUDS_YAML_NAMES[key]}" if key in _CLOUDS_YAML_NAMES else "move [[identity]] to the end"
                raise ValueError(
                    f"an endpoint of kind {kind} has {_listed('address', 'kind', *fields)}, not {key!r}; {fix}"
                )
        address = self._read(table.get("address", ""))
        if kind == LOCAL:
            return IdentityEndpoint(address)
        values = {key: _field(fields[key], key, table[key]) for key in fields if key in table}
        normalised = normalise_region(address) or address
        if normalise_region(normalised) != normalised:
            # Projects are stored with the normalised address, so normalising must be idempotent.
            raise ValueError(f"{address!r} must end with at most one /v3 or slash")
        return IdentityEndpoint(address, kind, Endpoint(normalised, **values))


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
        raise ValueError(f"{text} is not a PEM file of certificates: {problem}") from None
    return FILE.from_text(text)  # type: ignore[no-any-return]


def _credentials(text: str) -> Path:
    file: Path = FILE.from_text(text)
    try:
        read_application_credentials(file)
    except SecretFileError as problem:
        raise ValueError(str(problem)) from None
    return file


def _listed(*names: str) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


_FIELDS: Final[dict[str, dict[str, SettingType]]] = {
    LOCAL: {},
    KEYSTONE: {
        "user_domain": Word(_name, "NAME", "a domain name", "Default"),
        "user_domains": ListOf(Word(_name, "NAME", "a domain name", "Partners")),
        "interface": Choice("public", "internal", "admin"),
        "regions": ListOf(Word(_name, "REGION", "a region name", "RegionOne")),
        "project": Word(_name, "NAME", "a project name", "main"),
        "ca_file": Word(_trusted, "FILE", "a PEM file of certificates", "/etc/cloudconsole/ca.pem"),
        "application_credentials": Word(
            _credentials, "FILE", "a file of application credentials", "/etc/cloudconsole/application-credentials"
        ),
    },
}
"""Fields of each kind besides address and kind."""

_CLOUDS_YAML_NAMES: Final = {
    "auth_url": "address",
    "user_domain_name": "user_domain",
    "region_name": "regions",
    "project_name": "project",
    "cacert": "ca_file",
}
"""Fields by their name in clouds.yaml."""
