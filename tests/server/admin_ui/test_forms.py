"""Form protection and validation: a rejected form changes nothing and keeps the typed values."""

from pathlib import Path

import pytest

from cloudconsole.operator.entities import TENANTS
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.server.admin_ui.sessions import MAX_FORM
from cloudconsole.store.tables import accounts, operator_audit, quotas, resources, tenants, urls
from tests.harness import FORM, ApiClient, InProcessTransport
from tests.server.admin_ui.pages import SIGN_IN, Operator
from tests.server.admin_ui.paths import GETS, POSTS
from tests.server.http.helpers import rows, stored_bytes
from tests.stores import opened

TOKEN = "csrfmiddlewaretoken"


def token_of(operator: Operator) -> str:
    return operator.get("/admin/").form("/sign-out/").fields[TOKEN]


def test_path_lists_match_the_routes(transport: InProcessTransport) -> None:
    pages = transport.console._admin_ui
    assert pages is not None
    gets = {path for path, methods in pages.routes.items() if "GET" in methods}
    posts = {path for path, methods in pages.routes.items() if "POST" in methods}
    assert gets == {*GETS, "/admin/sign-in/"}
    assert posts == {*POSTS, "/admin/sign-in/"}


def test_a_form_of_too_many_fields_is_rejected(operator: Operator, anonymous: Operator, data: Path) -> None:
    many = {f"field{number}": "" for number in range(64)}
    form = operator.get("/admin/tenant/add/").form("/add/")
    sign_in = anonymous.get("/admin/").form(SIGN_IN)
    assert operator.post(form.action, form.filled(name="acme") | many).status == 400
    assert "acme" not in [row.name for row in rows(data, tenants)]
    credentials = sign_in.filled(username="operator", password="console-operator")
    assert anonymous.post(SIGN_IN, credentials | many).status == 400


# Cross-site request forgery


@pytest.mark.parametrize("path", POSTS)
def test_invalid_csrf_token_changes_nothing(operator: Operator, data: Path, path: str) -> None:
    before = rows(data, operator_audit)
    for token in (None, "", "x" * 64, "é", "0" * 64):
        reply = operator.post(path, {"key": "demo", **({} if token is None else {TOKEN: token})})
        assert (reply.status, rows(data, operator_audit)) == (403, before)
    assert operator.get("/admin/").heading == "Overview"


@pytest.mark.parametrize("path", POSTS)
def test_cross_origin_form_is_rejected_even_with_token(operator: Operator, data: Path, path: str) -> None:
    before, token = rows(data, operator_audit), token_of(operator)
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec_Fetch_Site": "cross-site"}):
        reply = operator.post(path, {"key": "demo", TOKEN: token}, **headers)
        assert (reply.status, rows(data, operator_audit)) == (403, before)


def test_token_of_previous_session_shows_the_form_again(operator: Operator, data: Path) -> None:
    form = operator.get("/admin/tenant/add/").form("/add/")
    operator.client.cookies.clear()
    operator.sign_in()
    page = operator.send(form, name="acme")
    assert (page.status, page.problems[0]) == (403, "Nothing was changed")
    assert "You signed in again" in page.problems[1]
    assert "acme" not in [row.name for row in rows(data, tenants)]
    again = operator.send(page.form("/add/"))
    assert again.heading == "Tenant acme"


def test_token_of_previous_session_without_origin_is_rejected(operator: Operator) -> None:
    old = token_of(operator)
    operator.client.cookies.clear()
    operator.sign_in()
    body = f"{TOKEN}={old}&name=acme".encode()
    reply = operator.client.send("POST", "/admin/tenant/add/", {"Content-Type": FORM}, body)
    assert reply.status == 403
    assert b"acme" not in reply.body


def test_stale_edit_form_keeps_typed_values(operator: Operator) -> None:
    form = operator.get("/admin/quota/one/?key=demo").form("/change/")
    operator.client.cookies.clear()
    operator.sign_in()
    page = operator.send(form, cores="77")
    assert (page.status, page.form("/change/").fields["cores"]) == (403, "77")
    assert operator.send(page.form("/change/")).form("/change/").fields["cores"] == "77"


@pytest.mark.parametrize("verb", ["disable", "password"])
def test_stale_confirmation_form_is_shown_again(operator: Operator, verb: str) -> None:
    form = operator.get(f"/admin/account/{verb}/?key=demo").form(f"/{verb}/")
    operator.client.cookies.clear()
    operator.sign_in()
    page = operator.send(form)
    assert (page.status, "You signed in again" in page.text) == (403, True)
    assert page.form(f"/{verb}/").fields["key"] == "demo"


# Requests rejected before the form is parsed


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
    assert anonymous.post("/admin/sign-in/", {"x": "y" * 70_000}).status == 413


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/admin/nothing/", 404), ("GET", "/admin/tenant/change/", 405), ("DELETE", "/admin/", 405)],
)
def test_errors_are_html_pages(operator: Operator, method: str, path: str, status: int) -> None:
    reply = operator.client.send(method, path)
    assert reply.status == status
    assert reply.header("content-type") == "text/html; charset=utf-8"
    assert (reply.header("x-request-id") or "-") in reply.body.decode()


@pytest.mark.parametrize("path", ["/admin", "/admin/tenant", "/admin/tenant/one", "/admin/sign-in", "/admin/audit"])
def test_path_without_trailing_slash_redirects(operator: Operator, path: str) -> None:
    reply = operator.client.send("GET", f"{path}?key=demo")
    assert (reply.status, reply.header("location")) == (308, f"{path}/?key=demo")


@pytest.mark.parametrize("path", [path for path in GETS if path.endswith("/one/")])
def test_unknown_key_is_not_found(operator: Operator, path: str) -> None:
    for key in ("", "no such", "价/格", "0" * 300):
        page = operator.get(f"{path}?key={key}")
        assert (page.status, page.heading) == (404, "Not found")


def test_failed_write_shows_service_unavailable(operator: Operator, data: Path) -> None:
    form = operator.get("/admin/tenant/add/").form("/add/")
    with opened(data, "cloud") as engine, engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE tenants RENAME TO gone")
    page = operator.send(form, name="acme")
    assert (page.status, page.heading) == (503, "Service unavailable")
    assert "the audit log shows whether it was made" in page.text


# Validation


def test_all_problems_appear_at_fields_and_in_summary(operator: Operator, data: Path) -> None:
    form = operator.get("/admin/flavor/add/").form("/add/")
    page = operator.send(form, id="x", name="", vcpus="two", ram="0", disk="99999999999999999999")
    assert page.status == 422
    form = page.form("/add/")
    assert form.fields | {TOKEN: ""} == {
        TOKEN: "", "id": "x", "name": "", "vcpus": "two", "ram": "0", "disk": "99999999999999999999",
    }  # fmt: skip
    assert form.problems == {
        "id": "must be 1 to 64 digits",
        "name": "is missing",
        "vcpus": "must be a whole number",
        "ram": "must be at least 1",
        "disk": "must be at most 2147483647",
    }
    assert page.problems == [
        "Nothing was changed: 5 problems",
        "Id: must be 1 to 64 digits",
        "Name: is missing",
        "vCPUs: must be a whole number",
        "RAM: must be at least 1",
        "Disk: must be at most 2147483647",
    ]
    assert ("autofocus", "") in {pair for _, attrs in page.tags for pair in attrs.items()}


def test_overridable_rejection_offers_force(operator: Operator, data: Path) -> None:
    fields = {"id": "i-9", "tenant": "demo", "kind": "instance", "name": "big", "node": "hk-1", "vcpus": "999"}
    form = operator.get("/admin/resource/add/").form("/add/")
    assert "force" not in form.boxes
    page = operator.send(form, **fields, ram="1", started="2026-11-01T00:00")
    assert (page.status, "Over quota (cores: 13 of 64 in use, 999 more requested)" in page.problems) == (422, True)
    page = operator.send(page.form("/add/"), force=True)
    assert page.heading == "Resource i-9"
    assert rows(data, operator_audit)[-1].change == "resource.add (forced)"


def test_last_operator_can_only_be_removed_with_force(operator: Operator, data: Path) -> None:
    page = operator.send(operator.get("/admin/account/remove/?key=operator").form("/remove/"))
    assert (page.status, "the last operator who can log in" in page.text) == (422, True)
    page = operator.send(page.form("/remove/"), force=True)
    assert page.heading == "Sign in"
    assert "operator" not in [row.username for row in rows(data, accounts)]


def test_force_does_not_override_other_rejections(operator: Operator, data: Path) -> None:
    form = operator.get("/admin/tenant/remove/?key=demo").form("/remove/")
    reply = operator.post(form.action, {**form.fields, "force": "on"})
    assert reply.status == 422
    assert b"cannot be removed" in reply.body


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"password": "", "password_again": ""}, {"password": "a password must have 8 to 1024 characters"}),
        ({"password": "x" * 1025, "password_again": ""}, {"password": "a password must have 8 to 1024 characters"}),
        ({"password": "a secret", "password_again": "another"}, {"password_again": "differs from the password"}),
    ],
    ids=["empty", "long", "different"],
)
def test_rejected_password_is_never_sent_back(
    operator: Operator, data: Path, fields: dict[str, str], problem: dict[str, str]
) -> None:
    before = rows(data, accounts)
    page = operator.send(operator.get("/admin/account/password/?key=demo").form("/password/"), **fields)
    assert (page.status, page.form("/password/").problems) == (422, problem)
    assert not fields["password"] or fields["password"] not in page.html
    page = operator.send(operator.get("/admin/account/add/").form("/add/"), username="ann", tenant="demo", **fields)
    assert (page.status, page.form("/add/").problems) == (422, problem)
    assert not fields["password"] or fields["password"] not in page.html
    assert rows(data, accounts) == before


def test_password_is_not_stored_in_plain_text(operator: Operator, data: Path, transport: InProcessTransport) -> None:
    form = operator.get("/admin/account/password/?key=demo").form("/password/")
    operator.send(form, password="very-secret-word", password_again="very-secret-word")
    assert ApiClient(transport).login(password="very-secret-word").status == 200
    assert b"very-secret-word" not in stored_bytes(data)


def test_invalid_address_is_reported_at_its_field(operator: Operator) -> None:
    form = operator.get("/admin/account/clear-throttle/?key=demo").form("/clear-throttle/")
    page = operator.send(form, address="here")
    assert page.form("/clear-throttle/").problems == {"address": "must be an IP address, such as 192.0.2.1"}


# Concurrent changes


def rename(data: Path, key: str, name: str) -> None:
    with opened(data, "cloud") as engine, operator_transaction(engine, actor="root", now=1) as transaction:
        TENANTS.change(transaction, key, {"name": name})


def test_edit_conflict_changes_nothing_and_shows_current_values(operator: Operator, data: Path) -> None:
    form = operator.get("/admin/quota/one/?key=demo").form("/change/")
    other = Operator(operator.transport)
    other.sign_in()
    other.send(other.get("/admin/quota/one/?key=demo").form("/change/"), cores="70", ram="5")
    page = operator.send(form, cores="80", volumes="9")
    assert page.status == 409
    assert "/admin/audit/?subject=demo&change=quota." in page.links
    again = page.form("/change/")
    assert (again.fields["cores"], again.fields["volumes"], again.fields["ram"]) == ("80", "9", "5")
    assert "Current value: 70" in page.text
    assert {row.cores for row in rows(data, quotas)} >= {70}
    operator.send(again)
    (demo,) = [row for row in rows(data, quotas) if row.cores == 80]
    assert (demo.volumes, demo.ram) == (9, 5)


def test_entity_renamed_meanwhile_is_not_found(operator: Operator, data: Path) -> None:
    form = operator.get("/admin/tenant/one/?key=other").form("/change/")
    rename(data, "other", "another")
    page = operator.send(form, name="third")
    assert (page.status, "There is no tenant other" in page.text) == (404, True)


def test_unchanged_form_changes_nothing(operator: Operator, data: Path) -> None:
    entries = len(rows(data, operator_audit))
    page = operator.send(operator.get("/admin/domain/one/?key=206814").form("/change/"))
    assert "nothing to change" in page.text
    assert len(rows(data, operator_audit)) == entries


def test_untouched_time_stays_exact(operator: Operator, data: Path) -> None:
    before = {row.id: row for row in rows(data, resources)}
    form = operator.get("/admin/news/one/?key=1").form("/change/")
    assert form.fields["date"] == "2025-03-03T02:00"
    operator.send(form, title="Another")
    page = operator.get("/admin/news/one/?key=1")
    assert page.form("/change/").fields["date"] == "2025-03-03T02:00"
    assert {row.id: row for row in rows(data, resources)} == before


@pytest.mark.parametrize("verb", ["add", "change"])
def test_needless_force_is_not_audited(operator: Operator, data: Path, verb: str) -> None:
    path = "/admin/node/add/" if verb == "add" else "/admin/node/one/?key=hk-1"
    form = operator.get(path).form(f"/{verb}/")
    operator.post(form.action, {**form.filled(name="hk-9"), "force": "on"})
    assert rows(data, operator_audit)[-1].change == f"node.{verb}"


def test_omitted_field_keeps_its_value(operator: Operator, data: Path) -> None:
    form = operator.get("/admin/url/one/?key=url-d3m0l1nk").form("/change/")
    sent = form.filled(url="https://other.example/")
    del sent["tenant"]
    assert operator.post(form.action, sent).status == 303
    (changed,) = [row for row in rows(data, urls) if row.id == "url-d3m0l1nk"]
    assert (changed.url, changed.tenant_id is None) == ("https://other.example/", False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 101 + "]" * 101, "must not be nested deeper than 100 levels"),
        ("[" * 980 + "]" * 980, "must not be nested deeper than 100 levels"),
        # Some Python versions reject this depth while parsing, others leave it to our limit.
        ("[" * 5000 + "]" * 5000, "must "),
        ("[1e99999999999999999999]", "must be JSON"),
    ],
)
def test_json_too_deep_or_too_large_is_rejected(operator: Operator, text: str, message: str) -> None:
    page = operator.send(operator.get("/admin/domain/one/?key=206813").form("/change/"), cacheBehaviors=text)
    assert page.status == 422
    assert message in page.form("/change/").problems["cacheBehaviors"]


def test_json_of_maximum_depth_is_accepted(operator: Operator) -> None:
    form = operator.get("/admin/domain/one/?key=206813").form("/change/")
    assert operator.send(form, cacheBehaviors="[" * 99 + "1" + "]" * 99).status == 200
    assert operator.get("/admin/audit/").status == 200


def test_long_value_is_truncated_in_the_audit_log(operator: Operator) -> None:
    operator.send(operator.get("/admin/domain/one/?key=206813").form("/change/"), cacheBehaviors=f'["{"x" * 9000}"]')
    page = operator.get("/admin/audit/")
    assert "xxx…" in page.text
    assert len(page.html) < 20_000
