"""What of a catalog is of use: for each region its services, with their version, and nothing odd."""

from typing import Any

import pytest

from cloudconsole.backends.openstack.keystone import services_of

PROJECT = "603f0ff1af5b46218e889259439807ec"


def entry(kind: str, *urls: str, region: str = "R1", interface: str = "public") -> dict[str, Any]:
    endpoints = [{"interface": interface, "region_id": region, "region": region, "url": url} for url in urls]
    return {"type": kind, "name": "any", "endpoints": endpoints}


def services(*catalog: Any, interface: str = "public", regions: tuple[str, ...] = ()) -> dict[str, dict[str, str]]:
    return services_of(list(catalog), interface=interface, regions=regions, project_id=PROJECT)


@pytest.mark.parametrize(
    ("kind", "url", "name", "address"),
    [
        ("compute", "http://h:8774", "compute", "http://h:8774/v2.1"),
        ("compute", "http://h:8774/v2.1", "compute", "http://h:8774/v2.1"),
        ("compute", "http://h/compute/v2.1/p1/", "compute", "http://h/compute/v2.1/p1"),
        ("volumev3", "http://h:8776", "volume", f"http://h:8776/v3/{PROJECT}"),
        ("block-storage", "http://h/volume/", "volume", f"http://h/volume/v3/{PROJECT}"),
        ("block-store", "http://h/volume/v3", "volume", "http://h/volume/v3"),
        ("network", "https://h:9696/", "network", "https://h:9696/v2.0"),
        ("network", "https://h/networking", "network", "https://h/networking/v2.0"),
        ("image", "http://h/image", "image", "http://h/image/v2"),
        ("image", "http://h/image/v2/", "image", "http://h/image/v2"),
        ("load-balancer", "http://h:9876", "load-balancer", "http://h:9876/v2"),
        ("load-balancer", "http://h/load-balancer", "load-balancer", "http://h/load-balancer/v2"),
        ("load-balancer", "http://h/v2.0", "load-balancer", "http://h/v2.0"),
        ("image", "http://v2.example/glance", "image", "http://v2.example/glance/v2"),
        ("image", "http://[::1]:9292", "image", "http://[::1]:9292/v2"),
    ],
)
def test_an_address_is_complete_with_its_version(kind: str, url: str, name: str, address: str) -> None:
    assert services(entry(kind, url)) == {"R1": {name: address}}


@pytest.mark.parametrize("kind", ["identity", "placement", "object-store", "volumev2", "volume", "Compute"])
def test_other_services_are_left_out(kind: str) -> None:
    assert services(entry(kind, "http://h")) == {}


def test_of_several_types_for_volumes_the_newest_counts() -> None:
    old, new = entry("volumev3", "http://old/v3"), entry("block-storage", "http://new/v3")
    assert services(old, new) == services(new, old) == {"R1": {"volume": "http://new/v3"}}


def test_where_the_newest_is_only_in_another_region_the_older_counts() -> None:
    found = services(entry("volumev3", "http://old/v3"), entry("block-storage", "http://new/v3", region="R2"))
    assert found == {"R1": {"volume": "http://old/v3"}, "R2": {"volume": "http://new/v3"}}


def test_of_two_addresses_for_the_same_the_first_counts() -> None:
    assert services(entry("image", "http://one/v2", "http://two/v2"), entry("image", "http://three/v2")) == {
        "R1": {"image": "http://one/v2"}
    }


def test_only_the_interface_that_is_wanted() -> None:
    catalog = entry("image", "http://outer/v2"), entry("image", "http://inner/v2", interface="internal")
    assert services(*catalog, interface="internal") == {"R1": {"image": "http://inner/v2"}}
    assert services(*catalog, interface="admin") == {}


def test_only_the_regions_that_may_be_used() -> None:
    catalog = [entry("image", f"http://{region}/v2", region=region) for region in ("a", "b", "c")]
    assert set(services(*catalog, regions=("c", "a", "nowhere"))) == {"a", "c"}


@pytest.mark.parametrize("named", [{"region_id": "R"}, {"region": "R"}, {"region_id": None, "region": "R"}])
def test_a_region_goes_by_either_name(named: dict[str, Any]) -> None:
    endpoint = {"interface": "public", "url": "http://h/v2", **named}
    assert services({"type": "image", "endpoints": [endpoint]}) == {"R": {"image": "http://h/v2"}}


@pytest.mark.parametrize(
    "url",
    [
        "",
        "h/v2",
        "//h/v2",
        "ftp://h/v2",
        "unix:///run/glance",
        "http://",
        "http:///v2",
        "http://h:0/v2",
        "http://h:99999/v2",
        "http://h:port/v2",
        "http://user:password@h/v2",
        "http://h/v2?a=b",
        "http://h/v2#a",
        "http://h/ v2",
        "http://h/\n",
        "http://h/\u202e",
        "http://[::1/v2",
        "http://h/%(tenant_id)s\x00",
    ],
)
def test_where_no_token_can_be_sent_there_is_no_service(url: str) -> None:
    assert services(entry("image", url, "http://good/v2")) == {"R1": {"image": "http://good/v2"}}


ODD: dict[str, Any] = {
    "null": None,
    "text": "image",
    "nothing in it": {},
    "no type": {"endpoints": []},
    "type null": {"type": None, "endpoints": [{"interface": "public", "url": "http://h/v2", "region": "R1"}]},
    "no endpoints": {"type": "image"},
    "endpoints null": {"type": "image", "endpoints": None},
    "an endpoint null": {"type": "image", "endpoints": [None]},
    "no address": {"type": "image", "endpoints": [{"interface": "public", "region": "R1"}]},
    "address null": {"type": "image", "endpoints": [{"interface": "public", "region": "R1", "url": None}]},
    "no interface": {"type": "image", "endpoints": [{"url": "http://h/v2", "region": "R1"}]},
    "no region": {"type": "image", "endpoints": [{"interface": "public", "url": "http://h/v2"}]},
    "region null": {"type": "image", "endpoints": [{"interface": "public", "url": "http://h/v2", "region_id": None}]},
    "region empty": {"type": "image", "endpoints": [{"interface": "public", "url": "http://h/v2", "region": ""}]},
    "region a number": {"type": "image", "endpoints": [{"interface": "public", "url": "http://h/v2", "region": 1}]},
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_what_is_odd_is_left_out_and_nothing_else(odd: Any) -> None:
    assert services(odd, entry("image", "http://good/v2")) == {"R1": {"image": "http://good/v2"}}
