"""Service catalog: the URLs of each region's services, with their version and without malformed entries."""

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
    ("kind", "url", "name", "expected"),
    [
        ("compute", "http://h:8774", "compute", "http://h:8774/v2.1"),
        ("compute", "http://h:8774/v2.1", "compute", "http://h:8774/v2.1"),
        ("compute", "http://h/compute/v2.1/p1/", "compute", "http://h/compute/v2.1/p1"),
        ("volumev3", "http://h:8776", "volume", f"http://h:8776/v3/{PROJECT}"),
        ("block-storage", "http://h/volume/", "volume", f"http://h/volume/v3/{PROJECT}"),
        ("block-store", "http://h/volume/v3", "volume", "http://h/volume/v3"),
        ("network", "https://h:9696/", "network", "https://h:9696/v2.0"),
        ("load-balancer", "http://h:9876", "load-balancer", "http://h:9876/v2"),
        ("load-balancer", "http://h/v2.0", "load-balancer", "http://h/v2.0"),
        ("image", "http://v2.example/glance", "image", "http://v2.example/glance/v2"),
        ("image", "http://[::1]:9292", "image", "http://[::1]:9292/v2"),
    ],
)
def test_endpoint_url_is_completed_with_its_version(kind: str, url: str, name: str, expected: str) -> None:
    assert services(entry(kind, url)) == {"R1": {name: expected}}


@pytest.mark.parametrize("kind", ["identity", "placement", "object-store", "volumev2", "volume", "Compute"])
def test_unused_services_are_omitted(kind: str) -> None:
    assert services(entry(kind, "http://h")) == {}


def test_newest_volume_service_type_is_preferred() -> None:
    old, new = entry("volumev3", "http://old/v3"), entry("block-storage", "http://new/v3")
    assert services(old, new) == services(new, old) == {"R1": {"volume": "http://new/v3"}}


def test_volume_service_type_is_chosen_per_region() -> None:
    found = services(entry("volumev3", "http://old/v3"), entry("block-storage", "http://new/v3", region="R2"))
    assert found == {"R1": {"volume": "http://old/v3"}, "R2": {"volume": "http://new/v3"}}


def test_first_of_duplicate_endpoints_is_used() -> None:
    assert services(entry("image", "http://one/v2", "http://two/v2"), entry("image", "http://three/v2")) == {
        "R1": {"image": "http://one/v2"}
    }


def test_only_the_configured_interface_is_used() -> None:
    catalog = entry("image", "http://outer/v2"), entry("image", "http://inner/v2", interface="internal")
    assert services(*catalog, interface="internal") == {"R1": {"image": "http://inner/v2"}}
    assert services(*catalog, interface="admin") == {}


def test_only_configured_regions_are_used() -> None:
    catalog = [entry("image", f"http://{region}/v2", region=region) for region in ("a", "b", "c")]
    assert set(services(*catalog, regions=("c", "a", "nowhere"))) == {"a", "c"}


@pytest.mark.parametrize("named", [{"region_id": "R"}, {"region": "R"}, {"region_id": None, "region": "R"}])
def test_region_is_read_from_either_field(named: dict[str, Any]) -> None:
    endpoint = {"interface": "public", "url": "http://h/v2", **named}
    assert services({"type": "image", "endpoints": [endpoint]}) == {"R": {"image": "http://h/v2"}}


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://h/v2",
        "http://",
        "http://h:0/v2",
        "http://h:99999/v2",
        "http://h:port/v2",
        "http://user:password@h/v2",
        "http://h/v2?a=b",
        "http://h/v2#a",
        "http://h/\n",
        "http://h/\u202e",
        "http://[::1/v2",
    ],
)
def test_endpoint_with_an_unsafe_url_is_skipped(url: str) -> None:
    assert services(entry("image", url, "http://good/v2")) == {"R1": {"image": "http://good/v2"}}


MALFORMED: dict[str, Any] = {
    "text": "image",
    "empty": {},
    "type null": {"type": None, "endpoints": [{"interface": "public", "url": "http://h/v2", "region": "R1"}]},
    "no endpoints": {"type": "image"},
    "endpoint null": {"type": "image", "endpoints": [None]},
    "no url": {"type": "image", "endpoints": [{"interface": "public", "region": "R1"}]},
    "no interface": {"type": "image", "endpoints": [{"url": "http://h/v2", "region": "R1"}]},
    "region null": {"type": "image", "endpoints": [{"interface": "public", "url": "http://h/v2", "region_id": None}]},
    "region empty": {"type": "image", "endpoints": [{"interface": "public", "url": "http://h/v2", "region": ""}]},
}


@pytest.mark.parametrize("malformed", MALFORMED.values(), ids=MALFORMED)
def test_malformed_catalog_entry_is_skipped(malformed: Any) -> None:
    assert services(malformed, entry("image", "http://good/v2")) == {"R1": {"image": "http://good/v2"}}
