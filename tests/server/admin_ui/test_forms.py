"""Form protection and validation: a rejected form changes nothing and keeps the typed values."""

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy import Table, update

from cloudconsole.core.clock import format_utc
from cloudconsole.operator.entities import ENTITY_TYPES, RESOURCES
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.server.admin_ui.sessions import MAX_FORM
from cloudconsole.store.tables import accounts, login_failures, news, operator_audit, quotas, tenants, urls
from tests.harness import FORM, ApiClient, FakeClock, InProcessTransport
from tests.server.admin_ui.pages import AUDIT_CSV, CSVS, GETS, LANGUAGE, POSTS, Operator, Page
from tests.server.http.helpers import rows, stored_bytes
from tests.stores import opened, write_transaction

TOKEN = "csrfmiddlewaretoken"
NUL = "a\0b"
SECOND_OPERATOR = {
    "tenant": "demo",
    "username": "second",
    "role": "operator",
    "password": "a secret word",
    "password_again": "a secret word",
}
NEWS = {"title": "Maintenance", "url": "https://example.com/m"}
URL = {"type": "link", "url": "https://example.com/u"}
NOT_A_LIMIT = "must be a whole number from 0 to 2147483647, or unlimited"
SHORT_PASSWORD = "a password must have 8 to 1024 characters"


NEW_FLAVOR_WITH_ID_IN_USE = {
    "id": "flavor 1 already exists",
    **dict.fromkeys(("name", "vcpus", "ram", "disk"), "is missing"),
}


def token_of(operator: Operator) -> str:
    return operator.get("/admin/").form("/sign-out/").fields[TOKEN]


def test_path_lists_match_the_routes(transport: InProcessTransport) -> None:
    pages = transport.console._admin_ui
    assert pages is not None
    gets = {path for path, methods in pages.routes.items() if "GET" in methods}
    posts = {path for path, methods in pages.routes.items() if "POST" in methods}
    assert gets == {*GETS, *CSVS, AUDIT_CSV, "/admin/sign-in/", "/admin/suggest/"} | posts
    assert posts == {*POSTS, "/admin/sign-in/", LANGUAGE}


@pytest.mark.parametrize(
    ("token", "headers"),
    [
        *((token, {}) for token in (None, "", "x" * 64, "é", "0" * 64)),
        *(("own", {"Origin": origin}) for origin in ("https://evil.example", "null")),
        ("own", {"Sec-Fetch-Site": "cross-site"}),
    ],
)
def test_foreign_form_changes_nothing(
    operator: Operator, data: Path, token: str | None, headers: dict[str, str]
) -> None:
    before, own = rows(data, operator_audit), token_of(operator)
    for path in POSTS:
        fields = {"key": "demo"} | ({} if token is None else {TOKEN: own if token == "own" else token})
        assert operator.post(path, fields, **headers).status == 403, path
    assert rows(data, operator_audit) == before
    assert operator.get("/admin/").heading == "Overview"


@pytest.mark.parametrize(
    ("path", "verb", "values"),
    [
        ("tenant/add/", "add", {"name": "acme"}),
        ("quota/one/?key=demo", "change", {"cores": "77"}),
        ("account/disable/?key=demo", "disable", {"key": "demo"}),
        ("account/password/?key=demo", "password", {"key": "demo"}),
    ],
)
def test_form_of_a_previous_session_is_shown_again(
    operator: Operator, data: Path, path: str, verb: str, values: dict[str, str]
) -> None:
    before = rows(data, operator_audit)
    form = operator.get(f"/admin/{path}").form(f"/{verb}/")
    operator.client.cookies.clear()
    operator.sign_in()
    page = operator.send(form, **values)
    assert (page.status, page.problems[0]) == (403, "Nothing was changed")
    assert "You signed in again" in page.problems[1]
    assert rows(data, operator_audit) == before
    again = page.form(f"/{verb}/")
    assert values.items() <= again.fields.items()
    if verb != "password":
        assert operator.send(again).status == 200
        assert len(rows(data, operator_audit)) == len(before) + 1


def test_token_of_previous_session_without_origin_is_rejected(operator: Operator) -> None:
    old = token_of(operator)
    operator.client.cookies.clear()
    operator.sign_in()
    body = f"{TOKEN}={old}&name=acme".encode()
    reply = operator.client.send("POST", "/admin/tenant/add/", {"Content-Type": FORM}, body)
    assert reply.status == 403
    assert b"acme" not in reply.body


def test_body_that_is_not_a_form_is_rejected(operator: Operator) -> None:
    reply = operator.client.send("POST", "/admin/tenant/add/", {"Content-Type": "application/json"}, b"{}")
    assert reply.status == 415
    assert b"<h1>Unsupported media type</h1>" in reply.body


def test_long_form_is_accepted_up_to_the_limit(operator: Operator) -> None:
    page = operator.get("/admin/domain/one/?key=206813")
    rules = "[" + ",".join(['"0123456789abcdef"'] * 20_000) + "]"
    assert operator.send(page.form("/change/"), cacheBehaviors=rules).status == 200
    reply = operator.post("/admin/domain/change/", {"x": "y" * MAX_FORM})
    assert (reply.status, b"<h1>Request too large</h1>" in reply.body) == (413, True)


def test_long_body_without_session_is_not_read(anonymous: Operator) -> None:
    assert anonymous.post("/admin/tenant/add/", {"x": "y" * MAX_FORM}).status == 303
    assert anonymous.post("/admin/sign-in/", {"x": "y" * 140_000}).status == 413


def test_errors_are_html_pages(operator: Operator, data: Path) -> None:
    form = operator.get("/admin/tenant/add/").form("/add/")
    for method, path, code in (
        ("GET", "/admin/x/", 404),
        ("PUT", "/admin/tenant/change/", 405),
        ("PUT", "/admin/", 405),
    ):
        reply = operator.client.send(method, path)
        assert (reply.status, reply.header("content-type")) == (code, "text/html; charset=utf-8")
        assert (reply.header("x-request-id") or "-") in reply.body.decode()
    with opened(data, "cloud") as engine, engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE tenants RENAME TO gone")
    page = operator.send(form, name="acme")
    assert (page.status, page.heading) == (503, "Service unavailable")
    assert "the audit log shows whether it was made" in page.text


def test_page_for_a_wrong_method_is_like_that_for_an_unknown_path(operator: Operator) -> None:
    reply = operator.post("/admin/tenant/", {})
    page, unknown = Page(reply), operator.get("/admin/x/")
    assert (reply.status, reply.header("allow"), unknown.status) == (405, "GET, HEAD, OPTIONS", 404)
    assert "This address does not accept POST requests, so nothing was changed." in page.text
    assert set(page.links) - set(unknown.links) == set()
    assert page.links.count("/admin/tenant/") == unknown.links.count("/admin/tenant/") + 1


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("tenant/change/?key=demo&back=search%3Dd", "tenant/one/?key=demo&back=search%3Dd"),
        ("quota/change/?key=demo", "quota/one/?key=demo"),
        ("news/change/", "news/"),
        ("language/", ""),
        ("sign-out/", ""),
    ],
)
def test_address_of_a_form_leads_to_its_page(operator: Operator, path: str, page: str) -> None:
    reply = operator.client.send("GET", f"/admin/{path}")
    assert (reply.status, reply.header("location")) == (303, f"/admin/{page}")
    assert operator.get(f"/admin/{path}").status == 200


def test_page_of_an_unknown_path_has_navigation_for_operators(operator: Operator, anonymous: Operator) -> None:
    page = operator.get("/admin/nowhere/")
    assert (page.status, page.heading) == (404, "Not found")
    assert {"/admin/tenant/", "/admin/audit/"} <= set(page.links)
    assert page.form("/sign-out/")
    assert "/admin/tenant/" not in anonymous.get("/admin/nowhere/").links


def test_path_without_trailing_slash_redirects(operator: Operator) -> None:
    for path in ("/admin", "/admin/tenant", "/admin/tenant/one", "/admin/sign-in", "/admin/audit"):
        reply = operator.client.send("GET", f"{path}?key=demo")
        assert (reply.status, reply.header("location")) == (308, f"{path}/?key=demo")


def test_unknown_key_is_not_found(operator: Operator) -> None:
    for path in (path for path in GETS if path.endswith("/one/")):
        for key in ("", "no such", "价/格", "0" * 300, "a%00b"):
            page = operator.get(f"{path}?key={key}")
            assert (page.status, page.heading) == (404, "Not found"), path


def test_list_filtered_by_nul_is_empty_or_rejected(operator: Operator) -> None:
    """PostgreSQL cannot store NUL characters: every store rejects them."""
    for entity in ENTITY_TYPES:
        for name in (*entity.filters(), "after"):
            assert operator.get(f"/admin/{entity.name}/?{name}={quote(NUL)}").status in (200, 422), name
    for name in ("actor", "change", "subject", "log=access&actor"):
        page = operator.get(f"/admin/audit/?{name}={quote(NUL)}")
        assert (page.status, [tag for tag, _ in page.tags if tag == "td"]) == (200, []), name


def test_action_on_key_with_nul_is_not_found(operator: Operator) -> None:
    token = token_of(operator)
    for path in (path for path in POSTS if not path.endswith(("/add/", "/sign-out/"))):
        assert operator.post(path, {TOKEN: token, "key": NUL}).status == 404, path


def test_nul_is_rejected_in_every_field(operator: Operator) -> None:
    for path in (path for path in POSTS if path.endswith("/add/")):
        form = operator.get(path).form("/add/")
        page = Page(operator.post(path, {**dict.fromkeys(form.fields, NUL), TOKEN: form.fields[TOKEN]}))
        assert (page.status, page.problems != []) == (422, True), path


def test_all_problems_appear_at_fields_and_in_summary(operator: Operator) -> None:
    form = operator.get("/admin/flavor/add/").form("/add/")
    sent = {"id": "x", "name": "", "vcpus": "two", "ram": "0", "disk": "99999999999999999999"}
    page = operator.send(form, **sent)
    assert page.status == 422
    form = page.form("/add/")
    assert sent.items() <= form.fields.items()
    assert form.problems == {
        "id": "must be 1 to 64 digits",
        "name": "is missing",
        "vcpus": "must be a whole number",
        "ram": "must be at least 1",
        "disk": "must be at most 2147483647",
    }
    assert page.problems == [
        "Nothing was changed: 5 problems",
        "ID: must be 1 to 64 digits",
        "Name: is missing",
        "Cores: must be a whole number",
        "RAM: must be at least 1",
        "System disk: must be at most 2147483647",
    ]
    assert ("autofocus", "") in {pair for _, attrs in page.tags for pair in attrs.items()}


def test_overridable_rejection_offers_force(operator: Operator, data: Path) -> None:
    fields = {"id": "i-9", "tenant": "demo", "kind": "instance", "name": "big", "node": "hk-1", "vcpus": "999"}
    form = operator.get("/admin/resource/add/").form("/add/")
    assert "confirmations" not in form.boxes
    page = operator.send(form, **fields, ram="1", started="2026-11-01T00:00")
    assert (page.status, "Over quota (cores: 13 of 64 in use, 999 more requested)" in page.problems) == (422, True)
    assert "Nothing was changed yet. Add anyway Cancel" in page.text
    assert page.html.count("<button", page.html.index("<main")) == 2
    cancelled = operator.send(page.form("/add/"), cancel=True)
    assert (cancelled.status, cancelled.problems, cancelled.form("/add/").fields["vcpus"]) == (200, [], "999")
    page = operator.send(page.form("/add/"), confirmations=True)
    assert page.heading == "Resource i-9: big"
    assert rows(data, operator_audit)[-1].change == "resource.add (forced)"


@pytest.mark.parametrize(
    ("path", "verb", "values"),
    [
        ("account/remove/?key=operator", "remove", {}),
        ("account/disable/?key=operator", "disable", {}),
        ("account/one/?key=operator", "change", {"role": "tenant"}),
        ("tenant/disable/?key=provider", "disable", {}),
    ],
)
def test_last_operator_cannot_lose_access_in_the_pages(
    operator: Operator, data: Path, path: str, verb: str, values: dict[str, str]
) -> None:
    before = rows(data, accounts), rows(data, tenants)
    page = operator.get(f"/admin/{path}")
    sent = page.form("/change/" if verb == "change" else "/sign-out/").fields
    sent |= {"key": path.partition("key=")[2], **values}
    for more in ({}, {"confirmations": "on"}):
        rejected = Page(operator.post(f"/admin/{path.partition('/')[0]}/{verb}/", sent | more))
        assert (rejected.status, "the last operator who can sign in" in rejected.text) == (422, True)
        assert "confirmations" not in rejected.html
    if verb != "change":
        # It is refused before the question.
        assert page.problems[0] == "This is not possible"
        assert [form.action for form in page.forms] == ["/admin/sign-out/"]
    assert (rows(data, accounts), rows(data, tenants)) == before


def test_only_the_question_that_was_shown_is_confirmed(operator: Operator, data: Path) -> None:
    page = operator.get("/admin/account/one/?key=demo")
    for values in ({"role": "operator"}, {"tenant": "other"}):
        confirming = "confirmations" in page.form("/change/").boxes
        page = operator.send(page.form("/change/"), **values, **({"confirmations": True} if confirming else {}))
        assert page.status == 422
    assert "Makes the account demo an operator" in page.text
    assert "from the tenant demo to the tenant other" in page.text
    assert {row.role for row in rows(data, accounts) if row.username == "demo"} == {"tenant"}
    operator.send(page.form("/change/"), confirmations=True)
    assert rows(data, operator_audit)[-1].change == "account.change (forced)"


def test_a_question_whose_answer_depends_on_others_is_asked_again(operator: Operator, data: Path) -> None:
    form = operator.get("/admin/quota/one/?key=demo").form("/change/")
    page = operator.send(form, cores="5", ram__unlimited=True)
    assert "cores: 13 in use, new limit 5" in page.text
    with opened(data, "cloud") as engine, operator_transaction(engine, actor="tests", now=1_794_744_000) as tx:
        RESOURCES.end(tx, RESOURCES.list(tx, {"tenant": "demo", "kind": "instance"})[0]["id"], None)
    before = rows(data, quotas)
    page = operator.send(page.form("/change/"), confirmations=True)
    assert (page.status, "cores: 13 in use" in page.text, "in use, new limit 5" in page.text) == (422, False, True)
    assert rows(data, quotas) == before
    operator.send(page.form("/change/"), confirmations=True)
    assert rows(data, quotas) != before


def test_promotion_and_a_move_ask(operator: Operator, data: Path) -> None:
    form = operator.get("/admin/account/one/?key=demo").form("/change/")
    page = operator.send(form, role="operator")
    assert (page.status, "Makes the account demo an operator" in page.text) == (422, True)
    page = operator.send(form, tenant="other")
    assert (page.status, "from the tenant demo to the tenant other" in page.text) == (422, True)
    operator.send(page.form("/change/"), confirmations=True)
    assert rows(data, operator_audit)[-1].change == "account.change (forced)"


def test_force_does_not_override_other_rejections(operator: Operator) -> None:
    form = operator.get("/admin/tenant/disable/?key=demo").form("/disable/")
    reply = operator.post("/admin/tenant/remove/", {**form.fields, "confirmations": "on"})
    assert reply.status == 422
    assert b"cannot be removed" in reply.body


@pytest.mark.parametrize(
    ("entity", "key", "counts"),
    [
        (
            "tenant",
            "demo",
            {"account": "1 account", "resource": "19 resources", "domain": "2 domains", "url": "2 common URLs"},
        ),
        ("node", "hk-1", {"price": "2 prices", "resource": "6 resources"}),
    ],
)
def test_confirmation_of_a_removal_lists_what_prevents_it(
    operator: Operator, entity: str, key: str, counts: dict[str, str]
) -> None:
    page = operator.get(f"/admin/{entity}/remove/?key={key}")
    assert [form.action for form in page.forms] == ["/admin/sign-out/"]
    ending = f"/?{entity}={key}"
    links = {each.removesuffix(ending).removeprefix("/admin/") for each in page.links if each.endswith(ending)}
    assert links == set(counts)
    assert [text for text in counts.values() if text not in page.text] == []
    assert "disable it instead" in page.text
    operator.send(operator.get(f"/admin/{entity}/disable/?key={key}").form("/disable/"))
    assert "disable it instead" not in operator.get(f"/admin/{entity}/remove/?key={key}").text


def test_unused_tenant_has_a_button_for_its_removal(operator: Operator, data: Path) -> None:
    operator.send(operator.get("/admin/tenant/add/").form("/add/"), name="unused")
    operator.send(operator.get("/admin/tenant/remove/?key=unused").form("/remove/"))
    assert "unused" not in [row.name for row in rows(data, tenants)]


def test_price_in_force_is_changed_only_on_confirmation(operator: Operator, data: Path) -> None:
    key = "volume/gb/2026-01-01T00:00:00Z/hk-1"
    page = operator.send(operator.get(f"/admin/price/one/?key={key}").form("/change/"), price="9")
    assert page.status == 422
    assert re.match(r"Changes the cost of \d+ hours from 2026-02-03 04:00 to now \(UTC\)", page.problems[1])
    assert page.problems[2] == "Price: 0.000385125 → 9"
    assert "inert" in next(attributes for _, attributes in page.tags if attributes.get("id") == "entity-form")
    cancelled = operator.send(page.form("/change/"), cancel=True)
    assert (cancelled.status, cancelled.problems, cancelled.form("/change/").fields["price"]) == (200, [], "9")
    assert "price.change" not in {row.change for row in rows(data, operator_audit)}
    operator.send(page.form("/change/"), confirmations=True)
    assert rows(data, operator_audit)[-1].change == "price.change (forced)"


@pytest.mark.parametrize(
    ("path", "note"),
    [
        ("account/remove/?key=operator", "You are signed in with this account."),
        ("tenant/disable/?key=provider", "The account with which you are signed in belongs to it."),
        ("price/remove/?key=volume:ssd/gb/2026-11-01T00:00:00Z", "From now on the prices without a type apply"),
    ],
)
def test_confirmation_says_what_follows(operator: Operator, path: str, note: str) -> None:
    operator.send(operator.get("/admin/account/add/").form("/add/"), **SECOND_OPERATOR)
    price = {"kind": "volume", "unit": "gb", "type": "ssd", "price": "1", "from": "2026-11-01T00:00"}
    operator.send(operator.get("/admin/price/add/").form("/add/"), **price)
    assert note in operator.get(f"/admin/{path}").text


def test_removal_of_a_price_shows_its_effect_at_once_and_has_one_button(operator: Operator, data: Path) -> None:
    page = operator.get("/admin/price/remove/?key=volume/gb/2026-01-01T00:00:00Z/hk-1")
    assert page.status == 200
    assert page.problems[0].startswith("Changes the cost of 1 hour from 2026-11-15 12:00 to now (UTC)")
    assert "Costs up to the last full hour stay." in page.text
    assert page.html.count("<button", page.html.index("<main")) == 1
    operator.send(page.form("/remove/"), confirmations=True)
    assert rows(data, operator_audit)[-1].change == "price.remove (forced)"


def test_price_that_resources_need_is_refused_at_once(operator: Operator) -> None:
    page = operator.get("/admin/price/remove/?key=image/gb/2025-01-01T00:00:00Z")
    assert page.problems[0] == "This is not possible"
    assert "need this price" in page.problems[1]
    assert [form.action for form in page.forms] == ["/admin/sign-out/"]


@pytest.mark.parametrize(
    "path",
    ["account/remove/?key=demo", "tenant/disable/?key=demo", "price/remove/?key=volume/gb/2025-01-01T00:00:00Z/hk-1"],
)
def test_confirmation_without_further_consequences_has_no_note(operator: Operator, path: str) -> None:
    assert "<strong>" not in operator.get(f"/admin/{path}").html


def test_price_that_has_come_into_force_meanwhile_is_not_moved(operator: Operator, clock: FakeClock) -> None:
    start = {"from": format_utc(clock.moment + 60).removesuffix(":00Z")}
    page = operator.get("/admin/price/add/")
    page = operator.send(page.form("/add/"), kind="image", unit="gb", price="7", node="hk-1", **start)
    clock.moment += 60
    page = operator.send(page.form("/change/"), **{"from": "2027-01-01T00:00"})
    assert (page.status, page.problems[1:]) == (
        422,
        ["In force from: cannot be changed, because the price has been in force: add a new price instead"],
    )


@pytest.mark.parametrize(
    ("password", "again", "problem"),
    [
        ("", "", {"password": SHORT_PASSWORD}),
        ("x" * 1025, "", {"password": SHORT_PASSWORD, "password_again": "differs from the password"}),
        ("a secret", "another", {"password_again": "differs from the password"}),
    ],
    ids=["empty", "long", "different"],
)
def test_rejected_password_is_never_sent_back(
    operator: Operator, data: Path, password: str, again: str, problem: dict[str, str]
) -> None:
    before = rows(data, accounts)
    for verb, more in (("password", {"key": "demo"}), ("add", {"username": "ann", "tenant": "demo"})):
        form = operator.get(f"/admin/account/{verb}/?key=demo").form(f"/{verb}/")
        page = operator.send(form, password=password, password_again=again, **more)
        assert (page.status, page.form(f"/{verb}/").problems) == (422, problem)
        assert not password or password not in page.html
        assert ("Type it again." in page.text) is bool(password)
    assert rows(data, accounts) == before


def test_password_is_not_stored_in_plain_text(operator: Operator, data: Path, transport: InProcessTransport) -> None:
    form = operator.get("/admin/account/password/?key=demo").form("/password/")
    operator.send(form, password="very-secret-word", password_again="very-secret-word")
    assert ApiClient(transport).login(password="very-secret-word").status == 200
    assert b"very-secret-word" not in stored_bytes(data)


@pytest.mark.parametrize(
    ("path", "verb", "values", "problems"),
    [
        ("account/add/", "add", {}, {"tenant": "is missing", "username": "is missing", "password": SHORT_PASSWORD}),
        (
            *("account/add/", "add", {"username": "demo", "tenant": "nobody"}),
            {
                "tenant": "there is no tenant nobody",
                "username": "account demo already exists",
                "password": SHORT_PASSWORD,
            },
        ),
        ("flavor/add/", "add", {"id": "1", "name": ""}, NEW_FLAVOR_WITH_ID_IN_USE),
        (
            *("quota/one/?key=demo", "change", {"cores": "two", "ram": "99999999999999999999", "volumes": "1.5"}),
            dict.fromkeys(("cores", "ram", "volumes"), NOT_A_LIMIT),
        ),
        ("tenant/add/", "add", {"name": "demo"}, {"name": "tenant demo already exists"}),
        ("news/one/?key=1", "change", {"date": ""}, {"date": "must not be empty"}),
        (
            *("quota/one/?key=demo", "change", {"cores": "7", "cores.unlimited": "on", "ram": "-5"}),
            {"cores": "enter a number or tick unlimited, not both", "ram": NOT_A_LIMIT},
        ),
        (
            *("account/clear-throttle/?key=demo", "clear-throttle", {"address": "here"}),
            {"address": "must be an IP address, such as 192.0.2.1"},
        ),
    ],
)
def test_problem_is_reported_at_its_field(
    operator: Operator, data: Path, path: str, verb: str, values: dict[str, str], problems: dict[str, str]
) -> None:
    before = rows(data, operator_audit)
    form = operator.get(f"/admin/{path}").form(f"/{verb}/")
    page = Page(operator.post(form.action, form.fields | values))
    again = page.form(f"/{verb}/")
    assert (page.status, again.problems) == (422, problems)
    assert values.items() <= again.fields.items()
    assert rows(data, operator_audit) == before


def test_language_and_pin_of_news_are_set_and_cleared(operator: Operator, data: Path) -> None:
    form = operator.get("/admin/news/add/").form("/add/")
    added = operator.send(form, **NEWS, language="zh", pinned=True)
    key = added.heading.split()[2].removesuffix(":")
    (item,) = [row for row in rows(data, news) if str(row.id) == key]
    assert (item.language, item.pinned) == ("zh", True)
    cells = operator.get("/admin/news/?pinned=on").text
    assert "Chinese" in cells
    operator.send(operator.get(f"/admin/news/one/?key={key}").form("/change/"), language="", pinned=False)
    (item,) = [row for row in rows(data, news) if str(row.id) == key]
    assert (item.language, item.pinned) == (None, False)


def test_the_same_news_is_added_in_the_other_language(operator: Operator, data: Path) -> None:
    form = operator.get("/admin/news/add/").form("/add/")
    page = operator.send(form, **NEWS, language="en", pinned=True, date="2027-01-02T03:04:05")
    (other,) = [link for link in page.links if link.startswith("/admin/news/add/")]
    translated = operator.send(operator.get(other).form("/add/"), title="维护")
    assert translated.heading == "News item 12: 维护 scheduled"
    (first,) = [link for link in translated.links if "/news/one/" in link]
    assert [link for link in translated.links if link.startswith("/admin/news/add/")] == []
    page = operator.get(first)
    assert ("The same in Chinese" in page.text, "Add it in Chinese" in page.text) == (True, False)
    english, chinese = ({**row._asdict(), "id": 0} for row in rows(data, news)[-2:])
    assert chinese == english | {"title": "维护", "language": "zh"}


def test_news_for_both_languages_offers_no_other(operator: Operator) -> None:
    page = operator.send(operator.get("/admin/news/add/").form("/add/"), **NEWS)
    assert [link for link in page.links if link.startswith("/admin/news/add/")] == []


@pytest.mark.parametrize(("table", "values"), [(news, NEWS), (urls, URL)])
def test_a_form_sent_twice_adds_one(operator: Operator, data: Path, table: Table, values: dict[str, str]) -> None:
    before, entity = len(rows(data, table)), "news" if table is news else "url"
    form = operator.get(f"/admin/{entity}/add/").form("/add/")
    first, second = operator.send(form, **values), operator.send(form, **values)
    assert ": added" in first.text
    assert (second.status, second.heading) == (200, first.heading)
    assert ": is there already" in second.text
    assert len(rows(data, table)) == before + 1


def test_result_of_a_change_is_shown_once_and_cannot_be_faked(operator: Operator) -> None:
    page = operator.send(operator.get("/admin/tenant/add/").form("/add/"), name="acme")
    assert "Tenant acme: added" in page.text
    assert "added" not in operator.get("/admin/tenant/one/?key=acme").text
    assert "removed" not in operator.get("/admin/tenant/?done=remove&subject=demo").text


def test_cleared_login_failures_are_counted(operator: Operator, anonymous: Operator, data: Path) -> None:
    anonymous.sign_in("demo", "wrong")
    page = operator.send(operator.get("/admin/account/clear-throttle/?key=demo").form("/clear-throttle/"))
    assert "Account demo: 1 failed sign-in cleared" in page.text
    assert rows(data, login_failures) == []


@pytest.mark.parametrize(
    ("page", "verb"), [("one/?key=demo", "change"), ("disable/?key=demo", "disable"), ("add/", "add")]
)
def test_sign_in_after_lost_session_returns_to_the_form(operator: Operator, page: str, verb: str) -> None:
    lost = operator.get(f"/admin/tenant/{page}").form(f"/tenant/{verb}/")
    operator.client.cookies.clear()
    sign_in = operator.send(lost)
    assert "nothing was changed" in sign_in.text
    assert sign_in.form("/sign-in/").fields["next"] == f"/admin/tenant/{page}"
    restored = operator.send(sign_in.form("/sign-in/"), username="operator", password="console-operator")
    assert restored.form(f"/tenant/{verb}/").action == lost.action
    assert "it is not saved yet" in restored.problems[1]


def test_resource_with_future_end_can_be_changed_and_ended(operator: Operator, clock: FakeClock) -> None:
    listed = operator.get("/admin/resource/?kind=volume&running=on")
    one = next(link for link in listed.links if "/resource/one/" in link)
    for seconds in (86_400, 3600):
        form = operator.get(one.replace("/one/", "/end/")).form("/resource/end/")
        assert ": ended" in operator.send(form, at=format_utc(int(clock.now()) + seconds).removesuffix("Z")).text
    page = operator.send(operator.get(one).form("/resource/change/"), name="still there")
    assert ": changed" in page.text
    assert "will end" in page.heading


def test_edit_conflict_changes_nothing_and_shows_current_values(operator: Operator, data: Path) -> None:
    form = operator.get("/admin/quota/one/?key=demo").form("/change/")
    operator.send(operator.get("/admin/quota/one/?key=demo").form("/change/"), cores="70", ram="60000")
    page = operator.send(form, cores="80", volumes="9")
    assert page.status == 409
    assert "/admin/audit/?subject=demo&change=quota." in page.links
    again = page.form("/change/")
    assert (again.fields["cores"], again.fields["volumes"], again.fields["ram"]) == ("80", "9", "60000")
    # Fields that only this operator has edited are not marked.
    assert re.findall(r'id="field-(\w+)-conflict"><bdi>([^<]*)', page.html) == [
        ("cores", "Current value: 70"),
        ("ram", "Changed by someone else"),
    ]
    assert {row.cores for row in rows(data, quotas)} >= {70}
    operator.send(again)
    (demo,) = [row for row in rows(data, quotas) if row.cores == 80]
    assert (demo.volumes, demo.ram) == (9, 60000)


def test_spaces_around_a_text_are_removed(operator: Operator, data: Path) -> None:
    operator.send(operator.get("/admin/news/add/").form("/add/"), **NEWS | {"title": " Two words  "})
    operator.send(operator.get("/admin/news/one/?key=1").form("/change/"), title="\tAnother ")
    assert {"Two words", "Another"} <= {row.title for row in rows(data, news)}


def test_existing_names_with_spaces_can_be_referred_to(operator: Operator, data: Path) -> None:
    with write_transaction(data, "cloud") as connection:
        connection.execute(update(tenants).where(tenants.c.name == "other").values(name="other "))
    form = operator.get("/admin/url/add/").form("/add/")
    assert ": added" in operator.send(form, **URL | {"tenant": "other "}).text
    (owner,) = [row.id for row in rows(data, tenants) if row.name == "other "]
    assert owner in {row.tenant_id for row in rows(data, urls)}


def test_spaces_in_an_optional_field_mean_none(operator: Operator, data: Path) -> None:
    form = operator.get("/admin/price/add/").form("/add/")
    values = {"kind": "volume", "unit": "gb", "price": "1", "from": "2027-01-01T00:00", "node": "  ", "type": " "}
    assert ": added" in operator.send(form, **values).text


def test_unchanged_form_changes_nothing(operator: Operator, data: Path) -> None:
    entries = len(rows(data, operator_audit))
    page = operator.send(operator.get("/admin/domain/one/?key=206814").form("/change/"))
    assert "nothing to change" in page.text
    assert len(rows(data, operator_audit)) == entries


def test_untouched_time_stays_exact(operator: Operator, data: Path) -> None:
    with write_transaction(data, "cloud") as connection:
        connection.execute(update(news).values(published_at=1_740_967_201))
    operator.send(operator.get("/admin/news/one/?key=1").form("/change/"), title="Another")
    assert {row.published_at for row in rows(data, news)} == {1_740_967_201}


@pytest.mark.parametrize(("verb", "page"), [("add", "add"), ("change", "one"), ("disable", "disable")])
def test_needless_force_is_not_audited(operator: Operator, data: Path, verb: str, page: str) -> None:
    form = operator.get(f"/admin/node/{page}/?key=hk-1").form(f"/{verb}/")
    operator.post(form.action, {**form.fields, "name": "hk-9", "confirmations": "on"})
    assert rows(data, operator_audit)[-1].change == f"node.{verb}"


def test_omitted_field_keeps_its_value(operator: Operator, data: Path) -> None:
    form = operator.get("/admin/url/one/?key=url-d3m0l1nk").form("/change/")
    sent = form.filled(url="https://other.example/")
    del sent["tenant"]
    assert operator.post(form.action, sent).status == 303
    (changed,) = [row for row in rows(data, urls) if row.id == "url-d3m0l1nk"]
    assert (changed.url, changed.tenant_id is None) == ("https://other.example/", False)


@pytest.mark.parametrize(("depth", "status"), [(100, 200), (101, 422), (5000, 422)])
def test_depth_of_json_is_limited(operator: Operator, depth: int, status: int) -> None:
    form = operator.get("/admin/domain/one/?key=206813").form("/change/")
    assert operator.send(form, cacheBehaviors="[" * depth + "]" * depth).status == status
    assert operator.get("/admin/audit/").status == 200


def test_long_value_is_truncated_in_the_audit_log(operator: Operator) -> None:
    operator.send(operator.get("/admin/domain/one/?key=206813").form("/change/"), cacheBehaviors=f'["{"x" * 9000}"]')
    page = operator.get("/admin/audit/")
    assert "xxx…" in page.text
    assert len(page.html) < 20_000
