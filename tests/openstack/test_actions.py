"""The actions on the cloud, compared with what openstacksdk reads from it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from lab.cloud import Lab

from tests.harness import RunningServer
from tests.openstack import reference
from tests.openstack.conftest import NewClient, Serve
from tests.openstack.reference import Connection, assert_consistent
from tests.openstack.tenants import FederatedClient

pytestmark = pytest.mark.xdist_group("actions")


Read = Callable[[list[Connection]], Any]
Connect = Callable[..., list[Connection]]

EACH_ACTION = pytest.mark.parametrize(
    ("action", "read"),
    [
        ("GetUsageLimits", reference.usage),
        ("GetFlavors", reference.flavors),
        ("GetConsumptionsEstimated", reference.estimate),
    ],
)


@pytest.fixture(scope="module")
def connect(lab: Lab) -> Iterator[Connect]:
    """Connect a user to regions; connections stay open for other tests."""
    opened: dict[tuple[str, str], Connection] = {}
    with ExitStack() as stack:

        def connections(name: str, *regions: str) -> list[Connection]:
            for region in regions:
                if (name, region) not in opened:
                    opened[name, region] = stack.enter_context(lab.connect(name, region))
            return [opened[name, region] for region in regions]

        yield connections


@pytest.fixture(scope="module")
def one_region_console(serve: Serve, lab: Lab) -> RunningServer:
    return serve(f'regions = ["Nowhere", "{lab.regions[-1]}"]', cloud_cache=0, flavor_cache=0)


def assert_matches(client: FederatedClient, action: str, read: Read, regions: list[Connection]) -> Any:
    def from_console() -> Any:
        data = client.data(action)
        return data["flavors"] if action == "GetFlavors" else data

    return assert_consistent(from_console, lambda: read(regions))


@EACH_ACTION
@pytest.mark.parametrize("name", ["alice", "bob", "carol"])
def test_response_matches_the_cloud(
    new_client: NewClient, connect: Connect, lab: Lab, name: str, action: str, read: Read
) -> None:
    """The resources of the projects differ, and those of each project between the regions."""
    data = assert_matches(new_client().log_in_as(name), action, read, connect(name, *lab.regions))
    if (name, action) == ("alice", "GetConsumptionsEstimated"):
        assert [item["res_type"] for item in data] == ["instance", "image", "loadbalance", "volume"]


@EACH_ACTION
def test_regions_that_are_not_configured_are_omitted(
    one_region_console: RunningServer, new_client: NewClient, connect: Connect, lab: Lab, action: str, read: Read
) -> None:
    client = new_client(one_region_console).log_in_as("alice")
    assert_matches(client, action, read, connect("alice", lab.regions[-1]))
