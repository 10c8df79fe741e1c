"""One object or all pages; gather with error precedence."""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, Final, Generic, Protocol, TypeVar, cast

import msgspec
from msgspec import Struct

from cloudconsole.backends.openstack.client import OpenStackClient, TokenRejected, UpstreamResponse
from cloudconsole.backends.openstack.config import Service
from cloudconsole.core.ports import ClientInfo
from cloudconsole.spec.errors import UpstreamFailed, UpstreamTimeout

MOST_PAGES: Final = 1000
"""Of one list: a service that goes on for longer would go on for ever."""

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
    """Glance's way to say what the others say by a link."""

    @property
    def is_last(self) -> bool:
        return self.next is None and not any(link.rel == "next" for link in self.links)


class Listing(Generic[Item]):
    """A list that a service gives by the page; `shape` is that of a page."""

    def __init__(self, path: str, key: str, item: type[Item], headers: Mapping[str, str] | None = None) -> None:
        """`key` is what the service calls the items in its answer."""
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


class ServiceClient:
    """A tenant's voice in a region; `services` says where each of the region's services is."""

    def __init__(
        self, upstream: OpenStackClient, client: ClientInfo, token: str, region: str, services: Mapping[str, str]
    ) -> None:
        self.region = region
        self.services = services
        self._upstream = upstream
        self._caller = client
        self._token = token

    async def one(self, service: Service, path: str, shape: type[Shape]) -> Shape:
        return self._upstream.read(await self._ask(service, path, None, None), shape)

    async def all(
        self, service: Service, listing: Listing[Item], params: Mapping[str, str] | None = None
    ) -> list[Item]:
        """Every page, each asked for by the id that the one before ended with.

        The links in the answers only say whether there is more: a service behind a proxy may not know its own
        address, and a token goes nowhere but where the catalog says.
        """
        found: dict[str, Item] = {}
        marker: dict[str, str] = {}
        pages = 0
        while True:
            response = await self._ask(service, listing.path, {**(params or {}), **marker}, listing.headers)
            page = self._upstream.read(response, listing.shape)
            known = len(found)
            found.update((item.id, item) for item in page.items)
            pages += 1
            if page.is_last:
                return list(found.values())
            if len(found) == known:
                raise self._upstream.invalid_response(response, "a page that leads to nothing new")
            if pages == MOST_PAGES:
                raise self._upstream.invalid_response(response, f"a list of over {MOST_PAGES} pages")
            marker = {"marker": page.items[-1].id}

    async def _ask(
        self, service: Service, path: str, params: Mapping[str, str] | None, headers: Mapping[str, str] | None
    ) -> UpstreamResponse:
        return await self._upstream.request(
            self.services[service],
            "GET",
            path,
            client=self._caller,
            service=service,
            token=self._token,
            headers=headers or {},
            params=params or None,
        )


Result = TypeVar("Result")

_GRAVEST_LAST: Final = (UpstreamTimeout, UpstreamFailed, TokenRejected)


async def gather(questions: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """The answers, in the order of the questions."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(question) for question in questions]
    except BaseExceptionGroup as failures:
        gravest = max(_singly(failures), key=_gravity)
        raise gravest from gravest.__cause__
    return [task.result() for task in tasks]


def _singly(failures: BaseExceptionGroup[BaseException]) -> Iterable[BaseException]:
    for failure in failures.exceptions:
        if isinstance(failure, BaseExceptionGroup):
            yield from _singly(failure)
        else:
            yield failure


def _gravity(failure: BaseException) -> int:
    """That of a fault of our own is the greatest: it must not hide behind another's."""
    for gravity, kind in enumerate(_GRAVEST_LAST):
        if isinstance(failure, kind):
            return gravity
    return len(_GRAVEST_LAST)
