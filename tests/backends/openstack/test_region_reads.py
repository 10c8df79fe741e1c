"""Reads from regions: complete, bounded lists at the catalog's URL; concurrent reads raise the most severe failure."""

import asyncio
from itertools import permutations
from typing import Any

import pytest

from cloudconsole.backends.openstack import paginated_client
from cloudconsole.backends.openstack.billable import ListedVolume
from cloudconsole.backends.openstack.client import TokenRejected
from cloudconsole.backends.openstack.multi_region_reads import gather
from cloudconsole.backends.openstack.paginated_client import Listing, RegionClient
from cloudconsole.spec.errors import UpstreamFailed, UpstreamTimeout
from tests.backends.openstack.fake_cloud import CLIENT, FakeCloud, RecordedRequest, Reply, open_client

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
    marker = "a&x=1#/?"
    previous = [{"rel": "previous", "href": "x"}]
    respond(cloud, {"volumes": volumes("b", marker), **more}, {"volumes": last, "volumes_links": previous})
    assert listed(cloud, {"owner": "me"}) == ["b", marker, *(each["id"] for each in last)]
    assert [request.query for request in cloud.requests] == [{"owner": "me"}, {"owner": "me", "marker": marker}]


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


MALFORMED = [{}, {"volumes": {}}, {"volumes": [{"id": "a"}]}, {"volumes": [], "volumes_links": "x"}]


@pytest.mark.parametrize("body", [*MALFORMED, {"volumes": [], "next": 7}])
def test_malformed_list_is_an_upstream_failure(cloud: FakeCloud, body: Any) -> None:
    respond(cloud, body)
    with pytest.raises(UpstreamFailed):
        listed(cloud)


# Concurrent reads


BY_SEVERITY = (ZeroDivisionError(), TokenRejected("t"), UpstreamFailed(), UpstreamTimeout())


async def succeed(value: int, pauses: int = 0) -> int:
    for _ in range(pauses):
        await asyncio.sleep(0)
    return value


async def fail(failure: Exception) -> int:
    raise failure


def test_results_are_in_the_order_of_the_coroutines() -> None:
    assert asyncio.run(gather(succeed(number, pauses=5 - number) for number in range(5))) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("failures", list(permutations(BY_SEVERITY, 2)), ids=str)
def test_most_severe_failure_is_raised_without_a_group(failures: tuple[Exception, Exception]) -> None:
    with pytest.raises(Exception) as raised:
        asyncio.run(gather(map(fail, failures)))
    assert raised.value is min(failures, key=BY_SEVERITY.index)


def test_failure_keeps_its_cause() -> None:
    async def caused() -> int:
        raise UpstreamFailed from ConnectionError("why")

    with pytest.raises(UpstreamFailed) as raised:
        asyncio.run(gather([caused()]))
    assert isinstance(raised.value.__cause__, ConnectionError)
