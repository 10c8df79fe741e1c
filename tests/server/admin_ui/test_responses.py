"""Responses to forms: all problems at once, results shown once, in the wording of the commands."""

from pathlib import Path

import pytest
from sqlalchemy import Table

from cloudconsole.core.clock import format_utc
from cloudconsole.server.app import Console
from cloudconsole.store.tables import news, quotas, urls
from tests.harness import FakeClock, InProcessTransport
from tests.server.admin_ui.pages import Operator
from tests.server.http.helpers import rows
from tests.stores import settings_for

NEWS = {"title": "Maintenance", "url": "https://example.com/m"}
URL = {"type": "link", "url": "https://example.com/u"}


@pytest.mark.parametrize(("entity", "values", "table"), [("news", NEWS, news), ("url", URL, urls)])
def test_a_form_sent_twice_adds_one(
    operator: Operator, data: Path, entity: str, values: dict[str, str], table: Table
) -> None:
    before = len(rows(data, table))
    form = operator.get(f"/admin/{entity}/add/").form("/add/")
    first, second = operator.send(form, **values), operator.send(form, **values)
    assert ": added" in first.text
    assert (second.status, second.heading) == (200, first.heading)
    assert ": is there already" in second.text
    assert len(rows(data, table)) == before + 1


def test_new_account_reports_all_missing_fields(operator: Operator) -> None:
    form = operator.send(operator.get("/admin/account/add/").form("/add/")).form("/add/")
    assert set(form.problems) == {"tenant", "username", "password"}


def test_all_invalid_quotas_are_reported(operator: Operator, data: Path) -> None:
    before = rows(data, quotas)
    form = operator.get("/admin/quota/one/?key=demo").form("/change/")
    page = operator.send(form, cores="-5", ram="abc", instances="99999999999999")
    assert set(page.form("/change/").problems) == {"cores", "ram", "instances"}
    assert rows(data, quotas) == before


def test_new_number_with_unlimited_is_rejected(operator: Operator, data: Path) -> None:
    before = rows(data, quotas)
    form = operator.get("/admin/quota/one/?key=demo").form("/change/")
    page = operator.send(form, cores="7", cores__unlimited=True)
    again = page.form("/change/")
    assert again.problems == {"cores": "enter a number or tick unlimited, not both"}
    assert (again.fields["cores"], again.fields["cores.unlimited"]) == ("7", "on")
    assert rows(data, quotas) == before


def test_old_number_with_unlimited_is_accepted(operator: Operator) -> None:
    page = operator.send(operator.get("/admin/quota/one/?key=demo").form("/change/"), cores__unlimited=True)
    assert "quota demo: changed" in page.text
    assert page.form("/change/").fields["cores.unlimited"] == "on"


def test_result_of_a_change_is_shown_once(operator: Operator) -> None:
    page = operator.send(operator.get("/admin/tenant/add/").form("/add/"), name="acme")
    assert "tenant acme: added" in page.text
    assert "added" not in operator.get("/admin/tenant/one/?key=acme").text


def test_url_cannot_fake_a_result_message(operator: Operator) -> None:
    assert "removed" not in operator.get("/admin/tenant/?done=remove&subject=demo").text


def test_cleared_login_failures_are_counted(operator: Operator) -> None:
    page = operator.send(operator.get("/admin/account/clear-throttle/?key=demo").form("/clear-throttle/"))
    assert "account demo: 0 failed logins cleared" in page.text


@pytest.mark.parametrize(
    ("page", "form"),
    [
        ("/admin/tenant/one/?key=demo", "/tenant/change/"),
        ("/admin/tenant/disable/?key=demo", "/tenant/disable/"),
        ("/admin/tenant/add/", "/tenant/add/"),
    ],
)
def test_sign_in_after_lost_session_returns_to_the_form(operator: Operator, page: str, form: str) -> None:
    lost = operator.get(page).form(form)
    operator.client.cookies.clear()
    sign_in = operator.send(lost)
    assert "nothing was changed" in sign_in.text
    assert sign_in.form("/sign-in/").fields["next"] == page


def test_search_for_unknown_tenant_fails(operator: Operator) -> None:
    assert operator.get("/admin/domain/?tenant=nobody").problems[0] == "Search failed"


def test_existing_key_is_reported_at_its_field(operator: Operator) -> None:
    page = operator.send(operator.get("/admin/tenant/add/").form("/add/"), name="demo")
    assert page.form("/add/").problems == {"name": "tenant demo already exists"}


def test_emptied_date_is_rejected(operator: Operator) -> None:
    operator.send(operator.get("/admin/news/add/").form("/add/"), id="900", **NEWS)
    page = operator.get("/admin/news/one/?key=900")
    assert "default: now" not in page.text
    assert operator.send(page.form("/change/"), date="").form("/change/").problems == {"date": "must not be empty"}


def test_resource_with_future_end_can_be_changed_and_ended(operator: Operator, clock: FakeClock) -> None:
    listed = operator.get("/admin/resource/?kind=volume&running=on")
    one = next(link for link in listed.links if "/resource/one/" in link)
    for seconds in (86_400, 3600):
        form = operator.get(one.replace("/one/", "/end/")).form("/resource/end/")
        assert ": ended" in operator.send(form, at=format_utc(int(clock.now()) + seconds).removesuffix("Z")).text
    page = operator.send(operator.get(one).form("/resource/change/"), name="still there")
    assert ": changed" in page.text
    assert "will end" in page.heading


def test_link_can_preset_the_tenant_but_not_the_name(operator: Operator) -> None:
    form = operator.get("/admin/resource/add/?tenant=demo&name=not-this").form("/add/")
    assert (form.fields["tenant"], form.fields["name"]) == ("demo", "")


def test_audit_log_times_are_in_the_console_time_zone(data: Path, clock: FakeClock) -> None:
    transport = InProcessTransport(Console(settings_for(data, time_zone="Asia/Shanghai"), clock))
    operator = Operator(transport)
    operator.sign_in()
    operator.send(operator.get("/admin/news/add/").form("/add/"), date="2026-07-01T08:00", **NEWS)
    assert "date: 2026-07-01 08:00:00 +08:00" in operator.get("/admin/audit/?change=news.").text
    transport.close()
