"""Doctor checks of identity endpoints, and of a cloud as one of its users: services by region, missing prices."""

import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from cloudconsole.backends.openstack.config import Endpoint
from cloudconsole.core.identity_urls_and_projects import normalise_region
from cloudconsole.server.config.identity_endpoints import KEYSTONE, IdentityEndpoint
from cloudconsole.server.config.settings import Settings
from cloudconsole.server.doctor import openstack, openstack_probe
from cloudconsole.server.doctor.context_and_findings import DoctorContext, Finding, Login, ok
from cloudconsole.server.doctor.http_probe import NoResponse, probe
from tests.backends.openstack.fake_cloud import FakeCloud, Reply
from tests.conftest import SAMPLE_TIME
from tests.harness import CERTIFICATES
from tests.server.doctor.conftest import Check, execute, levels
from tests.server.doctor.small_cloud import PASSWORD, SERVER, TOKEN, USER, SmallCloud

QUOTAS = "/network/v2.0/quotas/p1/details.json"
VERSION = {"version": {"id": "v3.14", "status": "stable"}}
Diagnose = Callable[..., list[Finding]]


@pytest.fixture
def cloud() -> Iterator[SmallCloud]:
    with SmallCloud() as double:
        yield double


@pytest.fixture
def diagnose(cloud: SmallCloud, data: Path) -> Diagnose:
    """Run the cloud check as the user; the sample has prices for all nodes."""

    def run(*, password: str = PASSWORD, data: Path = data, **more: Any) -> list[Finding]:
        endpoint = Endpoint(cloud.address, **more)
        settings = Settings(data=data, identity=(IdentityEndpoint(cloud.address, KEYSTONE, endpoint),))
        case = DoctorContext(settings, [], SAMPLE_TIME, login=Login(cloud.address, USER, password))
        return list(openstack.check_cloud(case))

    return run


def test_cloud_is_not_queried_without_a_login(cloud: SmallCloud, data: Path) -> None:
    settings = Settings(data=data, identity=(IdentityEndpoint(cloud.address, KEYSTONE, Endpoint(cloud.address)),))
    (finding,) = openstack.check_cloud(DoctorContext(settings, [], SAMPLE_TIME))
    assert finding.level == "ok"
    assert "cloudconsole doctor --as USER" in finding.text
    assert cloud.requests == []


def test_healthy_cloud_is_reported_with_project_and_services(diagnose: Diagnose) -> None:
    user, region, prices = diagnose()
    assert levels([user, region, prices]) == ["ok", "ok", "ok"]
    assert user.text.startswith(f"{USER} at http://127.0.0.1:")
    assert "works in the project acme; the token is valid for " in user.text
    assert region.text == "region RegionOne: compute, volume, network, image, load-balancer respond"
    assert prices.text.startswith("all 1 resources of the project")


def test_token_is_revoked_and_no_file_is_left(diagnose: Diagnose, cloud: SmallCloud, data: Path) -> None:
    before = sorted(data.iterdir())
    diagnose()
    (last,) = (request for request in cloud.requests if request.method == "DELETE")
    assert last is cloud.requests[-1]
    assert last.headers["X-Subject-Token"] == TOKEN
    assert sorted(data.iterdir()) == before


def test_token_is_revoked_if_a_check_fails(
    diagnose: Diagnose, cloud: SmallCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(openstack_probe, "_read_services", fail)
    with pytest.raises(ZeroDivisionError):
        diagnose()
    assert cloud.requests[-1].method == "DELETE"


def test_password_and_token_are_never_reported(diagnose: Diagnose, cloud: SmallCloud) -> None:
    for path in ("/compute/v2.1/limits", "/image/v2/images"):
        cloud.respond("GET", path, Reply(500, {"said": TOKEN}))
    text = str(diagnose(regions=("RegionOne", "Nowhere")))
    assert PASSWORD not in text
    assert TOKEN not in text
    assert PASSWORD not in repr(Login("https://identity.example.com", USER, PASSWORD))


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (Reply(401, {"error": {"code": 401}}), "Keystone rejects alice at"),
        (Reply(500), "cannot authenticate alice at"),
        (Reply(201, {"token": {}}, {"X-Subject-Token": TOKEN}), "invalid response"),
        (Reply(instead="hang up"), "cannot authenticate alice at"),
    ],
)
def test_failed_login_is_a_single_problem(diagnose: Diagnose, cloud: SmallCloud, reply: Reply, text: str) -> None:
    cloud.respond("POST", "/v3/auth/tokens", reply)
    (finding,) = diagnose()
    assert (finding.level, text in finding.text, bool(finding.fix)) == ("problem", True, True), finding


def test_slow_keystone_times_out(diagnose: Diagnose, cloud: SmallCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openstack, "MAX_SECONDS", 0.2)
    cloud.respond("POST", "/v3/auth/tokens", Reply(instead="freeze"))
    (finding,) = diagnose()
    assert finding.text.endswith("no response in time")
    cloud.resume()


@pytest.mark.parametrize(("more", "text"), [({}, "project is not set"), ({"project": "main"}, "project main is not")])
def test_user_without_a_project_is_reported_with_the_reason(
    diagnose: Diagnose, cloud: SmallCloud, more: dict[str, Any], text: str
) -> None:
    cloud.set_catalog(regions=("RegionOne",), project=False)
    cloud.respond("GET", "/v3/auth/projects", Reply(body={"projects": []}))
    (finding,) = diagnose(**more)
    assert (finding.level, text in finding.text) == ("problem", True), finding


@pytest.mark.parametrize(
    ("catalog", "endpoint", "level", "text"),
    [
        ({}, {"regions": ("RegionOne", "Elsewhere")}, "problem", "the region Elsewhere is set, but the catalog has no"),
        ({}, {"interface": "internal"}, "problem", "the catalog has no internal compute service: no data for tenants"),
        ({"without": ("network", "image")}, {}, "warning", "region RegionOne has no public network, image: tenants"),
        ({"without": ("load-balancer",)}, {}, "ok", "network, image respond; no load balancers"),
        ({"regions": ("RegionOne", "RegionTwo")}, {}, "ok", "region RegionTwo: compute, volume, network, image, load-"),
    ],
)
def test_services_of_the_catalog_are_compared_with_the_endpoint(
    diagnose: Diagnose, cloud: SmallCloud, catalog: dict[str, Any], endpoint: dict[str, Any], level: str, text: str
) -> None:
    cloud.set_catalog(**{"regions": ("RegionOne",), **catalog})
    findings = diagnose(**endpoint)
    (found,) = (finding for finding in findings if text in finding.text)
    assert found.level == level
    assert [finding for finding in findings if finding.level != "ok" and finding is not found] == []


def test_prices_are_not_checked_without_a_known_region(diagnose: Diagnose) -> None:
    assert levels(diagnose(regions=("Elsewhere",))) == ["ok", "problem", "problem"]


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (Reply(503), "status 503"),
        (Reply(401), "it rejects Keystone's token"),
        (Reply(body=b"<html>"), "a response that is not JSON"),
        (Reply(instead="hang up"), "invalid response"),
    ],
)
def test_failing_service_is_a_problem_and_others_are_reported(
    diagnose: Diagnose, cloud: SmallCloud, reply: Reply, text: str
) -> None:
    cloud.respond("GET", QUOTAS, reply)
    _, finding, others, _ = diagnose()
    assert (finding.level, finding.text) == ("problem", f"region RegionOne: network cannot be read: {text}")
    assert others.text == "region RegionOne: compute, volume, image, load-balancer respond"


def test_unresponsive_service_times_out(diagnose: Diagnose, cloud: SmallCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openstack_probe, "CALL_SECONDS", 1)
    cloud.respond("GET", QUOTAS, Reply(instead="freeze"))
    texts = [finding.text for finding in diagnose()]
    assert "region RegionOne: network cannot be read: no response in time" in texts


@pytest.mark.parametrize("disabled", [0, 1])
def test_disabled_tenant_is_reported(diagnose: Diagnose, cloud: SmallCloud, data: Path, disabled: int) -> None:
    row = f"('acme', 'p1@{cloud.address}', {disabled})"
    execute(data, "cloud", f"INSERT INTO tenants (name, project, disabled) VALUES {row}")
    finding = diagnose()[2]
    assert (finding.level, "is disabled" in finding.text) == ("problem" if disabled else "ok", bool(disabled))


@pytest.fixture
def without_prices(data: Path) -> None:
    execute(data, "cloud", "DELETE FROM prices")


def add_price(data: Path, kind: str, unit: str, type_name: str) -> None:
    row = f"('{kind}', '{unit}', NULL, 0, 5, '{type_name}')"
    execute(data, "cloud", f"INSERT INTO prices (kind, unit, node_id, start, billionths, type) VALUES {row}")


@pytest.mark.usefixtures("without_prices")
def test_missing_prices_are_reported_with_fix_commands(diagnose: Diagnose) -> None:
    server, volumes = diagnose()[2:]
    assert server[:2] == (
        "problem",
        "the project acme has 1 × instance of type m1.small in RegionOne without a price: its cost estimate fails",
    )
    command = "cloudconsole admin price add --kind instance --unit each --type m1.small --price 0 "
    assert f"{command}--from 2026-11-15T12:00:00Z" in server.command
    assert volumes[:2] == (
        "warning",
        "no price for volume of type fast in RegionOne: the cost estimate of a tenant that creates one fails",
    )
    command = "cloudconsole admin price add --kind volume --unit gb --type fast --price 0 "
    assert f"{command}--from 2026-11-15T12:00:00Z" in volumes.command


@pytest.mark.usefixtures("without_prices")
def test_a_price_of_the_type_is_enough(diagnose: Diagnose, data: Path) -> None:
    add_price(data, "instance", "each", "m1.small")
    add_price(data, "volume", "gb", "fast")
    assert levels(diagnose()[2:]) == ["ok"]


@pytest.mark.usefixtures("without_prices")
def test_same_resource_type_is_reported_once(diagnose: Diagnose, cloud: SmallCloud) -> None:
    cloud.set_catalog(regions=("RegionOne", "RegionTwo"))
    (finding,) = (finding for finding in diagnose() if finding.level == "problem")
    assert "2 × instance of type m1.small in RegionOne, RegionTwo" in finding.text


@pytest.mark.usefixtures("without_prices")
def test_long_list_is_truncated_and_the_rest_counted(
    diagnose: Diagnose, cloud: SmallCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openstack, "MAX_LISTED", 2)
    types = [{"id": f"t{number}", "name": f"type {number}"} for number in range(5)]
    cloud.respond("GET", "/volume/v3/p1/types", Reply(body={"volume_types": types}))
    *_, first, second, rest = diagnose()
    assert ("--type 'type 0'" in first.command, "--type 'type 1'" in second.command) == (True, True)
    assert rest.text == "3 more have no price"


def test_unreadable_resources_are_a_problem(diagnose: Diagnose, cloud: SmallCloud) -> None:
    broken = {name: value for name, value in SERVER.items() if name != "flavor"}
    cloud.respond("GET", "/compute/v2.1/servers/detail", Reply(body={"servers": [broken]}))
    assert [finding.text for finding in diagnose() if finding.level == "problem"] == [
        "billable resources of the project acme cannot be read: invalid response"
    ]


def test_prices_are_not_checked_without_a_store(diagnose: Diagnose, tmp_path: Path) -> None:
    finding = diagnose(data=tmp_path / "none")[-1]
    assert (finding.level, finding.text) == ("warning", "prices not checked: no store")
    assert not (tmp_path / "none").exists()


# Identity endpoints


def keystone(address: str, **more: Any) -> tuple[IdentityEndpoint, ...]:
    endpoint = Endpoint(normalise_region(address) or address, **more)
    return (IdentityEndpoint(address, KEYSTONE, endpoint),)


def check_endpoint(check: Check, address: str, **more: Any) -> Finding:
    (finding,) = check("identity endpoints", identity=keystone(address, **more))
    return finding


@pytest.mark.parametrize(
    ("identity", "text"),
    [
        ((), "no Keystone endpoints"),
        ((IdentityEndpoint("https://a.example"),), "no Keystone endpoints; https://a.example is for local accounts"),
    ],
)
def test_console_without_keystone_is_ok(check: Check, identity: tuple[IdentityEndpoint, ...], text: str) -> None:
    assert check("identity endpoints", identity=identity) == [ok(text)]
    assert levels(check("cloud", identity=identity)) == ["ok"]


@pytest.mark.parametrize("prefix", ["", "/identity"])
def test_keystone_is_reported_with_its_version(check: Check, cloud: SmallCloud, prefix: str) -> None:
    cloud.respond("GET", f"{prefix}/v3", Reply(body=VERSION))
    finding = check_endpoint(check, f"{cloud.address}{prefix}/v3")
    assert finding == ok(f"{cloud.address}{prefix} is a Keystone of version 3.14, stable")


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (Reply(404), "responds with status 404, and not like a Keystone v3"),
        (Reply(body={"hello": "world"}), "responds with status 200, and not like a Keystone v3"),
        (Reply(body={"version": {"id": "v2.0", "status": "deprecated"}}), "not like a Keystone v3"),
        (Reply(body=b"<html>"), "not like a Keystone v3"),
        (Reply(body=b"[" * 100_000), "not like a Keystone v3"),
        (Reply(body={"version": ["v3"]}), "not like a Keystone v3"),
        (Reply(300, body={"choices": []}), "responds with status 300, and not like a Keystone v3"),
        (Reply(503), "responds with status 503: Keystone fails"),
        (Reply(302, headers={"Location": "https://elsewhere.example/v3"}), "redirects to 'https://elsewhere"),
        (Reply(instead="hang up"), "does not respond like a Keystone"),
    ],
)
def test_server_that_is_not_a_keystone_is_a_problem(check: Check, cloud: SmallCloud, reply: Reply, text: str) -> None:
    cloud.respond("GET", "/v3", reply)
    finding = check_endpoint(check, cloud.address)
    assert (finding.level, text in finding.text, bool(finding.fix)) == ("problem", True, True), finding


def test_every_endpoint_is_checked(check: Check, cloud: SmallCloud) -> None:
    cloud.respond("GET", "/v3", Reply(body=VERSION))
    both = (*keystone("http://127.0.0.1:1/v3"), *keystone(cloud.address))
    unreachable, other = check("identity endpoints", identity=both)
    assert (unreachable.level, other.level) == ("problem", "ok")
    assert unreachable.text.startswith("login through http://127.0.0.1:1 is impossible, no response: ")


def test_clock_difference_is_a_warning(check: Check, cloud: SmallCloud) -> None:
    date = formatdate(time.time() + 60, usegmt=True)
    cloud.respond("GET", "/v3", Reply(body=VERSION, headers={"Date": date}))
    version, clock = check("identity endpoints", identity=keystone(cloud.address))
    assert (version.level, clock.level) == ("ok", "warning")
    assert clock.text.startswith(f"the clock of {cloud.address} is ")


def test_plain_http_to_another_machine_is_a_warning(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> object:
        raise NoResponse("not tried")

    monkeypatch.setattr(openstack, "probe", fail)
    warning, unreachable = check("identity endpoints", identity=keystone("http://identity.example.com:5000/v3"))
    assert warning.level == "warning"
    assert "passwords and tokens can be intercepted" in warning.text
    assert unreachable.level == "problem"
    assert levels(check("identity endpoints", identity=keystone("https://identity.example.com/v3"))) == ["problem"]


@pytest.fixture
def cloud_with_tls() -> Iterator[FakeCloud]:
    with FakeCloud(tls=True) as cloud:
        cloud.respond("GET", "/v3", Reply(body=VERSION))
        yield cloud


def test_certificate_trusted_by_ca_file_is_ok_until_it_expires(check: Check, cloud_with_tls: FakeCloud) -> None:
    address, ca_file = cloud_with_tls.address, CERTIFICATES / "rsa.pem"
    assert check_endpoint(check, address, ca_file=ca_file).level == "ok"
    end = probe(address, "/v3", ca_file=ca_file).certificate_end
    assert end is not None
    _, finding = check("identity endpoints", now=end, identity=keystone(address, ca_file=ca_file))
    assert (finding.level, f"the certificate of {address} expired on" in finding.text) == ("problem", True)


def test_untrusted_certificate_is_a_problem(check: Check, cloud_with_tls: FakeCloud) -> None:
    finding = check_endpoint(check, cloud_with_tls.address)
    assert finding.level == "problem"
    assert finding.text.startswith(f"the certificate of {cloud_with_tls.address} is not trusted: self")
    assert "ca_file" in finding.fix


def test_https_to_a_plain_http_server_is_reported(check: Check, cloud: SmallCloud) -> None:
    finding = check_endpoint(check, cloud.address.replace("http:", "https:"))
    assert (finding.level, "does not speak https" in finding.text) == ("problem", True), finding


def test_plain_http_to_an_https_server_is_reported(check: Check, cloud_with_tls: FakeCloud) -> None:
    finding = check_endpoint(check, cloud_with_tls.address.replace("https:", "http:"))
    assert (finding.level, finding.fix) == ("problem", "use https: in its address"), finding
