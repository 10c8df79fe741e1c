"""Lists by the page: all of them, asked for where the catalog says, and never for ever."""

import asyncio
from typing import Any

import pytest

from cloudconsole.backends.openstack import service_client
from cloudconsole.backends.openstack.billable import ListedVolume
from cloudconsole.backends.openstack.client import OpenStackClient
from cloudconsole.backends.openstack.config import ClientLimits
from cloudconsole.backends.openstack.service_client import Listing, ServiceClient
from cloudconsole.core.ports import ClientInfo
from cloudconsole.spec.errors import UpstreamFailed
from tests.backends.openstack.fake_cloud import Asked, CloudDouble, Reply
from tests.harness import trusting_tests

VOLUMES = Listing("/volumes/detail", "volumes", ListedVolume)
ELSEWHERE = [{"rel": "next", "href": "http://elsewhere.example/v3/volumes/detail?marker=stolen"}]


def volumes(*ids: str) -> list[Any]:
    return [{"id": each, "size": 1, "volume_type": None} for each in ids]


def listed(cloud: CloudDouble, caller: ClientInfo, params: dict[str, str] | None = None) -> list[str]:
    async def ask() -> list[str]:
        upstream = OpenStackClient(ClientLimits(), trusting_tests())
        try:
            region = ServiceClient(upstream, caller, "token", "north", {"volume": f"{cloud.address}/v3/p"})
            return [each.id for each in await region.all("volume", VOLUMES, params)]
        finally:
            await upstream.close()

    return asyncio.run(ask())


def answers(cloud: CloudDouble, *bodies: Any) -> None:
    cloud.answers("GET", "/v3/p/volumes/detail", *(Reply(body=body) for body in bodies))


@pytest.mark.parametrize(
    "more", [{"volumes_links": ELSEWHERE}, {"next": "/v3/volumes?marker=stolen"}], ids=["a link", "a path"]
)
@pytest.mark.parametrize("last", [volumes("c"), []], ids=["some", "none"])
def test_pages_go_on_by_the_last_id_at_our_own_address(
    cloud: CloudDouble, caller: ClientInfo, more: dict[str, Any], last: list[Any]
) -> None:
    answers(cloud, {"volumes": volumes("b", "a"), **more}, {"volumes": last, "volumes_links": []})
    assert listed(cloud, caller, {"owner": "me"}) == ["b", "a", *(each["id"] for each in last)]
    assert [asked.query for asked in cloud.asked] == [{"owner": "me"}, {"owner": "me", "marker": "a"}]


def test_a_link_back_leads_nowhere(cloud: CloudDouble, caller: ClientInfo) -> None:
    answers(cloud, {"volumes": volumes("a"), "volumes_links": [{"rel": "previous", "href": "x"}]})
    assert listed(cloud, caller) == ["a"]


def test_an_id_with_signs_of_an_address_stays_an_id(cloud: CloudDouble, caller: ClientInfo) -> None:
    answers(cloud, {"volumes": volumes("a&x=1#/?"), "next": "x"}, {"volumes": []})
    assert listed(cloud, caller) == ["a&x=1#/?"]
    assert cloud.asked[-1].query == {"marker": "a&x=1#/?"}


@pytest.mark.parametrize("page", [volumes("a"), []], ids=["the same again", "empty"])
def test_a_page_that_leads_to_nothing_new_is_a_failure(cloud: CloudDouble, caller: ClientInfo, page: list[Any]) -> None:
    answers(cloud, {"volumes": volumes("a"), "next": "x"}, {"volumes": page, "next": "x"})
    with pytest.raises(UpstreamFailed):
        listed(cloud, caller)
    assert len(cloud.asked) == 2


def test_a_list_without_an_end_is_a_failure(
    cloud: CloudDouble, caller: ClientInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_client, "MAX_PAGES", 5)

    def more(_asked: Asked) -> Reply:
        return Reply(body={"volumes": volumes(str(len(cloud.asked))), "next": "x"})

    cloud.answers("GET", "/v3/p/volumes/detail", more)
    with pytest.raises(UpstreamFailed):
        listed(cloud, caller)
    assert len(cloud.asked) == 5


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"volumes": None},
        {"volumes": {}},
        {"volumes": [None]},
        {"volumes": [{"id": "a"}]},
        {"volumes": [], "volumes_links": "x"},
        {"volumes": [], "next": 7},
        {"servers": []},
    ],
)
def test_what_is_no_list_is_a_failure(cloud: CloudDouble, caller: ClientInfo, body: Any) -> None:
    answers(cloud, body)
    with pytest.raises(UpstreamFailed):
        listed(cloud, caller)
