"""Forms sent after the session has ended: restored for the same account, and for nobody else."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cloudconsole.server.admin_ui.unsaved_forms import MAX_UNSAVED
from cloudconsole.store.tables import accounts, quotas, tenants
from tests.server.admin_ui.pages import SIGN_IN, Form, Operator, Page
from tests.server.http.helpers import rows

QUOTA = "/admin/quota/one/?key=demo"
SECOND = {
    "tenant": "demo",
    "username": "second",
    "role": "operator",
    "password": "a secret word",
    "password_again": "a secret word",
}


def sign_in_page(operator: Operator, path: str, ending: str, **values: str | bool | None) -> Page:
    """Send a form after the session has ended."""
    form = operator.get(path).form(ending)
    operator.client.cookies.pop("operatorid")
    page = operator.send(form, **values)
    assert (page.status, page.heading) == (401, "Sign in")
    return page


def signed_in_again(operator: Operator, page: Page, username: str = "operator", password: str = "") -> Page:
    form = page.form(SIGN_IN)
    return operator.send(form, username=username, password=password or f"console-{username}")


def test_restored_form_is_saved_only_when_sent_again(operator: Operator, data: Path) -> None:
    page = signed_in_again(operator, sign_in_page(operator, QUOTA, "/change/", cores="70", ram__unlimited=True))
    form = page.form("/change/")
    assert (page.status, form.fields["cores"], form.fields["ram.unlimited"]) == (200, "70", "on")
    assert 70 not in {row.cores for row in rows(data, quotas)}
    assert "changed" in operator.send(form).text
    assert (70, -1) in {(row.cores, row.ram) for row in rows(data, quotas)}


def test_restored_form_survives_a_wrong_password_and_shows_conflicts(operator: Operator) -> None:
    other = Operator(operator.transport)
    other.sign_in()
    page = sign_in_page(operator, QUOTA, "/change/", cores="70")
    page = signed_in_again(operator, page, password="wrong")
    assert page.heading == "Sign in"
    other.send(other.get(QUOTA).form("/change/"), cores="80")
    page = signed_in_again(operator, page)
    assert page.form("/change/").fields["cores"] == "70"
    assert "Current value: 80" in page.text


def test_form_survives_a_change_of_the_language(operator: Operator) -> None:
    page = sign_in_page(operator, QUOTA, "/change/", cores="70")
    for language, heading in (("zh", "登录"), ("en", "Sign in")):
        page = operator.send(page.language_form, language=language)
        assert (page.status, page.heading) == (200, heading)
    page = signed_in_again(operator, page)
    assert page.form("/change/").fields["cores"] == "70"


def test_language_form_shows_no_form_of_another_site(operator: Operator) -> None:
    page = sign_in_page(operator, QUOTA, "/change/", cores="70")
    fields = page.language_form.filled(language="zh")
    assert operator.post(page.language_form.action, fields, Origin="https://evil.example").status == 403
    fields["unsaved"] = "x" * 65_537
    page = Page(operator.post(page.language_form.action, fields))
    assert "unsaved" not in page.form(SIGN_IN).fields


def test_passwords_are_not_restored(operator: Operator, data: Path) -> None:
    page = sign_in_page(operator, "/admin/account/add/", "/add/", **SECOND)
    restored = signed_in_again(operator, page).form("/account/add/").fields
    assert (restored["username"], restored["password"], restored["password_again"]) == ("second", "", "")
    assert "second" not in {row.username for row in rows(data, accounts)}


def test_another_account_does_not_see_the_form(operator: Operator) -> None:
    operator.send(operator.get("/admin/account/add/").form("/add/"), **SECOND)
    page = sign_in_page(operator, "/admin/tenant/add/", "/add/", name="secret-plan")
    assert "secret-plan" not in page.html
    page = signed_in_again(operator, page, "second", SECOND["password"])
    assert (page.heading, "secret-plan" in page.html) == ("Add a tenant", False)


def tampered(form: Form) -> None:
    sealed = form.fields["unsaved"]
    form.fields["unsaved"] = sealed[:60] + ("A" if sealed[60] != "A" else "B") + sealed[61:]


@pytest.mark.parametrize(
    "spoil",
    [
        tampered,
        lambda form: form.fields.update(unsaved="\u4e00"),
        lambda form: form.fields.update(unsaved="x" * 65_537),
        lambda form: form.fields.pop("unsaved"),
    ],
    ids=["tampered", "not base64", "too long", "missing"],
)
def test_spoiled_form_is_not_restored(operator: Operator, spoil: Callable[[Form], object]) -> None:
    page = sign_in_page(operator, "/admin/tenant/add/", "/add/", name="planned")
    spoil(page.form(SIGN_IN))
    page = signed_in_again(operator, page)
    assert (page.status, page.form("/add/").fields["name"]) == (200, "")


@pytest.mark.parametrize(
    ("values", "headers"),
    [
        ({}, {"Origin": "https://evil.example"}),
        ({}, {"Sec-Fetch-Site": "cross-site"}),
        ({}, {"Origin": ""}),
        ({"csrfmiddlewaretoken": "0" * 64}, {}),
        ({"owner": None}, {}),
        ({"name": "n" * MAX_UNSAVED}, {}),
    ],
    ids=["foreign origin", "foreign page", "no origin", "foreign token", "no owner", "too large"],
)
def test_foreign_or_large_form_is_not_carried(
    operator: Operator, data: Path, values: dict[str, str | None], headers: dict[str, str]
) -> None:
    form = operator.get("/admin/tenant/add/").form("/add/")
    operator.client.cookies.pop("operatorid")
    reply = operator.post("/admin/tenant/add/", form.filled(**{"name": "planned", **values}), **headers)
    assert (reply.status, (reply.header("location") or "").partition("&")[0]) == (303, f"{SIGN_IN}?lost=1")
    assert "planned" not in {row.name for row in rows(data, tenants)}


def test_form_with_the_mark_of_another_account_is_not_restored(operator: Operator) -> None:
    operator.send(operator.get("/admin/account/add/").form("/add/"), **SECOND)
    other = Operator(operator.transport)
    other.sign_in("second", SECOND["password"])
    owner = other.get("/admin/tenant/add/").form("/add/").fields["owner"]
    page = sign_in_page(operator, "/admin/tenant/add/", "/add/", name="planned", owner=owner)
    for username, password in (("operator", "console-operator"), ("second", SECOND["password"])):
        page_after = signed_in_again(Operator(operator.transport), page, username, password)
        assert "planned" not in page_after.html
