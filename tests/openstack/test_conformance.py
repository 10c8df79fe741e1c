"""Who speaks the interface need not know that a cloud answers: the conformance kit, the client, the command line."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from lab.cloud import Lab

from cloudconsole import Console, InvalidCredentials
from tests.cli.users import Person
from tests.e2e.processes import command
from tests.harness import OverHttp, RunningServer
from tests.openstack.guests import Guest
from tests.openstack.operating import DOMAIN, publish

pytestmark = pytest.mark.xdist_group("conformance")


@pytest.fixture(scope="module")
def published(console: RunningServer, lab: Lab) -> RunningServer:
    """A console with something to tell of every action."""
    with closing(OverHttp(console.base)) as wire:
        Guest(wire, lab).enter("alice")
    publish(console)
    return console


def test_the_kit_finds_nothing_wrong(published: RunningServer, lab: Lab, tmp_path: Path) -> None:
    alice, bob = lab.users["alice"], lab.users["bob"]
    passwords = {"CLOUDCONSOLE_PASSWORD": alice.password, "CLOUDCONSOLE_OTHER_PASSWORD": bob.password}
    account = ("--region", lab.identity, "--username", alice.name, "--other-username", bob.name, "--domain-id", DOMAIN)
    flags = ("--profile", "all", "--strict", "--json", str(tmp_path / "report.json"))
    done = command("conformance", published.base, *account, *flags, **passwords)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    checks = json.loads((tmp_path / "report.json").read_text())["checks"]
    # A cloud's flavors have ids of its own.
    assert {check["id"] for check in checks if check["outcome"] != "passed"} == {"flavors.ids"}, done.stdout


class TestTheClient:
    @pytest.fixture
    def client(self, published: RunningServer) -> Iterator[Console]:
        with Console(published.base, username="alice", password="alice-password") as client:
            yield client

    def test_it_finds_the_only_region_by_itself_and_reads_every_record(self, client: Console, alice: Guest) -> None:
        read = {
            "GetUsageLimits": client.usage_limits().raw,
            "GetFlavors": client.flavors().raw,
            "GetUrlList": [url.raw for url in client.urls()],
            "GetNews": [item.raw for item in client.news()],
            "GetConsumptionsEstimated": [cost.raw for cost in client.consumption()],
        }
        assert read == {action: alice.data(action) for action in read}
        assert client.domain(DOMAIN).raw == alice.data("GetDomainDetail", domainId=DOMAIN)

    def test_what_is_unlimited_has_no_limit(self, published: RunningServer) -> None:
        with Console(published.base, username="bob", password="bob-password") as client:
            assert client.usage_limits().cores.limit is None

    def test_a_wrong_password_is_an_error_of_its_own(self, published: RunningServer) -> None:
        with Console(published.base, username="bob", password="wrong") as client, pytest.raises(InvalidCredentials):
            client.news()


class TestTheCommandLine:
    @pytest.fixture
    def person(self, published: RunningServer, tmp_path: Path) -> Person:
        person = Person(tmp_path)
        person.logs_in(published, "alice", "alice-password")
        return person

    def test_it_shows_what_the_console_tells(self, person: Person, alice: Guest) -> None:
        for shown, action in (("usage", "GetUsageLimits"), ("flavors", "GetFlavors")):
            assert person.json("call", action) == alice.data(action)
            assert person.run(shown).code == 0

    def test_costs(self, person: Person) -> None:
        assert "\nload balancers\t" in person.run("costs").out

    def test_logout(self, person: Person) -> None:
        assert person.run("logout").code == 0
        assert person.run("usage").code != 0

    def test_the_variables_of_an_rc_file_say_who_and_where(
        self, published: RunningServer, lab: Lab, tmp_path: Path, bob: Guest
    ) -> None:
        variables = {
            "CLOUDCONSOLE_URL": published.base,
            "OS_AUTH_URL": lab.identity,
            "OS_USERNAME": "bob",
            "OS_PASSWORD": "bob-password",
        }
        assert Person(tmp_path, variables).json("call", "GetUsageLimits") == bob.data("GetUsageLimits")
