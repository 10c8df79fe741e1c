"""Every action, compared with what openstacksdk reads from the cloud."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest
from lab.cloud import Lab

from tests.harness import HttpTransport, RunningServer
from tests.openstack import reference
from tests.openstack.federated_client import FederatedClient
from tests.openstack.operator_cli import DOMAIN, publish_content, run_admin
from tests.openstack.reference import Connection, assert_consistent

pytestmark = pytest.mark.xdist_group("actions")

EACH_USER = pytest.mark.parametrize("name", ["alice", "bob"])

Regions = list[Connection]


@pytest.fixture(scope="module")
def connections_as(lab: Lab) -> Iterator[Callable[[str], Regions]]:
    """Return a function that connects a user to all regions."""
    by_user: dict[str, Regions] = {}
    with ExitStack() as stack:

        def connections(name: str) -> Regions:
            if name not in by_user:
                by_user[name] = [stack.enter_context(lab.connect(name, region)) for region in lab.regions]
            return by_user[name]

        yield connections


@EACH_USER
class TestCloudActions:
    @pytest.fixture
    def regions(self, connections_as: Callable[[str], Regions], name: str) -> Regions:
        return connections_as(name)

    @pytest.fixture
    def client(self, new_client: Callable[[], FederatedClient], name: str) -> FederatedClient:
        return new_client().log_in_as(name)

    def test_usage_limits_match_the_cloud(self, client: FederatedClient, regions: Regions) -> None:
        data = assert_consistent(lambda: client.data("GetUsageLimits"), lambda: reference.usage(regions))
        assert len(data) == 22

    def test_flavors_match_the_cloud(self, client: FederatedClient, regions: Regions) -> None:
        assert_consistent(lambda: client.data("GetFlavors")["flavors"], lambda: reference.flavors(regions))

    def test_choices_are_derived_from_the_flavors(self, client: FederatedClient, regions: Regions) -> None:
        data = client.data("GetFlavors")
        pairs = {(flavor["vcpus"], flavor["ram"]) for flavor in data["flavors"]}
        assert data["configs"] == {"vcpus": sorted({cpu for cpu, _ in pairs}), "ram": sorted({ram for _, ram in pairs})}
        assert {(int(cpu), ram) for cpu, rams in data["limits"].items() for ram in rams} == pairs

    def test_estimate_matches_to_the_last_digit(self, client: FederatedClient, regions: Regions) -> None:
        assert_consistent(lambda: client.data("GetConsumptionsEstimated"), lambda: reference.estimate(regions))


class TestTenantIsolation:
    def test_tenants_have_different_usage_and_costs(self, alice: FederatedClient, bob: FederatedClient) -> None:
        for action in ("GetUsageLimits", "GetConsumptionsEstimated"):
            assert alice.data(action) != bob.data(action)

    def test_private_flavor_is_hidden_from_other_projects(self, alice: FederatedClient, bob: FederatedClient) -> None:
        def names(client: FederatedClient) -> set[str]:
            return {flavor["name"] for flavor in client.data("GetFlavors")["flavors"]}

        assert names(alice) - names(bob) == {"acme.large"}
        assert names(bob) - names(alice) == set()

    def test_estimate_covers_all_kinds(self, alice: FederatedClient) -> None:
        kinds = [item["res_type"] for item in alice.data("GetConsumptionsEstimated")]
        assert kinds == ["instance", "image", "loadbalance", "volume"]

    def test_members_of_a_project_get_the_same_data(
        self, alice: FederatedClient, new_client: Callable[[], FederatedClient]
    ) -> None:
        carol = new_client().log_in_as("carol")
        for action in ("GetUsageLimits", "GetFlavors", "GetConsumptionsEstimated"):
            assert_consistent(lambda action=action: carol.data(action), lambda action=action: alice.data(action))  # type: ignore[misc]


class TestConsoleContent:
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def content(cls, console: RunningServer, lab: Lab) -> None:
        with closing(HttpTransport(console.base)) as transport:
            FederatedClient(transport, lab).log_in_as("alice")
        publish_content(console)

    def test_news_is_the_same_for_all_tenants(self, alice: FederatedClient, bob: FederatedClient) -> None:
        assert [item["title"] for item in alice.data("GetNews")] == ["A new region"]
        assert bob.data("GetNews") == alice.data("GetNews")

    def test_urls_are_public_or_for_one_project(self, alice: FederatedClient, bob: FederatedClient) -> None:
        def urls(client: FederatedClient) -> set[str]:
            return {item["url"] for item in client.data("GetUrlList")}

        assert urls(alice) == {"https://example.com/all", "https://example.com/acme"}
        assert urls(bob) == {"https://example.com/all"}

    def test_domain_is_visible_only_to_its_project(self, alice: FederatedClient, bob: FederatedClient) -> None:
        assert alice.data("GetDomainDetail", domainId=DOMAIN)["domainName"] == "www.example.com"
        assert bob.call("GetDomainDetail", domainId=DOMAIN).error == "domain_not_found"

    def test_domain_is_visible_to_all_project_members(self, new_client: Callable[[], FederatedClient]) -> None:
        assert new_client().log_in_as("carol").data("GetDomainDetail", domainId=DOMAIN)["domainId"] == DOMAIN

    def test_operator_sees_each_project_as_a_tenant(
        self, console: RunningServer, alice: FederatedClient, bob: FederatedClient
    ) -> None:
        assert {"acme", "globex"} <= {tenant["name"] for tenant in run_admin(console, "tenant", "list")}
