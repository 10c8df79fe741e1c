"""Labels, units, states and links of the pages, and prefilled fields."""

import re
from urllib.parse import quote

import pytest

from cloudconsole.server.admin_ui.columns_states_links import price_states
from tests.server.admin_ui.pages import Operator

PROJECT = "p@https://id.example.com"
PRICE = "volume/gb/2025-01-01T00:00:00Z/hk-1"


@pytest.mark.parametrize(
    ("path", "labels"),
    [
        (
            "quota/one/?key=demo",
            ["Instances", "RAM (MB)", "Volume and snapshot storage (GB)", "Size of an injected file (bytes)"],
        ),
        ("quota/one/?key=demo", ["Default: 10", "Compute", "Storage", "Network"]),
        ("resource/add/", ["Load balancer", "Floating IP", "RAM (MB)", "For instances"]),
        ("price/add/", ["Per GB of RAM", "Price (CNY per hour)"]),
        ("account/add/", ["Repeated password"]),
        ("account/clear-throttle/?key=demo", ["Unlock account"]),
        ("url/one/?key=url-d3m0l1nk", ["URL url-d3m0l1nk"]),
        ("news/one/?key=3", ["News item 3"]),
        ("resource/", ["Volume", "Security group"]),
    ],
)
def test_pages_use_tenant_wording_and_units(operator: Operator, path: str, labels: list[str]) -> None:
    text = operator.get(f"/admin/{path}").text
    assert [each for each in labels if each not in text] == []


def test_optional_fields_are_marked(operator: Operator) -> None:
    text = operator.get("/admin/news/add/").text
    assert ("URL – optional" in text, "Date (UTC) – optional" in text) == (False, True)


def test_list_shows_only_the_main_columns(operator: Operator) -> None:
    columns = re.findall(r'role="columnheader"[^>]*>(?:<a [^>]*>)?([^<]*)<', operator.get("/admin/domain/").html)
    assert columns == [
        "Domain ID",
        "Tenant",
        "Domain name",
        "Service areas",
        "Service type",
        "Deployment status",
        "State",
    ]
    assert "Injected" not in operator.get("/admin/quota/").text


def test_only_an_error_page_shows_the_request_id(operator: Operator) -> None:
    assert "equest" not in operator.get("/admin/tenant/").text
    page = operator.get("/admin/tenant/one/?key=nobody")
    assert "There is no tenant nobody." in page.text
    assert page.text.count(page.reply.header("x-request-id") or "-") == 1


def test_prices_are_described_in_words_and_local_time(operator_in_shanghai: Operator) -> None:
    name = "GB of a volume on hk-1, from 2025-01-01 08:00"
    page = operator_in_shanghai.get("/admin/price/")
    assert (name in page.text, "EUR per hour" in page.text, PRICE in page.text) == (True, True, False)
    assert operator_in_shanghai.get(f"/admin/price/one/?key={PRICE}").heading == f"Price: {name}"
    assert name in operator_in_shanghai.get(f"/admin/price/remove/?key={PRICE}").heading


def test_latest_started_price_is_in_force() -> None:
    price = {"kind": "volume", "unit": "gb", "price": "1"}
    records = [
        {**price, "from": "2025"},
        {**price, "from": "2026"},
        {**price, "from": "2028"},
        {**price, "from": "2025", "node": "hk-1"},
        {**price, "from": "2025", "node": "hk-1", "type": "ssd"},
    ]
    assert price_states(records, "2027") == [None, "in force", "still to come", "in force", "in force"]
    assert price_states([], "2027") == []


def test_list_shows_which_prices_are_in_force(operator: Operator) -> None:
    for query in ("node=hk-1", "node=hk-1&sort=-price", "search=HK-1&sort=from"):
        text = operator.get(f"/admin/price/?{query}").text
        assert "Per GB hk-1 0.000395 2025-01-01 00:00:00 replaced" in text
        assert "2026-01-01 00:00:00 in force" in text


@pytest.mark.parametrize(("start", "badge"), [("2025-01-01", ""), ("2026-01-01", " in force")])
def test_page_of_a_price_shows_whether_it_is_in_force(operator: Operator, start: str, badge: str) -> None:
    page = operator.get(f"/admin/price/one/?key=volume/gb/{start}T00:00:00Z/hk-1")
    assert page.heading == f"Price: GB of a volume on hk-1, from {start} 00:00{badge}"


def test_page_of_an_operator_links_to_the_changes_of_and_by_it(operator: Operator) -> None:
    operator.send(operator.get("/admin/node/disable/?key=hk-1").form("/disable/"))
    links = operator.get("/admin/account/one/?key=operator").links
    assert {"/admin/audit/?subject=operator&change=account.", "/admin/audit/?actor=web%3Aoperator"} <= set(links)
    assert "Disable node" in operator.get("/admin/audit/?actor=web%3Aoperator").text
    assert "/admin/audit/?actor=web%3Ademo" not in operator.get("/admin/account/one/?key=demo").links


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"kind": "instance", "unit": "each", "type": "m1/50%"}, "Instance of the flavor m1/50%"),
        ({"kind": "volume", "unit": "gb", "type": "ssd", "node": "hk-1"}, "GB of a volume of the type ssd on hk-1"),
    ],
)
def test_price_of_a_type_shows_the_type_name(operator: Operator, fields: dict[str, str], name: str) -> None:
    name += ", from 2027-01-01 00:00"
    form = operator.get("/admin/price/add/").forms[1]
    operator.send(form, **fields, price="1", **{"from": "2027-01-01T00:00"})
    page = operator.get("/admin/price/?type=" + quote(fields["type"]))
    assert (name in page.text, page.text.count("scheduled")) == (True, 1)
    (key,) = (each for each in page.links if "/price/one/" in each)
    assert operator.get(key).heading.startswith(f"Price: {name}")
    assert operator.get(key).forms[1].fields["type"] == fields["type"]


def test_tenant_page_explains_openstack_quotas(operator: Operator) -> None:
    note = "Users who sign in through OpenStack see their OpenStack quotas and usage."
    operator.send(operator.get("/admin/tenant/one/?key=other").forms[1], project=PROJECT)
    pages = [operator.get(f"/admin/tenant/one/?key={name}") for name in ("other", "demo")]
    assert [note in page.text for page in pages] == [True, False]
    assert ("OpenStack project" in pages[0].text, pages[0].forms[1].fields["project"]) == (True, PROJECT)
    assert PROJECT in operator.get("/admin/tenant/").text


@pytest.mark.parametrize(
    ("path", "filled"),
    [
        ("account/add/?tenant=acme&role=operator", {"tenant": "acme", "role": "tenant"}),
        ("account/add/?password=x&password_again=x", {"password": "", "password_again": ""}),
        ("url/add/?tenant=demo&type=link&url=https://example.com/", {"tenant": "demo", "type": "", "url": ""}),
        ("resource/add/?node=hk-1&kind=volume&name=x", {"node": "hk-1", "kind": "volume", "name": ""}),
        ("account/add/?tenant=%22%3E%3Cb%3E", {"tenant": '"><b>'}),
    ],
)
def test_url_prefills_a_form(operator: Operator, path: str, filled: dict[str, str]) -> None:
    fields = operator.get(f"/admin/{path}").form("/add/").fields
    assert {name: fields[name] for name in filled} == filled


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("resource/?tenant=demo&kind=volume&prefix=web", {"/admin/resource/add/?tenant=demo&kind=volume"}),
        ("node/one/?key=hk-1", {"/admin/resource/add/?node=hk-1", "/admin/price/add/?node=hk-1"}),
    ],
)
def test_page_links_to_prefilled_forms(operator: Operator, path: str, expected: set[str]) -> None:
    assert expected <= set(operator.get(f"/admin/{path}").links)


def test_tenant_page_links_to_add_forms_and_shows_quotas(operator: Operator) -> None:
    form = operator.get("/admin/quota/one/?key=demo").form("/change/")
    operator.send(operator.send(form, cores="5", ram__unlimited=True).form("/change/"), confirmations=True)
    page = operator.get("/admin/tenant/one/?key=demo")
    assert [each for each in page.links if "/add/" in each] == [
        f"/admin/{entity}/add/?tenant=demo" for entity in ("account", "resource", "domain", "url")
    ]
    assert "/admin/quota/one/?key=demo" in page.links
    assert "Cores 13 of 5 over quota RAM (MB) 41,472, unlimited" in page.text


def test_overview_shows_latest_changes_and_upcoming_news(operator: Operator) -> None:
    form = operator.get("/admin/news/add/").form("/add/")
    for title, date in (("Later", "2028-01-01T00:00"), ("Sooner", "2027-01-01T00:00"), ("Never", "2027-01-01T00:00")):
        operator.send(form, title=title, url="https://n.example/", date=date)
    operator.send(operator.get("/admin/news/disable/?key=13").form("/disable/"))
    page = operator.get("/admin/")
    assert "2027-01-01 00:00:00 Sooner 2028-01-01 00:00:00 Later" in page.text
    assert "Never" not in page.text.partition("Scheduled news")[2]
    assert page.text.index("web:operator: Withdraw news item Never") < page.text.index("Add news item Later")
    for number in range(10):
        operator.send(operator.get("/admin/tenant/add/").form("/add/"), name=f"t{number}")
    assert "Add news item" not in operator.get("/admin/").text


def test_filters_are_expanded_when_one_is_set(operator: Operator) -> None:
    def is_open(path: str) -> bool:
        (details,) = [attrs for tag, attrs in operator.get(path).tags if tag == "details"]
        return "open" in details

    assert (is_open("/admin/resource/"), is_open("/admin/resource/?kind=volume")) == (False, True)


def test_audit_log_shows_labelled_values_before_and_after(operator: Operator) -> None:
    operator.send(operator.get("/admin/quota/one/?key=demo").form("/change/"), cores="50", ram__unlimited=True)
    operator.send(operator.get("/admin/node/disable/?key=hk-1").form("/disable/"))
    operator.send(operator.get("/admin/domain/one/?key=206813").form("/change/"), comment="c" * 301)
    page = operator.get("/admin/audit/")
    assert "Cores: 64 → 50 RAM: 131,072 → unlimited" in page.text
    assert "Disabled: no → yes" in page.text
    assert f"→ {'c' * 300}… " in page.text
    operator.send(operator.get("/admin/domain/one/?key=206813").form("/change/"), comment="")
    assert "… → none" in operator.get("/admin/audit/").text


def test_audit_log_groups_digits_and_names_units(operator: Operator) -> None:
    for ram in ("262144", "263168"):
        operator.send(operator.get("/admin/quota/one/?key=demo").form("/change/"), ram=ram)
    assert "RAM: 262,144 → 263,168 MB" in operator.get("/admin/audit/").text
    operator.send(
        operator.get("/admin/news/add/").form("/add/"), id="12345", title="New", url="https://news.example.com/"
    )
    operator.send(
        operator.get("/admin/price/add/").form("/add/"),
        **{"kind": "volume", "unit": "gb", "price": "1.5", "from": "2027-01-01T00:00"},
    )
    text = operator.get("/admin/audit/").text
    assert ("ID: 12345 " in text, "Price: 1.50 CNY per hour" in text) == (True, True)


def test_notice_names_prices_and_quotas_as_their_pages_do(operator: Operator) -> None:
    form = operator.get("/admin/price/add/").form("/add/")
    page = operator.send(form, kind="volume", unit="gb", price="1", **{"from": "2027-01-01T00:00"})
    assert "Price GB of a volume, from 2027-01-01 00:00: added" in page.text
    page = operator.send(operator.get("/admin/quota/one/?key=demo").form("/change/"), cores="50")
    assert "Quotas for demo: changed" in page.text


def test_audit_log_names_changes_and_finds_them_by_name(operator: Operator) -> None:
    operator.send(operator.get("/admin/account/disable/?key=demo").form("/disable/"))
    page = operator.get("/admin/audit/?change=account.disable")
    (rows,) = page.root.iter("tbody")
    assert "Disable account" in "".join(rows.itertext())
    assert "account.disable" not in "".join(rows.itertext())
    assert '<option value="account.disable" selected>Disable account</option>' in page.html
    for option in (
        "account.|Accounts: any change",
        "quota.reset|Reset quotas",
        "account.clear-throttle|Unlock account",
    ):
        assert '<option value="{}">{}</option>'.format(*option.split("|")) in page.html
    assert (
        '<option value="tenant.re" selected>tenant.re</option>' in operator.get("/admin/audit/?change=tenant.re").html
    )
