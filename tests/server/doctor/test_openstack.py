"""What the doctor sees of a cloud as one of its users: services by region, and what has no price."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cloudconsole.backends.openstack.config import Endpoint
from cloudconsole.server.config.identity_endpoints import KEYSTONE, IdentityEndpoint
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.doctor import openstack, openstack_probe
from cloudconsole.server.doctor.results import DoctorContext, Finding, Login
from tests.backends.openstack.fake_cloud import Reply
from tests.conftest import NOON
from tests.server.doctor.conftest import execute, levels
from tests.server.doctor.small_cloud import PASSWORD, SERVER, TOKEN, USER, SmallCloud

Look = Callable[..., list[Finding]]


@pytest.fixture
def cloud() -> Iterator[SmallCloud]:
    with SmallCloud() as double:
        yield double


@pytest.fixture
def look(cloud: SmallCloud, data: Path) -> Look:
    """The findings of a visit as the user; the sample has prices for all nodes."""

    def run(*, password: str = PASSWORD, data: Path = data, **more: Any) -> list[Finding]:
        endpoint = Endpoint(cloud.address, **more)
        settings = Settings(data=data, identity=(IdentityEndpoint(cloud.address, KEYSTONE, endpoint),))
        case = DoctorContext(settings, [], NOON, login=Login(cloud.address, USER, password))
        return list(openstack.check_cloud(case))

    return run


def test_without_a_login_nothing_is_asked(cloud: SmallCloud, data: Path) -> None:
    settings = Settings(data=data, identity=(IdentityEndpoint(cloud.address, KEYSTONE, Endpoint(cloud.address)),))
    (finding,) = openstack.check_cloud(DoctorContext(settings, [], NOON))
    assert finding.level == "ok"
    assert "cloudconsole doctor --as USER" in finding.text
    assert cloud.asked == []


def test_without_a_cloud_there_is_nothing_to_look_at(data: Path) -> None:
    assert levels(list(openstack.check_cloud(DoctorContext(Settings(data=data), [], NOON)))) == ["ok"]


def test_a_cloud_in_order_is_told_with_project_and_services(look: Look) -> None:
    user, region, prices = look()
    assert levels([user, region, prices]) == ["ok", "ok", "ok"]
    assert user.text.startswith(f"{USER} at http://127.0.0.1:")
    assert "works in the project acme; the token is valid for " in user.text
    assert region.text == "region RegionOne: compute, volume, network, image, load-balancer respond"
    assert prices.text.startswith("all 1 resources of the project")


def test_the_token_is_revoked_and_nothing_is_left_behind(look: Look, cloud: SmallCloud, data: Path) -> None:
    before = sorted(data.iterdir())
    look()
    (last,) = (asked for asked in cloud.asked if asked.method == "DELETE")
    assert last is cloud.asked[-1]
    assert last.headers["X-Subject-Token"] == TOKEN
    assert sorted(data.iterdir()) == before


def test_the_token_is_revoked_even_if_the_look_fails(
    look: Look, cloud: SmallCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(openstack_probe, "_read_services", fail)
    with pytest.raises(ZeroDivisionError):
        look()
    assert cloud.asked[-1].method == "DELETE"


def test_neither_password_nor_token_is_told(look: Look, cloud: SmallCloud) -> None:
    for path in ("/compute/v2.1/limits", "/image/v2/images"):
        cloud.answers("GET", path, Reply(500, {"said": TOKEN}))
    said = str(look(regions=("RegionOne", "Nowhere")))
    assert PASSWORD not in said
    assert TOKEN not in said
    assert PASSWORD not in repr(Login("https://identity.example.com", USER, PASSWORD))


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(401, {"error": {"code": 401}}), "Keystone rejects alice at"),
        (Reply(500), "cannot authenticate alice at"),
        (Reply(201, {"token": {}}, {"X-Subject-Token": TOKEN}), "invalid response"),
        (Reply(instead="hang up"), "cannot authenticate alice at"),
    ],
)
def test_a_login_that_fails_is_one_problem(look: Look, cloud: SmallCloud, reply: Reply, said: str) -> None:
    cloud.answers("POST", "/v3/auth/tokens", reply)
    (finding,) = look()
    assert (finding.level, said in finding.text, bool(finding.fix)) == ("problem", True, True), finding


def test_one_that_takes_too_long_holds_nobody_up(
    look: Look, cloud: SmallCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openstack, "MAX_SECONDS", 0.2)
    cloud.answers("POST", "/v3/auth/tokens", Reply(instead="freeze"))
    (finding,) = look()
    assert finding.text.endswith("no response in time")
    cloud.thaw()


@pytest.mark.parametrize(
    ("more", "said"),
    [({}, "project is not set"), ({"project": "main"}, "the project main is not among them")],
)
def test_a_user_without_a_project_is_told_with_the_rule(
    look: Look, cloud: SmallCloud, more: dict[str, Any], said: str
) -> None:
    cloud.tell(regions=("RegionOne",), project=False)
    cloud.answers("GET", "/v3/auth/projects", Reply(body={"projects": []}))
    (finding,) = look(**more)
    assert (finding.level, said in finding.text) == ("problem", True), finding


# Services by region


def test_a_region_that_is_set_and_not_in_the_catalog_is_a_problem(look: Look) -> None:
    problems = [finding for finding in look(regions=("RegionOne", "Elsewhere")) if finding.level == "problem"]
    (finding,) = problems
    assert finding.text == "the region Elsewhere is set, but the catalog has no public endpoints there"


def test_an_interface_that_the_catalog_does_not_have_is_a_problem(look: Look) -> None:
    texts = [finding.text for finding in look(interface="internal") if finding.level == "problem"]
    assert texts == ["the catalog has no internal compute service: no data for tenants"]


def test_of_prices_nothing_is_said_where_nothing_could_be_looked_at(look: Look) -> None:
    assert levels(look(regions=("Elsewhere",))) == ["ok", "problem", "problem"]


def test_every_region_is_looked_at(look: Look, cloud: SmallCloud) -> None:
    cloud.tell(regions=("RegionOne", "RegionTwo"))
    assert [finding.text.partition(":")[0] for finding in look()[1:3]] == ["region RegionOne", "region RegionTwo"]


def test_a_region_without_load_balancers_is_only_told(look: Look, cloud: SmallCloud) -> None:
    cloud.tell(regions=("RegionOne",), without=("load-balancer",))
    findings = look()
    assert set(levels(findings)) == {"ok"}
    assert findings[1].text.endswith("image respond; no load balancers")


def test_a_region_without_another_service_is_a_warning(look: Look, cloud: SmallCloud) -> None:
    cloud.tell(regions=("RegionOne",), without=("network", "image"))
    (finding,) = (finding for finding in look() if finding.level != "ok")
    assert finding.level == "warning"
    assert finding.text == "region RegionOne has no public network, image: tenants see 0 for these"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(503), "status 503"),
        (Reply(403), "status 403"),
        (Reply(401), "it rejects Keystone's token"),
        (Reply(body=b"<html>"), "a response that is not JSON"),
        (Reply(instead="freeze"), "no response in time"),
        (Reply(instead="hang up"), "invalid response"),
    ],
)
def test_a_service_that_fails_is_a_problem_and_the_others_are_told(
    look: Look, cloud: SmallCloud, monkeypatch: pytest.MonkeyPatch, reply: Reply, said: str
) -> None:
    monkeypatch.setattr(openstack_probe, "CALL_SECONDS", 1)
    cloud.answers("GET", "/network/v2.0/quotas/p1/details.json", reply)
    _, finding, others, _ = look()
    assert (finding.level, finding.text) == ("problem", f"region RegionOne: network cannot be read: {said}")
    assert others.text == "region RegionOne: compute, volume, image, load-balancer respond"


# What the store has for the project


@pytest.mark.parametrize(("disabled", "level"), [(0, "ok"), (1, "problem")])
def test_a_disabled_tenant_is_told(look: Look, cloud: SmallCloud, data: Path, disabled: int, level: str) -> None:
    row = f"('acme', 'p1@{cloud.address}', {disabled})"
    execute(data, "cloud", f"INSERT INTO tenants (name, project, disabled) VALUES {row}")
    finding = look()[2]
    assert (finding.level, "is disabled" in finding.text) == (level, bool(disabled))


@pytest.fixture
def without_prices(data: Path) -> None:
    execute(data, "cloud", "DELETE FROM prices")


def priced(data: Path, kind: str, unit: str, type_name: str) -> None:
    row = f"('{kind}', '{unit}', NULL, 0, 5, '{type_name}')"
    execute(data, "cloud", f"INSERT INTO prices (kind, unit, node_id, start, billionths, type) VALUES {row}")


@pytest.mark.usefixtures("without_prices")
def test_what_has_no_price_is_told_with_what_gives_it_one(look: Look) -> None:
    server, volumes = look()[2:]
    assert server[:2] == (
        "problem",
        "the project acme has 1 × instance of type m1.small in RegionOne without a price: its cost estimate fails",
    )
    words = "cloudconsole admin price add --kind instance --unit each --type m1.small --price 0 "
    assert f"{words}--from 2026-11-15T12:00:00Z" in server.command
    assert volumes[:2] == (
        "warning",
        "no price for volume of type fast in RegionOne: the cost estimate of a tenant that creates one fails",
    )
    words = "cloudconsole admin price add --kind volume --unit gb --type fast --price 0 "
    assert f"{words}--from 2026-11-15T12:00:00Z" in volumes.command


@pytest.mark.usefixtures("without_prices")
def test_a_price_of_the_type_is_enough(look: Look, data: Path) -> None:
    priced(data, "instance", "each", "m1.small")
    priced(data, "volume", "gb", "fast")
    assert levels(look()[2:]) == ["ok"]


@pytest.mark.usefixtures("without_prices")
def test_what_is_alike_is_told_once(look: Look, cloud: SmallCloud) -> None:
    cloud.tell(regions=("RegionOne", "RegionTwo"))
    (finding,) = (finding for finding in look() if finding.level == "problem")
    assert "2 × instance of type m1.small in RegionOne, RegionTwo" in finding.text


@pytest.mark.usefixtures("without_prices")
def test_so_many_are_named_and_the_rest_is_counted(
    look: Look, cloud: SmallCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openstack, "MAX_LISTED", 2)
    types = [{"id": f"t{number}", "name": f"type {number}"} for number in range(5)]
    cloud.answers("GET", "/volume/v3/p1/types", Reply(body={"volume_types": types}))
    *_, first, second, rest = look()
    assert ("--type 'type 0'" in first.command, "--type 'type 1'" in second.command) == (True, True)
    assert rest.text == "3 more have no price"


def test_holdings_that_cannot_be_read_are_a_problem(look: Look, cloud: SmallCloud) -> None:
    broken = {name: value for name, value in SERVER.items() if name != "flavor"}
    cloud.answers("GET", "/compute/v2.1/servers/detail", Reply(body={"servers": [broken]}))
    assert [finding.text for finding in look() if finding.level == "problem"] == [
        "billable resources of the project acme cannot be read: invalid response"
    ]


def test_without_a_store_there_are_no_prices_to_look_at(look: Look, tmp_path: Path) -> None:
    finding = look(data=tmp_path / "none")[-1]
    assert (finding.level, finding.text) == ("warning", "prices not checked: no store")
    assert not (tmp_path / "none").exists()
