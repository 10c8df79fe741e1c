"""Operator sign-in: separate from the login of tenants, and so are the sessions."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cloudconsole.operator.entities import ENTITY_TYPES
from cloudconsole.server.app import Console
from cloudconsole.store.tables import access_audit, login_failures, sessions, tenants
from tests.harness import FORM, ApiClient, FakeClock, InProcessTransport
from tests.server.admin_ui.pages import SIGN_IN, Operator, Page
from tests.server.admin_ui.paths import GETS, POSTS
from tests.server.http.helpers import change_account, drain_tasks, rows
from tests.stores import settings_for


def message_of(page: Page) -> str:
    """Return the part of the page before the form, with the error message."""
    return page.html[page.html.index("<main") : page.html.index('<form method="post"')]


def test_sign_in_returns_to_the_requested_page(anonymous: Operator) -> None:
    page = anonymous.sign_in(path="/admin/tenant/one/?key=demo")
    assert (page.status, page.heading) == (200, "Tenant demo")
    assert "Signed in as operator" in page.text


def test_cookie_is_limited_to_the_admin_path(anonymous: Operator, transport: InProcessTransport) -> None:
    form = anonymous.get("/admin/").form(SIGN_IN)
    reply = anonymous.post(SIGN_IN, form.filled(username="operator", password="console-operator"))
    assert (reply.status, list(reply.set_cookies)) == (303, ["operatorid"])
    _, *attributes = reply.set_cookies["operatorid"].split("; ")
    assert attributes == ["HttpOnly", "Path=/admin/", "SameSite=Strict"]
    assert (reply.cookie("operatorid") or "").startswith("o")


@pytest.fixture
def over_https(data: Path, clock: FakeClock) -> Iterator[Operator]:
    transport = InProcessTransport(Console(settings_for(data), clock), "https://127.0.0.1:8000")
    yield Operator(transport)
    transport.close()


def test_cookies_over_https_have_the_host_prefix(over_https: Operator) -> None:
    sign_in = over_https.get("/admin/").form(SIGN_IN)
    signed_in = over_https.post(SIGN_IN, sign_in.filled(username="operator", password="console-operator"))
    add, sign_out = over_https.get("/admin/tenant/add/").form("/add/"), over_https.get("/admin/").form("/sign-out/")
    added = over_https.post(add.action, add.filled(name="late"))
    signed_out = over_https.post(sign_out.action, sign_out.filled())
    for reply, name in ((signed_in, "operatorid"), (added, "operatornotice"), (signed_out, "operatorid")):
        assert reply.status == 303
        (cookie,) = reply.set_cookies.values()
        value, *attributes = cookie.split("; ")
        assert value.startswith(f"__Host-{name}=")
        fixed = [each for each in attributes if not each.startswith(("Expires", "Max-Age"))]
        assert fixed == ["HttpOnly", "Path=/", "SameSite=Strict", "Secure"]


def test_cookie_without_host_prefix_is_ignored_over_https(over_https: Operator) -> None:
    assert over_https.sign_in().heading == "Overview"
    session_id = over_https.client.cookies["__Host-operatorid"]
    planted = ApiClient(over_https.transport, {"operatorid": session_id, "operatornotice": "planted"})
    assert planted.send("GET", "/admin/").status == 303
    over_https.client.cookies["operatornotice"] = "planted"
    assert "planted" not in over_https.get("/admin/tenant/").text


def test_sign_in_token_is_not_valid_for_the_session(operator: Operator, data: Path) -> None:
    before = operator.client.token
    form = operator.get("/admin/tenant/add/").form("/add/")
    assert before
    assert form.fields["csrfmiddlewaretoken"] != before
    operator.post(form.action, {**form.filled(name="late"), "csrfmiddlewaretoken": before})
    assert "late" not in {row.name for row in rows(data, tenants)}


def test_all_failed_sign_ins_look_alike(anonymous: Operator, data: Path) -> None:
    attempts = [("nobody", "wrong"), ("operator", "wrong"), ("demo", "console-demo"), ("<b>", "wrong")]
    pages = [anonymous.sign_in(*attempt) for attempt in attempts]
    assert {page.status for page in pages} == {401}
    assert len({message_of(page) for page in pages}) == 1
    assert not any("operatorid" in page.reply.set_cookies for page in pages)
    forms = [page.form(SIGN_IN) for page in pages]
    assert [form.fields["username"] for form in forms] == [username for username, _ in attempts]
    assert {form.fields["password"] for form in forms} == {""}
    assert len(rows(data, login_failures)) == len(attempts)
    assert [row.event for row in rows(data, access_audit)] == ["operator_login_refused"] * len(attempts)


@pytest.mark.parametrize("missing", ["username", "password"])
def test_incomplete_sign_in_form_is_shown_again(anonymous: Operator, missing: str) -> None:
    fields = {"username": "operator", "password": "console-operator", missing: ""}
    page = anonymous.send(anonymous.get("/admin/").form(SIGN_IN), **fields)
    assert (page.status, f"The field '{missing}' is required." in page.text) == (400, True)


def test_throttle_is_shared_with_tenant_logins_and_shows_the_wait(
    anonymous: Operator, anonymous_client: ApiClient
) -> None:
    for _ in range(10):
        anonymous.sign_in("demo", "wrong")
    page = anonymous.sign_in("demo", "console-demo")
    assert page.status == 429
    wait = page.reply.header("retry-after")
    assert f"{wait} seconds" in page.text
    assert anonymous_client.login().error == "too_many_requests"


def test_expired_sign_in_form_can_be_retried_with_a_new_token(anonymous: Operator) -> None:
    form = anonymous.get("/admin/").form(SIGN_IN)
    anonymous.client.cookies.clear()
    page = anonymous.send(form, username="operator", password="console-operator")
    assert page.status == 403
    assert "This page was too old: try again." in page.text
    assert anonymous.send(page.form(SIGN_IN), password="console-operator").heading == "Overview"


def test_cross_origin_sign_in_is_rejected(anonymous: Operator) -> None:
    form = anonymous.get("/admin/").form(SIGN_IN)
    sent = form.filled(username="operator", password="console-operator")
    reply = anonymous.post(SIGN_IN, sent, Origin="https://evil.example")
    assert (reply.status, "operatorid" in reply.set_cookies) == (403, False)


def test_sign_in_redirects_to_admin_pages_only(anonymous: Operator) -> None:
    form = anonymous.get("/admin/").form(SIGN_IN)
    longest = "/admin/tenant/?prefix=" + "x" * (2000 - len("/admin/tenant/?prefix="))
    for path, location in {
        "https://evil.example/": "/admin/",
        "//evil.example/admin/": "/admin/",
        "/admin/../api/": "/admin/",
        "/\\evil.example": "/admin/",
        "/admin/no-such/": "/admin/",
        "/admin/sign-out/": "/admin/",
        "/admin/tenant/?\r\nSet-Cookie: a=b": "/admin/",
        "/docs/": "/admin/",
        "javascript:alert(1)": "/admin/",
        longest: longest,
        f"{longest}x": "/admin/",
    }.items():
        sent = form.filled(username="operator", password="console-operator", next=path)
        assert anonymous.post(SIGN_IN, sent).header("location") == location


def test_sign_in_page_redirects_a_signed_in_operator(operator: Operator) -> None:
    assert operator.client.send("GET", f"{SIGN_IN}?next=/admin/node/").header("location") == "/admin/node/"


def test_signing_out_ends_the_session(operator: Operator, data: Path) -> None:
    old_cookies = dict(operator.client.cookies)
    page = operator.send(operator.get("/admin/").form("/sign-out/"))
    assert page.heading == "Sign in"
    assert "operatorid" not in operator.client.cookies
    operator.client.cookies = old_cookies
    assert operator.get("/admin/").heading == "Sign in"
    assert [row.event for row in rows(data, access_audit)] == ["operator_login", "operator_logout"]


def test_sign_out_rejects_the_token_of_another_session(operator: Operator, transport: InProcessTransport) -> None:
    other = Operator(transport)
    other.sign_in()
    form = other.get("/admin/").form("/sign-out/")
    assert operator.post(form.action, form.filled()).status == 403
    assert operator.get("/admin/").heading != "Sign in"


def test_new_sign_in_ends_the_previous_session(operator: Operator, data: Path) -> None:
    anonymous = Operator(operator.transport)
    form = anonymous.get("/admin/").form(SIGN_IN)
    anonymous.client.cookies["operatorid"] = operator.client.cookies["operatorid"]
    anonymous.send(form, username="operator", password="console-operator")
    assert len(rows(data, sessions)) == 1
    assert operator.get("/admin/").heading == "Sign in"


def test_form_without_session_reports_that_nothing_changed(anonymous: Operator) -> None:
    for path in POSTS:
        reply = anonymous.post(path, {"key": "demo"})
        location = reply.header("location") or ""
        assert (reply.status, location.partition("&")[0]) == (303, f"{SIGN_IN}?lost=1"), path
    assert "nothing was changed" in anonymous.get(f"{SIGN_IN}?lost=1").text


def test_only_an_operator_session_opens_a_page(demo: ApiClient) -> None:
    session_id = demo.cookies["sessionid"]
    for path in GETS:
        for cookies in (
            {},
            {"sessionid": session_id},
            {"operatorid": session_id},
            {"operatorid": "o" + session_id[1:]},
        ):
            reply = ApiClient(demo.transport, dict(cookies)).send("GET", path)
            assert (reply.status, (reply.header("location") or "").startswith(SIGN_IN)) == (303, True), path


def test_tenant_session_of_operator_account_opens_no_admin_page(transport: InProcessTransport) -> None:
    client = ApiClient(transport)
    assert client.login("operator", "console-operator").status == 200
    client.cookies["operatorid"] = client.cookies["sessionid"]
    assert client.send("GET", "/admin/").status == 303


def test_operator_session_is_not_a_tenant_session(operator: Operator) -> None:
    session_id = operator.client.cookies["operatorid"]
    token = operator.get("/admin/").form("/sign-out/").fields["csrfmiddlewaretoken"]
    client = ApiClient(operator.transport, {"sessionid": session_id, "csrftoken": token})
    assert client.call("GetUsageLimits").error == "login_required"
    client.cookies["sessionid"] = "s" + session_id[1:]
    assert client.call("GetUsageLimits").error == "login_required"


def test_both_session_kinds_coexist_in_one_browser(operator: Operator) -> None:
    assert operator.client.login().status == 200
    assert operator.client.call("GetUsageLimits").status == 200
    assert operator.get("/admin/").heading == "Overview"
    assert operator.client.logout().status == 200
    assert operator.get("/admin/").heading == "Overview"


@pytest.mark.parametrize("change", [{"role": "tenant"}, {"disabled": True}, {"version": 1}], ids=str)
def test_losing_operator_rights_ends_the_session_at_once(
    operator: Operator, data: Path, change: dict[str, object]
) -> None:
    change_account(data, "operator", **change)
    assert operator.get("/admin/").heading == "Sign in"


def test_only_an_idle_session_expires(operator: Operator, clock: FakeClock) -> None:
    for _ in range(3):
        clock.moment += 1000
        assert operator.get("/admin/").heading == "Overview"
        drain_tasks(operator.transport)
    clock.moment += 1801
    assert operator.get("/admin/").heading == "Sign in"


def test_admin_ui_can_be_disabled(data: Path, clock: FakeClock) -> None:
    transport = InProcessTransport(Console(settings_for(data, admin_ui=False), clock))
    for path in ("/admin/", "/admin", *(f"/admin/{entity.name}/" for entity in ENTITY_TYPES)):
        assert transport.send("GET", path, []).error == "not_found"
    assert transport.send("POST", SIGN_IN, [("Content-Type", FORM)], b"a=b").error == "not_found"
    transport.close()
