"""What needs attention, on the home page; each entry is produced by the real situation."""

import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, cast

import pytest
from sqlalchemy import delete

from cloudconsole.backends.openstack.config import Endpoint
from cloudconsole.core.clock import format_utc
from cloudconsole.core.resources import Amounts, BillableResource
from cloudconsole.operator.attention import StoreScanner
from cloudconsole.operator.entities import PRICES, QUOTAS
from cloudconsole.operator.transaction import OperatorTransaction, operator_transaction
from cloudconsole.server.app import Console
from cloudconsole.server.config.identity_endpoints import KEYSTONE, IdentityEndpoint
from cloudconsole.store.billing.readings import Reading, record_reading
from cloudconsole.store.tables import prices
from tests import harness
from tests.backends.openstack.fake_cloud import FakeCloud, Reply
from tests.certificate_factory import write_certificate
from tests.harness import ApiClient, FakeClock, HttpTransport, InProcessTransport, running_server
from tests.server.admin_ui.pages import Operator, Page
from tests.server.commands.conftest import Run, admin, cloudconsole
from tests.stores import database_of, opened, settings_for

__all__ = ["admin", "cloudconsole"]

DAY: Final = 86_400
NO_BACKUP: Final = "Warning No backup has been made: cloudconsole admin backup FILE"
NOTHING: Final = "Nothing needs attention."


def attention_of(page: Page) -> list[str]:
    """Return the texts of the entries, and of the lines below them."""
    (card,) = [each for each in page.root.iter("section") if each.get("aria-labelledby") == "attention-heading"]
    parts = [part for part in card if part.tag in ("ul", "p")]
    items = [item for part in parts for item in (part if part.tag == "ul" else [part])]
    return [" ".join("".join(item.itertext()).split()) for item in items]


def entries(page: Page) -> list[str]:
    """Return the entries other than that about backups, which every test store lacks."""
    return [text for text in attention_of(page) if text not in (NO_BACKUP, NOTHING)]


@contextmanager
def change(data: Path, clock: FakeClock) -> Iterator[OperatorTransaction]:
    now = int(clock.moment)
    with opened(data, "cloud") as engine, operator_transaction(engine, actor="tests", now=now, force=True) as tx:
        yield tx


@pytest.mark.embedded_only
def test_nothing_needs_attention_after_a_backup(
    operator: Operator, admin: Run, tmp_path: Path, clock: FakeClock
) -> None:
    assert attention_of(operator.get("/admin/")) == [NO_BACKUP]
    assert admin("backup", tmp_path / "backup.tar").code == 0
    page = operator.get("/admin/")
    made_at = attention_of(page)[-1].removeprefix("Last backup: ")
    assert attention_of(page) == [NOTHING, f"Last backup: {made_at}"]
    clock.moment = datetime.strptime(made_at, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp() + 7 * DAY
    assert attention_of(operator.sign_in())[0] == NOTHING
    clock.moment += 1
    page = operator.get("/admin/")
    text = f"Warning The last backup is 7 days old, of {made_at}: cloudconsole admin backup FILE"
    assert attention_of(page) == [text]
    assert "backup.tar" in operator.get("/admin/audit/?change=backup").text
    assert "/admin/audit/?change=backup" in page.links


def test_nothing_is_claimed_about_backups_of_postgresql(operator: Operator, data: Path) -> None:
    has_entry = any("backup" in text for text in attention_of(operator.get("/admin/")))
    assert has_entry is (database_of(data) is None)


def test_tenants_near_a_quota_are_listed_and_link_to_their_pages(
    operator: Operator, data: Path, clock: FakeClock
) -> None:
    with change(data, clock) as tx:
        QUOTAS.change(tx, "other", dict.fromkeys(("instances", "cores", "ram", "volumes"), -1))
        usage = QUOTAS.show(tx, "demo")
        assert usage["keypairs"] > 0
        QUOTAS.change(tx, "demo", {name: 1 for name, limit in usage.items() if name == "gigabytes"} | {"cores": 15})
    page = operator.get("/admin/")
    (text,) = entries(page)
    assert text.startswith("Warning Tenants that use at least 80 % of a quota, the most used first demo: volume and")
    assert "cores 13 of 15 (86.7 %)" in text
    assert text.endswith("All tenants near a quota")
    assert page.links.count("/admin/quota/?near=on") == 2
    assert page.links.count("/admin/tenant/one/?key=demo") == 1
    listed = operator.get("/admin/quota/?near=on")
    assert [link for link in listed.links if "/one/?key=" in link] == ["/admin/quota/one/?key=demo&back=near%3Don"]


def test_kept_figures_have_their_time(
    operator: Operator, data: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StoreScanner, "_is_large", lambda *_: True)
    # Signing in has shown the page once.
    moment = format_utc(clock.moment).replace("T", " ").removesuffix("Z")
    first = attention_of(operator.get("/admin/"))
    assert first[-1] == f"Quotas and resources as of {moment}."
    with change(data, clock) as tx:
        QUOTAS.change(tx, "demo", {"gigabytes": 0})
    clock.moment += 30
    assert attention_of(operator.get("/admin/")) == first
    clock.moment += 30
    assert "volume and snapshot storage" in entries(operator.get("/admin/"))[0]


def test_prices_about_to_change_are_listed_with_the_present_ones(
    operator: Operator, data: Path, clock: FakeClock
) -> None:
    start = format_utc(clock.moment + 30 * DAY)
    with change(data, clock) as tx:
        PRICES.add(tx, {"kind": "loadbalance", "unit": "each", "price": "0.09", "from": start})
        for number in range(6):
            values = {"kind": "volume", "unit": "gb", "type": f"t{number}", "price": "1", "from": start}
            PRICES.add(tx, values)
    page = operator.get("/admin/")
    (text,) = entries(page)
    moment = start.replace("T", " ").removesuffix("Z")
    assert text.startswith(
        f"Notice Prices that change in the next 30 days: 7 Load balancer, from {moment}: 0.09 instead of 0.085 "
        f"GB of a volume of the type t0, from {moment}: 1.00 (new) "
    )
    assert text.endswith("t3, from " + moment + ": 1.00 (new) All prices")
    first = next(link for link in page.links if link.startswith("/admin/price/one/?key=loadbalance"))
    assert operator.get(first).status == 200


def test_failed_sign_ins_are_counted_by_account_and_address(operator: Operator, anonymous: Operator) -> None:
    anonymous.sign_in("operator", "wrong")
    anonymous.sign_in("nobody", "wrong")
    page = operator.get("/admin/")
    (text,) = entries(page)
    assert text == (
        "Notice Failed sign-ins of operators in the last day: 2, for 1 known account from 1 address; "
        "most often 127.0.0.1 (2)"
    )
    (link,) = [link for link in page.links if "operator_login_refused" in link]
    assert [tag for tag, _ in operator.get(link).tags].count("tr") == 1 + 2


def test_many_failed_sign_ins_are_a_warning(operator: Operator, transport: InProcessTransport) -> None:
    client = ApiClient(transport)
    for _ in range(10):
        assert client.login("demo", "wrong").status == 401
    _, text = entries(operator.get("/admin/"))
    assert text == (
        "Warning Failed sign-ins of tenants in the last day: 10, for 1 known account from 1 address; "
        "most often demo (10)"
    )


def test_failed_sign_ins_of_the_day_before_yesterday_are_not_shown(
    operator: Operator, anonymous: Operator, clock: FakeClock
) -> None:
    anonymous.sign_in("operator", "wrong")
    clock.moment += DAY + 1
    assert entries(operator.sign_in()) == []


# In front of OpenStack


def keystone(address: str) -> IdentityEndpoint:
    return IdentityEndpoint(address, KEYSTONE, Endpoint(address))


@contextmanager
def in_front_of(data: Path, clock: FakeClock, *endpoints: IdentityEndpoint) -> Iterator[Operator]:
    settings = settings_for(data, identity=endpoints, token_keys=data / "token-keys")
    with closing(InProcessTransport(Console(settings, clock))) as transport:
        operator = Operator(transport)
        assert operator.sign_in().status == 200
        yield operator


def test_identity_services_are_asked_whether_they_respond(data: Path, clock: FakeClock) -> None:
    version = Reply(body={"version": {"id": "v3.14", "status": "stable"}})
    with FakeCloud() as good, FakeCloud() as frozen, FakeCloud() as other:
        with FakeCloud() as stopped:
            pass
        good.respond("GET", "/v3", version)
        frozen.respond("GET", "/v3", Reply(instead="freeze"))
        other.respond("GET", "/v3", Reply(body={"version": {"id": "v2.0"}}))
        clouds = (good, stopped, frozen, other)
        with in_front_of(data, clock, *(keystone(cloud.address) for cloud in clouds)) as operator:
            page = operator.get("/admin/")
    command = "its users cannot sign in: cloudconsole doctor"
    assert entries(page) == [
        f"Problem The identity service {stopped.address} cannot be reached: {command}",
        f"Problem The identity service {frozen.address} does not respond in time: {command}",
        f"Problem The identity service {other.address} does not respond like a Keystone: {command}",
        f"Identity service {good.address} responds",
    ]


def test_resources_without_a_price_link_to_the_form_that_adds_it(
    operator: Operator, data: Path, clock: FakeClock
) -> None:
    server = BillableResource("hk-1", "volume", "v1", Amounts(1, size_gb=1), "large")
    images = [BillableResource("north", "image", name, Amounts(1, size_gb=2)) for name in ("i1", "i2")]
    reading = Reading("p1@https://keystone.example.com", int(clock.moment), 0, [server, *images])
    with opened(data, "cloud") as engine:
        assert record_reading(engine, reading, UTC)
        assert entries(operator.get("/admin/")) == []
        with engine.begin() as connection:
            connection.execute(delete(prices).where(prices.c.kind != "instance"))
    page = operator.get("/admin/")
    assert entries(page) == [
        "Problem Resources of OpenStack projects have no price: nothing is billed for them, and these projects "
        "have no cost estimates; add prices image in north: 2 resources of 1 project volume large in hk-1: "
        "1 resource of 1 project"
    ]
    (link,) = [link for link in page.links if link.startswith("/admin/price/add/?")]
    assert operator.get(link).form("/add/").fields["node"] == "hk-1"


# The certificate of the server


@pytest.mark.slow
@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (15, "TLS certificate valid until"),
        (13, "Warning The TLS certificate expires on"),
        (-1, "Problem The TLS certificate expired on"),
    ],
)
def test_the_certificate_in_use_is_judged_by_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int, expected: str
) -> None:
    certificate, key = write_certificate(tmp_path, datetime.now(UTC) + timedelta(days=days))
    context = ssl.create_default_context(cafile=certificate)
    if days < 0:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    monkeypatch.setattr(harness, "client_ssl_context", lambda: context)
    flags = ("--tls-certificate", str(certificate), "--tls-key", str(key))
    with running_server(tmp_path, *flags) as server, closing(HttpTransport(server.base)) as transport:
        page = Operator(cast("InProcessTransport", transport)).sign_in()
    assert [text for text in attention_of(page) if text.startswith(expected)]
