"""What the pages say, and where they lead: the words that tenants read, units, states, and fields filled in already."""

import re
from pathlib import Path
from urllib.parse import quote

import pytest

from cloudconsole.server.admin_ui.record_display import price_states
from cloudconsole.server.app import Console
from tests.harness import HeldClock, InProcess
from tests.server.admin_ui.pages import Operator, Page
from tests.stores import settings_over

PRICE = "volume/gb/2025-01-01T00:00:00Z/hk-1"


def columns(page: Page) -> list[str]:
    found = re.findall(r'role="columnheader"[^>]*>([^<]*)<', page.html)
    return [str(each) for each in found]


# Words and units


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("quota/one/?key=demo", ["Cloud hosts", "RAM (MB)", "Disk space (GB)", "Size of an injected file (bytes)"]),
        ("quota/one/?key=demo", ["default 10; instances on the command line", "Compute", "Storage", "Network"]),
        ("resource/add/", ["Load balancer", "Floating IP", "RAM (MB)", "For cloud hosts"]),
        ("price/add/", ["Per GB of RAM", "Price (CNY per hour)"]),
        ("account/add/", ["Repeat the password"]),
        ("account/one/?key=demo", ["Forget failed logins"]),
        ("url/one/?key=url-d3m0l1nk", ["URL url-d3m0l1nk"]),
        ("news/one/?key=3", ["News item 3"]),
        ("resource/", ["Cloud disk", "Security group"]),
    ],
)
def test_pages_have_the_words_of_tenants_and_units(operator: Operator, path: str, words: list[str]) -> None:
    text = operator.get(f"/admin/{path}").text
    assert [each for each in words if each not in text] == []


def test_what_may_be_left_out_is_marked(operator: Operator) -> None:
    text = operator.get("/admin/news/add/").text
    assert ("URL – optional" in text, "Date (UTC) – optional" in text) == (False, True)


def test_a_list_shows_what_fits_beside_each_other(operator: Operator) -> None:
    assert columns(operator.get("/admin/domain/")) == [
        *("Id", "Tenant", "Name", "Service areas", "Service type", "Status"),
    ]
    assert "Injected" not in operator.get("/admin/quota/").text


@pytest.mark.parametrize("path", ["", "tenant/"])
def test_the_request_is_named_only_where_something_is_refused(operator: Operator, path: str) -> None:
    assert "equest" not in operator.get(f"/admin/{path}").text


def test_a_refusal_is_a_sentence_and_names_the_request_once(operator: Operator) -> None:
    page = operator.get("/admin/tenant/one/?key=nobody")
    assert "There is no tenant nobody." in page.text
    assert page.text.count(page.reply.header("x-request-id") or "-") == 1


# Prices


def test_prices_are_named_in_words_and_in_the_consoles_zone(data: Path, clock: HeldClock) -> None:
    wire = InProcess(Console(settings_over(data, time_zone="Asia/Shanghai", currency="EUR"), clock))
    operator = Operator(wire)
    operator.sign_in()
    name = "GB of a cloud disk on hk-1, from 2025-01-01 08:00"
    page = operator.get("/admin/price/")
    assert (name in page.text, "EUR per hour" in page.text, PRICE in page.text) == (True, True, False)
    assert operator.get(f"/admin/price/one/?key={PRICE}").heading == f"Price: {name}"
    assert name in operator.get(f"/admin/price/remove/?key={PRICE}").heading
    wire.close()


def test_of_prices_alike_the_last_that_has_come_is_in_force() -> None:
    price = {"kind": "volume", "unit": "gb", "price": "1"}
    records = [
        {**price, "from": "2025"},
        {**price, "from": "2026"},
        {**price, "from": "2028"},
        {**price, "from": "2025", "node": "hk-1"},
        {**price, "from": "2025", "node": "hk-1", "type": "ssd"},
    ]
    assert price_states(records, "2027") == [None, "in force", "still to come", "in force", "in force"]


def test_a_list_tells_which_prices_are_in_force(operator: Operator) -> None:
    text = operator.get("/admin/price/?node=hk-1").text
    assert "from 2025-01-01 00:00 0.000395" in text
    assert "from 2026-01-01 00:00 in force" in text


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        (
            {"kind": "instance", "unit": "each", "type": "m1/50%"},
            "Cloud host of the flavor m1/50%, from 2027-01-01 00:00",
        ),
        (
            {"kind": "volume", "unit": "gb", "type": "link", "node": "hk-1"},
            "GB of a cloud disk of the type link on hk-1, from 2027-01-01 00:00",
        ),
    ],
)
def test_a_price_of_a_type_names_it_as_the_cloud_does(operator: Operator, fields: dict[str, str], name: str) -> None:
    form = operator.get("/admin/price/add/").forms[1]
    operator.send(form, **fields, price="1", **{"from": "2027-01-01T00:00"})
    page = operator.get("/admin/price/?type=" + quote(fields["type"]))
    assert (name in page.text, page.text.count("still to come")) == (True, 1)
    (key,) = (each for each in page.links if "/price/one/" in each)
    assert operator.get(key).heading.startswith(f"Price: {name}")
    assert operator.get(key).forms[1].fields["type"] == fields["type"]


def test_a_tenant_shows_the_project_that_it_is(operator: Operator) -> None:
    operator.send(operator.get("/admin/tenant/one/?key=other").forms[1], project="p@https://ID.example.com/v3")
    page = operator.get("/admin/tenant/one/?key=other")
    assert ("OpenStack project" in page.text, page.forms[1].fields["project"]) == (True, "p@https://id.example.com")


def test_a_tenant_of_an_openstack_is_shown_whose_quotas_the_consoles_own_are(operator: Operator) -> None:
    said = "Users who log in through OpenStack see their OpenStack quotas and usage."
    operator.send(operator.get("/admin/tenant/one/?key=other").forms[1], project="p@https://id.example.com")
    pages = [operator.get(f"/admin/tenant/one/?key={name}").text for name in ("other", "demo")]
    assert [said in page for page in pages] == [True, False]
    assert "p@https://id.example.com" in operator.get("/admin/tenant/").text


def test_a_list_without_any_prices_is_shown(operator: Operator) -> None:
    page = operator.get("/admin/price/?kind=image&node=hk-1")
    assert (page.status, "in force" in page.text) == (200, False)


# From one to what belongs to it


@pytest.mark.parametrize(
    ("path", "filled"),
    [
        ("account/add/?tenant=acme&role=operator", {"tenant": "acme", "role": "tenant"}),
        ("account/add/?password=x&password_again=x", {"password": "", "password_again": ""}),
        ("resource/add/?node=hk-1&kind=volume", {"node": "hk-1", "kind": ""}),
        ("account/add/?tenant=%22%3E%3Cb%3E", {"tenant": '"><b>'}),
    ],
)
def test_a_form_is_filled_in_by_its_address(operator: Operator, path: str, filled: dict[str, str]) -> None:
    fields = operator.get(f"/admin/{path}").form("/add/").fields
    assert {name: fields[name] for name in filled} == filled


def test_a_list_leads_to_a_form_for_what_was_looked_for(operator: Operator) -> None:
    links = operator.get("/admin/resource/?tenant=demo&kind=volume&prefix=web").links
    assert "/admin/resource/add/?tenant=demo" in links


def test_a_tenant_leads_to_what_it_can_have_and_shows_its_quotas(operator: Operator) -> None:
    operator.send(operator.get("/admin/quota/one/?key=demo").form("/change/"), cores="5", ram__unlimited=True)
    page = operator.get("/admin/tenant/one/?key=demo")
    assert [each for each in page.links if "/add/" in each] == [
        f"/admin/{noun}/add/?tenant=demo" for noun in ("account", "resource", "domain", "url")
    ]
    assert "/admin/quota/one/?key=demo" in page.links
    assert "Cores 13 of 5 over quota RAM (MB) 41472 of unlimited" in page.text


def test_a_node_leads_to_what_it_can_have(operator: Operator) -> None:
    links = operator.get("/admin/node/one/?key=hk-1").links
    assert {"/admin/resource/add/?node=hk-1", "/admin/price/add/?node=hk-1"} <= set(links)


# The overview


def test_the_overview_shows_the_last_changes_and_news_still_to_appear(operator: Operator) -> None:
    form = operator.get("/admin/news/add/").form("/add/")
    for title, date in (("Later", "2028-01-01T00:00"), ("Sooner", "2027-01-01T00:00"), ("Never", "2027-01-01T00:00")):
        operator.send(form, title=title, url="https://n.example/", date=date)
    operator.send(operator.get("/admin/news/disable/?key=13").form("/disable/"))
    page = operator.get("/admin/")
    assert "2027-01-01 00:00:00 Sooner 2028-01-01 00:00:00 Later" in page.text
    assert "Never" not in page.text
    assert page.text.index("web:operator: news.disable 13") < page.text.index("web:operator: news.add 11")
    for number in range(10):
        operator.send(operator.get("/admin/tenant/add/").form("/add/"), name=f"t{number}")
    assert "news." not in operator.get("/admin/").text


def test_filters_are_open_where_one_is_set(operator: Operator) -> None:
    def is_open(path: str) -> bool:
        (details,) = [given for tag, given in operator.get(path).tags if tag == "details"]
        return "open" in details

    assert (is_open("/admin/resource/"), is_open("/admin/resource/?kind=volume")) == (False, True)
