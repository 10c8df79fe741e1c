"""What helps to decide, beside a form."""

import pytest

from tests.server.admin_ui.pages import Operator


def test_price_form_shows_prices_in_force_and_scheduled(operator: Operator) -> None:
    form = operator.get("/admin/price/add/").form("/add/")
    operator.send(form, kind="volume", unit="gb", price="7", **{"from": "2027-01-01T00:00"})
    everything = operator.get("/admin/price/add/").text
    assert "GB of a volume 7.00 from 2027-01-01 00:00:00 scheduled" in everything
    assert "GB of a volume on hk-1 0.000385125 from 2026-01-01 00:00:00 in force" in everything
    assert "0.000395 from 2025-01-01 00:00:00" not in everything
    rejected = operator.send(form, kind="image", price="")
    assert ("GB of an image 0" in rejected.text, "GB of a volume 0" in rejected.text) == (True, False)
    one = operator.get("/admin/price/one/?key=image/gb/2025-01-01T00:00:00Z").text
    assert ("GB of an image 0" in one, "GB of a volume 0" in one) == (True, False)


def test_resource_form_shows_the_quotas_of_the_tenant(operator: Operator) -> None:
    page = operator.get("/admin/resource/add/?tenant=demo")
    assert "Quotas of demo, used and limit" in page.text
    assert "Cores 13 of 64" in page.text
    assert "Quotas of demo" in operator.get("/admin/resource/one/?key=i-d0000001").text


@pytest.mark.parametrize("tenant", ["", "unknown"])
def test_resource_form_without_a_known_tenant_shows_no_quota(operator: Operator, tenant: str) -> None:
    page = operator.get(f"/admin/resource/add/?tenant={tenant}")
    assert (page.status, "Quotas of" in page.text) == (200, False)


def test_price_in_force_offers_its_amount_and_a_new_price_only(operator: Operator) -> None:
    page = operator.get("/admin/price/one/?key=volume/gb/2026-01-01T00:00:00Z/hk-1")
    form = page.form("/change/")
    assert set(form.fields) == {"csrfmiddlewaretoken", "owner", "key", "seen", "price"}
    assert "For another price from now on, add a new one." in page.text
    (link,) = [link for link in page.links if link.startswith("/admin/price/add/")]
    fields = operator.get(link).form("/add/").fields
    assert (fields["kind"], fields["unit"], fields["node"], fields["price"]) == ("volume", "gb", "hk-1", "")
