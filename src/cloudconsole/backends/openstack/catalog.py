"""What of a user's catalog is of use to us: for each region, where its services are, complete with their version."""

import re
from collections.abc import Collection, Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from cloudconsole.core.ports import Services

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
