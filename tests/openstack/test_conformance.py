"""The conformance kit, the client and the CLI work with a cloud behind the console as with any other."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from lab.cloud import Lab

from cloudconsole import Console, InvalidCredentials
from tests.cli.users import CliUser
from tests.e2e.processes import command
from tests.harness import HttpTransport, RunningServer
from tests.openstack.federated_client import FederatedClient
from tests.openstack.operator_cli import DOMAIN, publish_content

pytestmark = pytest.mark.xdist_group("conformance")


@pytest.fixture(scope="module")
def published(console: RunningServer, lab: Lab) -> RunningServer:
    """Return a console that has data for every action."""
    with closing(HttpTransport(console.base)) as transport:
        FederatedClient(transport, lab).log_in_as("alice")
    publish_content(console)
    return console


def test_conformance_kit_passes(published: RunningServer, lab: Lab, tmp_path: Path) -> None:
    alice, bob = lab.users["alice"], lab.users["bob"]
    passwords = {"CLOUDCONSOLE_PASSWORD": alice.password, "CLOUDCONSOLE_OTHER_PASSWORD": bob.password}
    account = ("--region", lab.identity, "--username", alice.name, "--other-username", bob.name, "--domain-id", DOMAIN)
    flags = ("--profile", "all", "--strict", "--json", str(tmp_path / "report.json"))
    result = command("conformance", published.base, *account, *flags, **passwords)
    assert (result.returncode, result.stderr) == (0, ""), result.stdout
    checks = json.loads((tmp_path / "report.json").read_text())["checks"]
    # Flavor ids are those of the cloud.
    assert {check["id"] for check in checks if check["outcome"] != "passed"} == {"flavors.ids"}, result.stdout


class TestClient:
    @pytest.fixture
    def client(self, published: RunningServer) -> Iterator[Console]:
        with Console(published.base, username="alice", password="alice-password") as client:
            yield client

    def test_only_region_is_found_and_every_record_is_read(self, client: Console, alice: FederatedClient) -> None:
        read = {
            "GetUsageLimits": client.usage_limits().raw,
            "GetFlavors": client.flavors().raw,
            "GetUrlList": [url.raw for url in client.urls()],
            "GetNews": [item.raw for item in client.news()],
            "GetConsumptionsEstimated": [cost.raw for cost in client.consumption()],
        }
        assert read == {action: alice.data(action) for action in read}
        assert client.domain(DOMAIN).raw == alice.data("GetDomainDetail", domainId=DOMAIN)

    def test_unlimited_quota_has_no_limit(self, published: RunningServer) -> None:
        with Console(published.base, username="bob", password="bob-password") as client:
            assert client.usage_limits().cores.limit is None

    def test_wrong_password_raises_invalid_credentials(self, published: RunningServer) -> None:
        with Console(published.base, username="bob", password="wrong") as client, pytest.raises(InvalidCredentials):
            client.news()


class TestCommandLine:
    @pytest.fixture
    def cli_user(self, published: RunningServer, tmp_path: Path) -> CliUser:
        cli_user = CliUser(tmp_path)
        cli_user.logs_in(published, "alice", "alice-password")
        return cli_user

    def test_commands_show_the_response_data(self, cli_user: CliUser, alice: FederatedClient) -> None:
        for command_name, action in (("usage", "GetUsageLimits"), ("flavors", "GetFlavors")):
            assert cli_user.json("call", action) == alice.data(action)
            assert cli_user.run(command_name).code == 0

    def test_costs_lists_load_balancers(self, cli_user: CliUser) -> None:
        assert "\nload balancers\t" in cli_user.run("costs").out

    def test_logout_ends_the_session(self, cli_user: CliUser) -> None:
        assert cli_user.run("logout").code == 0
        assert cli_user.run("usage").code != 0

    def test_openrc_variables_provide_credentials_and_region(
        self, published: RunningServer, lab: Lab, tmp_path: Path, bob: FederatedClient
    ) -> None:
        variables = {
            "CLOUDCONSOLE_URL": published.base,
            "OS_AUTH_URL": lab.identity,
            "OS_USERNAME": "bob",
            "OS_PASSWORD": "bob-password",
        }
        assert CliUser(tmp_path, variables).json("call", "GetUsageLimits") == bob.data("GetUsageLimits")
