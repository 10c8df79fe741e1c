"""Paginated lists: complete, requested at the catalog's URL, and bounded."""

import asyncio
from typing import Any

import pytest

from cloudconsole.backends.openstack import paginated_client
from cloudconsole.backends.openstack.billable import ListedVolume
from cloudconsole.backends.openstack.paginated_client import Listing, RegionClient
from cloudconsole.spec.errors import UpstreamFailed
from tests.backends.openstack.clients import CLIENT, open_client
from tests.backends.openstack.fake_cloud import FakeCloud, RecordedRequest, Reply

VOLUMES = Listing("/volumes/detail", "volumes", ListedVolume)
ELSEWHERE = [{"rel": "next", "href": "http://elsewhere.example/v3/volumes/detail?marker=stolen"}]


def volumes(*ids: str) -> list[Any]:
    return [{"id": each, "size": 1, "volume_type": None} for each in ids]


def listed(cloud: FakeCloud, params: dict[str, str] | None = None) -> list[str]:
    async def fetch() -> list[str]:
        async with open_client() as client:
            region = RegionClient(client, CLIENT, "token", "north", {"volume": f"{cloud.address}/v3/p"})
            return [each.id for each in await region.all("volume", VOLUMES, params)]

    return asyncio.run(fetch())


def respond(cloud: FakeCloud, *bodies: Any) -> None:
    cloud.respond("GET", "/v3/p/volumes/detail", *(Reply(body=body) for body in bodies))


@pytest.mark.parametrize(
    "more", [{"volumes_links": ELSEWHERE}, {"next": "/v3/volumes?marker=stolen"}], ids=["link", "path"]
)
@pytest.mark.parametrize("last", [volumes("c"), []], ids=["some", "none"])
def test_next_page_uses_the_last_id_at_the_catalog_url(cloud: FakeCloud, more: dict[str, Any], last: list[Any]) -> None:
    respond(cloud, {"volumes": volumes("b", "a"), **more}, {"volumes": last, "volumes_links": []})
    assert listed(cloud, {"owner": "me"}) == ["b", "a", *(each["id"] for each in last)]
    assert [request.query for request in cloud.requests] == [{"owner": "me"}, {"owner": "me", "marker": "a"}]


def test_previous_link_is_ignored(cloud: FakeCloud) -> None:
    respond(cloud, {"volumes": volumes("a"), "volumes_links": [{"rel": "previous", "href": "x"}]})
    assert listed(cloud) == ["a"]


def test_marker_with_url_characters_is_escaped(cloud: FakeCloud) -> None:
    respond(cloud, {"volumes": volumes("a&x=1#/?"), "next": "x"}, {"volumes": []})
    assert listed(cloud) == ["a&x=1#/?"]
    assert cloud.requests[-1].query == {"marker": "a&x=1#/?"}


@pytest.mark.parametrize("page", [volumes("a"), []], ids=["repeated", "empty"])
def test_page_without_new_items_is_an_upstream_failure(cloud: FakeCloud, page: list[Any]) -> None:
    respond(cloud, {"volumes": volumes("a"), "next": "x"}, {"volumes": page, "next": "x"})
    with pytest.raises(UpstreamFailed):
        listed(cloud)
    assert len(cloud.requests) == 2


def test_endless_list_is_an_upstream_failure(cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paginated_client, "MAX_PAGES", 5)

    def more(_request: RecordedRequest) -> Reply:
        return Reply(body={"volumes": volumes(str(len(cloud.requests))), "next": "x"})

    cloud.respond("GET", "/v3/p/volumes/detail", more)
    with pytest.raises(UpstreamFailed):
        listed(cloud)
    assert len(cloud.requests) == 5


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"volumes": {}},
        {"volumes": [{"id": "a"}]},
        {"volumes": [], "volumes_links": "x"},
        {"volumes": [], "next": 7},
    ],
)
def test_malformed_list_is_an_upstream_failure(cloud: FakeCloud, body: Any) -> None:
    respond(cloud, body)
    with pytest.raises(UpstreamFailed):
        listed(cloud)
