"""Operator sign-in: separate from the login of tenants, and so are the sessions; rights that end during a change."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete

from cloudconsole.operator.entities import ENTITY_TYPES
from cloudconsole.operator.transaction import OperatorTransaction, operator_transaction
from cloudconsole.server.admin_ui import database
from cloudconsole.server.admin_ui import sessions as operator_sessions
from cloudconsole.server.app import Console
from cloudconsole.server.http.body import read_body
from cloudconsole.server.http.request import Request
from cloudconsole.store.tables import access_audit, login_failures, sessions, tenants
from tests.harness import FORM, ApiClient, FakeClock, InProcessTransport, Reply
from tests.server.admin_ui.pages import GETS, POSTS, SIGN_IN, Operator, Page
from tests.server.http.helpers import change_account, drain_tasks, record_replication_waits, rows
from tests.stores import settings_for, write_transaction

ADD = "/admin/tenant/add/"
REVOCATIONS = [{"role": "tenant"}, {"disabled": True}, {"version": 1}]
SIGNED_OUT: dict[str, object] = {}
"""The account is unchanged; only the session has ended."""


def test_sign_in_returns_to_the_requested_page(anonymous: Operator) -> None:
    page = anonymous.sign_in(path="/admin/tenant/one/?key=demo")
    assert (page.status, page.heading) == (200, "Tenant demo")
    assert "Signed in as operator" in page.text


def test_cookie_is_limited_to_the_admin_path(anonymous: Operator) -> None:
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
    # The error message is before the form.
    assert len({page.html[page.html.index("<main") : page.html.index('<form method="post"')] for page in pages}) == 1
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
    assert (page.status, f"Enter your {missing}." in page.text) == (400, True)


def test_throttle_shared_with_tenant_logins_shows_the_wait(anonymous: Operator, anonymous_client: ApiClient) -> None:
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


def test_sign_out_is_confirmed(operator: Operator) -> None:
    page = operator.send(operator.get("/admin/").form("/sign-out/"))
    assert (page.heading, "You have signed out." in page.text) == ("Sign in", True)
    assert "signed out" not in operator.get(SIGN_IN).text


def test_sign_in_redirects_to_admin_pages_only(anonymous: Operator) -> None:
    form = anonymous.get("/admin/").form(SIGN_IN)
    longest = "/admin/tenant/?prefix=" + "x" * (2000 - len("/admin/tenant/?prefix="))
    others = ["https://evil.example/", "//evil.example/admin/", "/admin/../api/", "/\\evil.example", f"{longest}x"]
    others += ["/docs/", "/admin/no-such/", "/admin/sign-out/", "/admin/tenant/?\r\nSet-Cookie: a=b", "javascript:x"]
    for path, location in {longest: longest, **dict.fromkeys(others, "/admin/")}.items():
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
    tenant = demo.cookies["sessionid"]
    for path in GETS:
        for cookies in ({}, {"sessionid": tenant}, {"operatorid": tenant}, {"operatorid": "o" + tenant[1:]}):
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


@pytest.mark.parametrize("change", REVOCATIONS, ids=str)
def test_losing_operator_rights_ends_the_session(operator: Operator, data: Path, change: dict[str, object]) -> None:
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


@pytest.mark.parametrize(("name", "succeeds"), [("fresh", True), ("demo", False)])
def test_response_waits_for_replicas_even_if_rejected(
    operator: Operator, monkeypatch: pytest.MonkeyPatch, name: str, succeeds: bool
) -> None:
    """A rejection may be based on a very recent change by another replica."""
    add = operator.get(ADD).form(ADD)
    waits = record_replication_waits(monkeypatch)
    assert (operator.post(ADD, add.filled(name=name)).status == 303) is succeeds
    assert len(waits) == 1


@pytest.mark.parametrize("revocation", [*REVOCATIONS, SIGNED_OUT], ids=str)
def test_operator_revoked_during_upload_changes_nothing(
    operator: Operator, data: Path, monkeypatch: pytest.MonkeyPatch, revocation: dict[str, object]
) -> None:
    async def read_and_revoke(request: Request, limit: int) -> bytes:
        body = await read_body(request, limit)
        revoke(data, revocation)
        return body

    form = operator.get(ADD).form(ADD)
    monkeypatch.setattr(operator_sessions, "read_body", read_and_revoke)
    page = Page(operator.post(ADD, form.filled(name="late")))
    assert (page.status, page.heading) == (401, "Sign in")
    assert "late" not in {row.name for row in rows(data, tenants)}


@pytest.mark.parametrize("revocation", REVOCATIONS, ids=str)
def test_operator_revoked_before_the_transaction_changes_nothing(
    operator: Operator, data: Path, monkeypatch: pytest.MonkeyPatch, revocation: dict[str, object]
) -> None:
    """As while the change waits for the write lock."""

    def revoke_first(*arguments: Any, **options: Any) -> AbstractContextManager[OperatorTransaction]:
        revoke(data, revocation)
        return operator_transaction(*arguments, **options)

    form = operator.get(ADD).form(ADD)
    monkeypatch.setattr(database, "operator_transaction", revoke_first)
    assert_rejected(operator.post(ADD, form.filled(name="late")), data)


def revoke(data: Path, revocation: dict[str, object]) -> None:
    if revocation is not SIGNED_OUT:
        change_account(data, "operator", **revocation)
        return
    with write_transaction(data, "activity") as connection:
        connection.execute(delete(sessions))


def assert_rejected(reply: Reply, data: Path) -> None:
    assert (reply.status, (reply.header("location") or "").startswith(SIGN_IN)) == (303, True)
    assert "late" not in {row.name for row in rows(data, tenants)}
