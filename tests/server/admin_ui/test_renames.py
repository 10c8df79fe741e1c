"""Entities that get another key: pages and audit entries under the former one lead to them."""

from tests.server.admin_ui.pages import Operator, Page

PRICE = {"kind": "volume", "unit": "gb", "price": "7", "from": "2027-01-01T00:00"}
FORMER = "/admin/price/one/?key=volume%2Fgb%2F2027-01-01T00%3A00%3A00Z"
PRESENT = "/admin/price/one/?key=volume%2Fgb%2F2027-02-01T00%3A00%3A00Z"


def rename(operator: Operator, name: str, new_name: str) -> Page:
    return operator.send(operator.get(f"/admin/tenant/one/?key={name}").form("/change/"), name=new_name)


def test_audit_entries_of_a_moved_price_link_to_it(operator: Operator) -> None:
    operator.send(operator.get("/admin/price/add/").form("/add/"), **PRICE)
    operator.send(operator.get(FORMER).form("/change/"), **{"from": "2027-02-01T00:00"})
    for change in ("rename", "change"):
        links = operator.get(f"/admin/audit/?change=price.{change}").links
        assert [link for link in links if "/one/" in link] == [PRESENT]
    page = operator.get("/admin/audit/?change=price.rename")
    assert "GB of a volume, from 2027-02-01 00:00" in page.text


def test_page_of_a_former_name_leads_to_the_present_one(operator: Operator) -> None:
    rename(operator, "other", "interim")
    rename(operator, "interim", "final")
    for path in ("tenant/one/", "tenant/disable/", "quota/one/"):
        page = operator.get(f"/admin/{path}?key=other")
        assert (page.status, "It was renamed to final" in page.text) == (404, True)
        assert f"/admin/{path.split('/')[0]}/one/?key=final" in page.links


def test_former_name_never_leads_to_another_entity(operator: Operator) -> None:
    rename(operator, "other", "interim")
    rename(operator, "interim", "final")
    operator.send(operator.get("/admin/tenant/add/").form("/add/"), name="interim")
    page = operator.get("/admin/tenant/one/?key=other")
    assert (page.status, "It was renamed to final" in page.text) == (404, True)
    operator.send(operator.get("/admin/tenant/one/?key=final").form("/change/"), name="last")
    operator.send(operator.get("/admin/tenant/add/").form("/add/"), name="final")
    assert "It was renamed to last" in operator.get("/admin/tenant/one/?key=other").text


def test_page_of_a_removed_entity_leads_to_its_history(operator: Operator) -> None:
    operator.send(operator.get("/admin/tenant/add/").form("/add/"), name="brief")
    operator.send(operator.get("/admin/tenant/remove/?key=brief").form("/remove/"))
    page = operator.get("/admin/tenant/one/?key=brief")
    assert (page.status, "renamed" in page.text) == (404, False)
    assert {"/admin/audit/?subject=brief&change=tenant.", "/admin/tenant/"} <= set(page.links)


def test_new_entity_under_a_former_name_has_its_own_page(operator: Operator) -> None:
    rename(operator, "other", "final")
    operator.send(operator.get("/admin/tenant/add/").form("/add/"), name="other")
    assert operator.get("/admin/tenant/one/?key=other").heading == "Tenant other"


def test_rename_during_an_edit_is_an_edit_conflict(operator: Operator) -> None:
    form = operator.get("/admin/tenant/one/?key=other").form("/change/")
    rename(operator, "other", "final")
    page = operator.send(form, project="p1@https://keystone.example.com")
    assert (page.status, page.heading) == (409, "Tenant final")
    again = page.form("/change/")
    assert (again.fields["name"], again.fields["project"]) == ("final", "p1@https://keystone.example.com")
    assert "Changed by someone else" in page.text
    page = operator.send(again)
    assert (page.status, page.heading) == (200, "Tenant final")
    assert page.form("/change/").fields["project"] == "p1@https://keystone.example.com"
