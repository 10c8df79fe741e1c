"""Reads of single objects and paginated lists from the services of a region."""

from collections.abc import Mapping
from typing import Final, Generic, Protocol, TypeVar, cast

import msgspec
from msgspec import Struct

from cloudconsole.backends.openstack.client import OpenStackClient, UpstreamResponse
from cloudconsole.backends.openstack.config import Service
from cloudconsole.core.ports import ClientInfo

MAX_PAGES: Final = 1000
"""Guard against a service that never ends a list."""

Shape = TypeVar("Shape")


class Listed(Protocol):
    @property
    def id(self) -> str: ...


Item = TypeVar("Item", bound=Listed)


class Link(Struct, frozen=True):
    rel: str = ""


class Page(Struct, Generic[Item], frozen=True):
    items: list[Item]
    links: list[Link]
    next: str | None
    """Glance's counterpart of the `next` link."""

    @property
    def is_last(self) -> bool:
        return self.next is None and not any(link.rel == "next" for link in self.links)


class Listing(Generic[Item]):
    """A paginated list of a service; `shape` is the type of a page."""

    def __init__(self, path: str, key: str, item: type[Item], headers: Mapping[str, str] | None = None) -> None:
        """`key` is the name of the items in the response."""
        self.path = path
        self.headers = headers
        shape = msgspec.defstruct(
            "Listed",
            [("items", list[item]), ("links", list[Link], []), ("next", str | None, None)],  # type: ignore[valid-type]
            bases=(Page,),
            rename={"items": key, "links": f"{key}_links"},
            frozen=True,
        )
        self.shape = cast("type[Page[Item]]", shape)


class RegionClient:
    """A tenant's client for the services of a region, whose URLs are in `services`."""

    def __init__(
        self, upstream: OpenStackClient, client: ClientInfo, token: str, region: str, services: Mapping[str, str]
    ) -> None:
        self.region = region
        self.services = services
        self._upstream = upstream
        self._client = client
        self._token = token

    async def one(self, service: Service, path: str, shape: type[Shape]) -> Shape:
        return self._upstream.read(await self._get(service, path, None, None), shape)

    async def all(
        self, service: Service, listing: Listing[Item], params: Mapping[str, str] | None = None
    ) -> list[Item]:
        """Read every page, using the last id of each as the marker of the next.

        Links only tell whether there are more pages: a service behind a proxy may not know its address, and a token is
        only sent to addresses in the catalog.
        """
        items: dict[str, Item] = {}
        marker: dict[str, str] = {}
        pages = 0
        while True:
            response = await self._get(service, listing.path, {**(params or {}), **marker}, listing.headers)
            page = self._upstream.read(response, listing.shape)
            known = len(items)
            items.update((item.id, item) for item in page.items)
            pages += 1
            if page.is_last:
                return list(items.values())
            if len(items) == known:
                raise self._upstream.invalid_response(response, "a page without new items")
            if pages == MAX_PAGES:
                raise self._upstream.invalid_response(response, f"a list of over {MAX_PAGES} pages")
            marker = {"marker": page.items[-1].id}

    async def _get(
        self, service: Service, path: str, params: Mapping[str, str] | None, headers: Mapping[str, str] | None
    ) -> UpstreamResponse:
        return await self._upstream.request(
            self.services[service],
            "GET",
            path,
            client=self._client,
            service=service,
            token=self._token,
            headers=headers or {},
            params=params or None,
        )
