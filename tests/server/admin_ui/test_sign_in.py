"""Only operators are let in, by a sign-in of their own; no session ever stands for another kind's."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cloudconsole.operator.entities import ENTITY_TYPES
from cloudconsole.server.app import Console
from cloudconsole.store.tables import access_audit, login_failures, sessions, tenants
from tests.harness import FORM, Caller, HeldClock, InProcess
from tests.server.admin_ui.pages import SIGN_IN, Operator, Page
from tests.server.admin_ui.paths import GETS, POSTS
from tests.server.http.world import change_account, rows, settle
from tests.stores import settings_over

REFUSED = "The username or the password is wrong."


def words(page: Page) -> str:
    return page.html[page.html.index("<main") : page.html.index('<form method="post"')]


def test_an_operator_comes_in_and_back_to_the_page_that_was_wanted(stranger: Operator) -> None:
    page = stranger.sign_in(path="/admin/tenant/one/?key=demo")
    assert (page.status, page.heading) == (200, "Tenant demo")
    assert "Signed in as operator" in page.text


def test_the_cookie_is_for_these_pages_alone(stranger: Operator, wire: InProcess) -> None:
    form = stranger.get("/admin/").form(SIGN_IN)
    reply = stranger.post(SIGN_IN, form.filled(username="operator", password="console-operator"))
    assert (reply.status, list(reply.set_cookies)) == (303, ["operatorid"])
    _, *attributes = reply.set_cookies["operatorid"].split("; ")
    assert attributes == ["HttpOnly", "Path=/admin/", "SameSite=Strict"]
    assert (reply.cookie("operatorid") or "").startswith("o")


@pytest.fixture
def over_https(data: Path, clock: HeldClock) -> Iterator[Operator]:
    wire = InProcess(Console(settings_over(data), clock), "https://127.0.0.1:8000")
    yield Operator(wire)
    wire.close()


def test_over_https_browsers_accept_the_cookies_from_this_host_alone(over_https: Operator) -> None:
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
        kept = [each for each in attributes if not each.startswith(("Expires", "Max-Age"))]
        assert kept == ["HttpOnly", "Path=/", "SameSite=Strict", "Secure"]


def test_over_https_a_cookie_without_the_prefix_opens_no_page(over_https: Operator) -> None:
    assert over_https.sign_in().heading == "Overview"
    own = over_https.caller.cookies["__Host-operatorid"]
    planted = Caller(over_https.wire, {"operatorid": own, "operatornotice": "planted"})
    assert planted.send("GET", "/admin/").status == 303
    over_https.caller.cookies["operatornotice"] = "planted"
    assert "planted" not in over_https.get("/admin/tenant/").text


def test_the_token_of_the_sign_in_is_not_the_sessions(operator: Operator, data: Path) -> None:
    before = operator.caller.token
    form = operator.get("/admin/tenant/add/").form("/add/")
    assert before
    assert form.fields["csrfmiddlewaretoken"] != before
    operator.post(form.action, {**form.filled(name="late"), "csrfmiddlewaretoken": before})
    assert "late" not in {row.name for row in rows(data, tenants)}


@pytest.mark.parametrize("username", ["demo", "nobody", "operator"])
def test_a_wrong_password_a_tenant_and_an_unknown_user_are_refused_alike(
    stranger: Operator, data: Path, username: str
) -> None:
    password = "console-demo" if username == "demo" else "wrong"
    first = stranger.sign_in("nobody", "wrong")
    page = stranger.sign_in(username, password)
    assert page.status == first.status == 401
    assert words(page) == words(first)
    assert "operatorid" not in page.reply.set_cookies
    assert len(rows(data, login_failures)) == 2
    assert [row.event for row in rows(data, access_audit)] == ["operator_login_refused"] * 2


def test_what_was_typed_as_the_name_stays_and_the_password_does_not(stranger: Operator) -> None:
    form = stranger.sign_in("<b>", "wrong-password").form(SIGN_IN)
    assert (form.fields["username"], form.fields["password"]) == ("<b>", "")


@pytest.mark.parametrize("missing", ["username", "password"])
def test_a_form_that_is_not_filled_in_is_shown_again(stranger: Operator, missing: str) -> None:
    fields = {"username": "operator", "password": "console-operator", missing: ""}
    page = stranger.send(stranger.get("/admin/").form(SIGN_IN), **fields)
    assert (page.status, f"The field '{missing}' is required." in page.text) == (400, True)


def test_too_many_failures_are_told_with_the_wait(stranger: Operator) -> None:
    for _ in range(10):
        stranger.sign_in("demo", "wrong")
    page = stranger.sign_in("demo", "console-demo")
    assert page.status == 429
    wait = page.reply.header("retry-after")
    assert f"{wait} seconds" in page.text


def test_failures_here_count_for_the_tenants_login_too(stranger: Operator, visitor: Caller) -> None:
    for _ in range(10):
        stranger.sign_in("demo", "wrong")
    assert visitor.login().error == "too_many_requests"


def test_a_sign_in_of_long_ago_is_tried_again_with_a_new_token(stranger: Operator) -> None:
    form = stranger.get("/admin/").form(SIGN_IN)
    stranger.caller.cookies.clear()
    page = stranger.send(form, username="operator", password="console-operator")
    assert page.status == 403
    assert "This page was too old: try again." in page.text
    assert stranger.send(page.form(SIGN_IN), password="console-operator").heading == "Overview"


def test_a_foreign_page_cannot_sign_anyone_in(stranger: Operator) -> None:
    form = stranger.get("/admin/").form(SIGN_IN)
    sent = form.filled(username="operator", password="console-operator")
    reply = stranger.post(SIGN_IN, sent, Origin="https://evil.example")
    assert (reply.status, "operatorid" in reply.set_cookies) == (403, False)


@pytest.mark.parametrize(
    "onward",
    [
        "https://evil.example/",
        "//evil.example/admin/",
        "/admin/../api/",
        "/\\evil.example",
        "/admin/no-such/",
        "/admin/sign-out/",
        "/admin/\r\nSet-Cookie: a=b",
        "/docs/",
        "javascript:alert(1)",
        "/admin/tenant/?prefix=" + "x" * 3000,
    ],
)
def test_a_sign_in_goes_on_to_our_own_pages_only(stranger: Operator, onward: str) -> None:
    form = stranger.get("/admin/").form(SIGN_IN)
    sent = form.filled(username="operator", password="console-operator", next=onward)
    assert stranger.post(SIGN_IN, sent).header("location") == "/admin/"


def test_who_is_signed_in_already_goes_straight_on(operator: Operator) -> None:
    assert operator.caller.send("GET", f"{SIGN_IN}?next=/admin/node/").header("location") == "/admin/node/"


def test_signing_out_ends_the_session(operator: Operator, data: Path) -> None:
    kept = dict(operator.caller.cookies)
    page = operator.send(operator.get("/admin/").form("/sign-out/"))
    assert page.heading == "Sign in"
    assert "operatorid" not in operator.caller.cookies
    operator.caller.cookies = kept
    assert operator.get("/admin/").heading == "Sign in"
    assert [row.event for row in rows(data, access_audit)] == ["operator_login", "operator_logout"]


def test_the_token_of_another_session_signs_nobody_out(operator: Operator, wire: InProcess) -> None:
    other = Operator(wire)
    other.sign_in()
    form = other.get("/admin/").form("/sign-out/")
    assert operator.post(form.action, form.filled()).status == 403
    assert operator.get("/admin/").heading != "Sign in"


def test_signing_in_anew_ends_the_session_before(operator: Operator, data: Path) -> None:
    stranger = Operator(operator.wire)
    form = stranger.get("/admin/").form(SIGN_IN)
    stranger.caller.cookies["operatorid"] = operator.caller.cookies["operatorid"]
    stranger.send(form, username="operator", password="console-operator")
    assert len(rows(data, sessions)) == 1
    assert operator.get("/admin/").heading == "Sign in"


@pytest.mark.parametrize("path", GETS)
def test_without_a_session_every_page_leads_to_the_sign_in(stranger: Operator, path: str) -> None:
    reply = stranger.caller.send("GET", path)
    assert reply.status == 303
    assert (reply.header("location") or "").startswith(SIGN_IN)


@pytest.mark.parametrize("path", POSTS)
def test_a_form_without_a_session_says_that_nothing_was_changed(stranger: Operator, path: str) -> None:
    reply = stranger.post(path, {"key": "demo"})
    location = reply.header("location") or ""
    assert (reply.status, location.partition("&")[0]) == (303, f"{SIGN_IN}?lost=1")
    assert "nothing was changed" in stranger.get(f"{SIGN_IN}?lost=1").text


@pytest.mark.parametrize("path", GETS)
def test_a_tenants_session_opens_no_page(tenant: Caller, path: str) -> None:
    own = tenant.cookies["sessionid"]
    for cookies in ({"sessionid": own}, {"operatorid": own}, {"operatorid": "o" + own[1:]}):
        reply = Caller(tenant.wire, dict(cookies)).send("GET", path)
        assert (reply.status, (reply.header("location") or "").startswith(SIGN_IN)) == (303, True)


def test_a_tenants_session_of_an_operators_account_opens_no_page(wire: InProcess) -> None:
    caller = Caller(wire)
    assert caller.login("operator", "console-operator").status == 200
    caller.cookies["operatorid"] = caller.cookies["sessionid"]
    assert caller.send("GET", "/admin/").status == 303


def test_an_operators_session_is_no_tenants(operator: Operator) -> None:
    own = operator.caller.cookies["operatorid"]
    token = operator.get("/admin/").form("/sign-out/").fields["csrfmiddlewaretoken"]
    caller = Caller(operator.wire, {"sessionid": own, "csrftoken": token})
    assert caller.call("GetUsageLimits").error == "login_required"
    caller.cookies["sessionid"] = "s" + own[1:]
    assert caller.call("GetUsageLimits").error == "login_required"


def test_both_kinds_live_side_by_side_in_one_browser(operator: Operator) -> None:
    assert operator.caller.login().status == 200
    assert operator.caller.call("GetUsageLimits").status == 200
    assert operator.get("/admin/").heading == "Overview"
    assert operator.caller.logout().status == 200
    assert operator.get("/admin/").heading == "Overview"


@pytest.mark.parametrize("change", [{"role": "tenant"}, {"disabled": True}, {"version": 1}], ids=str)
def test_what_takes_an_operators_place_away_ends_its_session_at_once(
    operator: Operator, data: Path, change: dict[str, object]
) -> None:
    change_account(data, "operator", **change)
    assert operator.get("/admin/").heading == "Sign in"


def test_a_session_ends_by_itself(operator: Operator, clock: HeldClock) -> None:
    clock.moment += 1801
    assert operator.get("/admin/").heading == "Sign in"


def test_a_session_in_use_does_not_end_before_its_time(operator: Operator, clock: HeldClock) -> None:
    for _ in range(20):
        clock.moment += 1000
        assert operator.get("/admin/").heading == "Overview"
        settle(operator.wire)


def test_the_setting_takes_the_pages_away(data: Path, clock: HeldClock) -> None:
    wire = InProcess(Console(settings_over(data, admin_ui=False), clock))
    for path in ("/admin/", "/admin", *(f"/admin/{noun.name}/" for noun in ENTITY_TYPES)):
        assert wire.send("GET", path, []).error == "not_found"
    assert wire.send("POST", SIGN_IN, [("Content-Type", FORM)], b"a=b").error == "not_found"
    wire.close()
