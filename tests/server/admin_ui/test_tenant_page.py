"""The page of a tenant shows its costs, quotas, accounts, sign-ins and domains at once."""

from datetime import UTC
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from sqlalchemy import delete

from cloudconsole.core.resources import Amounts, BillableResource
from cloudconsole.operator.entities import ACCOUNTS, QUOTAS, TENANTS
from cloudconsole.operator.tenant_overview import MAX_ACCOUNTS
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.store.billing.readings import Reading, record_reading
from cloudconsole.store.passwords import HASHER
from cloudconsole.store.tables import prices
from tests.harness import ApiClient, FakeClock
from tests.server.admin_ui.pages import Operator, Page
from tests.stores import opened

DEMO = "/admin/tenant/one/?key=demo"


def panel(page: Page, name: str) -> str:
    (card,) = [each for each in page.root.iter("section") if each.get("aria-labelledby") == f"{name}-heading"]
    return " ".join("".join(card.itertext()).split())


def cents(amount: str) -> str:
    return f"{Decimal(amount).quantize(Decimal('0.01'), ROUND_HALF_UP):,}"


def test_costs_are_those_that_the_tenant_sees_rounded_to_cents(operator: Operator, demo: ApiClient) -> None:
    forecast = demo.call("GetForecast").data
    hourly = sum(Decimal(item["hour"]) for item in demo.call("GetConsumptionsEstimated").data)
    page = operator.get(DEMO)
    text = panel(page, "costs")
    assert f"2026-11 so far {cents(forecast['so_far'])} CNY" in text
    assert f"Forecast for 2026-11 {cents(forecast['total'])} CNY" in text
    assert f"Current cost per hour {cents(str(hourly))} CNY" in text
    exact = [attributes["value"] for tag, attributes in page.tags if tag == "data"]
    assert exact[:2] == [forecast["so_far"], forecast["total"]]
    assert Decimal(exact[2]) == hourly


def test_a_resource_without_a_price_leaves_costs_unknown(operator: Operator, data: Path) -> None:
    with opened(data, "cloud") as engine, engine.begin() as connection:
        connection.execute(delete(prices))
        connection.exec_driver_sql("DELETE FROM price_entries")
    page = operator.get(DEMO)
    assert page.status == 200
    assert "unknown A resource has no price." in panel(page, "costs")


def test_costs_of_a_project_are_those_of_its_readings(operator: Operator, data: Path, clock: FakeClock) -> None:
    volume = BillableResource("hk-2", "volume", "v", Amounts(1, size_gb=1000), None)
    now = int(clock.moment)
    with opened(data, "cloud") as engine:
        with operator_transaction(engine, actor="tests", now=now) as tx:
            for name in ("p1", "p2"):
                TENANTS.add(tx, {"name": name, "project": f"{name}@https://keystone.example.com"})
        assert record_reading(engine, Reading("p1@https://keystone.example.com", now, now - 3600, [volume]), UTC)
    text = panel(operator.get("/admin/tenant/one/?key=p1"), "costs")
    assert "OpenStack project, as recorded by readings 2026-11 so far 0.42 CNY" in text
    assert "Current cost per hour 0.42 CNY Some hours of this month are not recorded." in text
    assert "Resources of this console" not in text
    unread = panel(operator.get("/admin/tenant/one/?key=p2"), "costs")
    assert unread.count("unknown") == 3


def test_accounts_come_with_state_and_last_sign_in(
    operator: Operator, demo: ApiClient, data: Path, clock: FakeClock
) -> None:
    demo.login("demo", "wrong")
    with opened(data, "cloud") as engine, operator_transaction(engine, actor="t", now=int(clock.moment)) as tx:
        ACCOUNTS.add(tx, {"tenant": "demo", "username": "zoe", "password_hash": HASHER.hash("zoe"), "disabled": True})
    page = operator.get(DEMO)
    accounts = panel(page, "accounts")
    assert "demo last sign-in 2026-11-15 12:20:00" in accounts
    assert "zoe disabled no recorded sign-in" in accounts
    assert {"/admin/account/?tenant=demo", "/admin/account/one/?key=zoe"} <= set(page.links)
    accesses = panel(page, "accesses")
    assert "demo Sign in failed 127.0.0.1" in accesses
    assert accesses.index("failed") < accesses.index("succeeded")


def test_many_accounts_are_cut_off(operator: Operator, data: Path, clock: FakeClock) -> None:
    with opened(data, "cloud") as engine, operator_transaction(engine, actor="t", now=int(clock.moment)) as tx:
        first = ACCOUNTS.list(tx, {"tenant": "demo"})[0]
        assert first
        tx.connection.exec_driver_sql(
            "INSERT INTO accounts (tenant_id, username, role, password_hash, disabled, version) "
            + " UNION ALL ".join(
                f"SELECT tenant_id, 'zz{number:02}', 'tenant', password_hash, disabled, version FROM accounts "
                "WHERE username = 'demo'"
                for number in range(MAX_ACCOUNTS)
            )
        )
    text = panel(operator.get(DEMO), "accounts")
    assert text.endswith(f"The first {MAX_ACCOUNTS}.")
    assert "zz18" in text
    assert "zz19" not in text


def test_quotas_domains_and_their_lists_are_linked(operator: Operator, data: Path, clock: FakeClock) -> None:
    now = int(clock.moment)
    with opened(data, "cloud") as engine, operator_transaction(engine, actor="t", now=now, force=True) as tx:
        QUOTAS.change(tx, "demo", {"gigabytes": 1})
    page = operator.get(DEMO)
    assert "over quota" in panel(page, "quotas")
    assert "206813" in panel(page, "domains")
    assert {
        "/admin/quota/one/?key=demo",
        "/admin/domain/?tenant=demo",
        "/admin/domain/one/?key=206813",
        "/admin/resource/?tenant=demo",
        "/admin/audit/?log=access&tenant=demo",
    } <= set(page.links)


def test_resources_and_urls_are_listed_with_links_for_adding(operator: Operator) -> None:
    page = operator.get(DEMO)
    assert panel(page, "resources").endswith("The first 10.")
    assert len([each for each in page.links if each.startswith("/admin/resource/one/")]) == 10
    assert "https://" in panel(page, "urls")
    assert {"/admin/url/one/?key=url-d3m0l1nk", "/admin/url/?tenant=demo"} <= set(page.links)
    for name in ("account", "resource", "domain", "url"):
        assert page.links.count(f"/admin/{name}/add/?tenant=demo") == 1
    assert {"/admin/tenant/disable/?key=demo", "/admin/audit/?subject=demo"} <= set(page.links)
    assert "See also" not in page.text


def test_a_new_tenant_has_empty_panels(operator: Operator) -> None:
    page = operator.send(operator.get("/admin/tenant/add/").form("/add/"), name="new")
    assert "2026-11 so far 0.00 CNY" in panel(page, "costs")
    for name, text in (("accounts", "No accounts yet."), ("accesses", "No recorded"), ("domains", "No domains yet.")):
        assert text in panel(page, name)
