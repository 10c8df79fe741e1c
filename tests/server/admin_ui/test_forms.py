"""What forms are protected by, and how they say no: nothing is changed, and nothing that was typed is lost."""

from pathlib import Path

import pytest

from cloudconsole.operator.entities import TENANTS
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.server.admin_ui.sessions import MAX_FORM
from cloudconsole.store.tables import accounts, operator_audit, quotas, resources, tenants, urls
from tests.harness import FORM, Caller, InProcess
from tests.server.admin_ui.pages import SIGN_IN, Operator
from tests.server.admin_ui.paths import GETS, POSTS
from tests.server.http.world import rows, stored_bytes
from tests.stores import opened

TOKEN = "csrfmiddlewaretoken"


def token_of(operator: Operator) -> str:
    return operator.get("/admin/").form("/sign-out/").fields[TOKEN]


def test_the_table_of_paths_is_whole(wire: InProcess) -> None:
    pages = wire.console._admin_ui
    assert pages is not None
    gets = {path for path, methods in pages.routes.items() if "GET" in methods}
    posts = {path for path, methods in pages.routes.items() if "POST" in methods}
    assert gets == {*GETS, "/admin/sign-in/"}
    assert posts == {*POSTS, "/admin/sign-in/"}


def test_a_form_of_too_many_fields_is_rejected(operator: Operator, stranger: Operator, data: Path) -> None:
    many = {f"field{number}": "" for number in range(64)}
    form = operator.get("/admin/tenant/add/").form("/add/")
    signing_in = stranger.get("/admin/").form(SIGN_IN)
    assert operator.post(form.action, form.filled(name="acme") | many).status == 400
    assert "acme" not in [row.name for row in rows(data, tenants)]
    credentials = signing_in.filled(username="operator", password="console-operator")
    assert stranger.post(SIGN_IN, credentials | many).status == 400


# Forgery


@pytest.mark.parametrize("path", POSTS)
def test_without_the_sessions_token_nothing_is_done(operator: Operator, data: Path, path: str) -> None:
    before = rows(data, operator_audit)
    for token in (None, "", "x" * 64, "é", "0" * 64):
        reply = operator.post(path, {"key": "demo", **({} if token is None else {TOKEN: token})})
        assert (reply.status, rows(data, operator_audit)) == (403, before)
    assert operator.get("/admin/").heading == "Overview"


@pytest.mark.parametrize("path", POSTS)
def test_a_foreign_page_does_nothing_even_with_the_token(operator: Operator, data: Path, path: str) -> None:
    before, token = rows(data, operator_audit), token_of(operator)
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec_Fetch_Site": "cross-site"}):
        reply = operator.post(path, {"key": "demo", TOKEN: token}, **headers)
        assert (reply.status, rows(data, operator_audit)) == (403, before)


def test_a_token_of_before_a_sign_in_shows_the_form_again(operator: Operator, data: Path) -> None:
    form = operator.get("/admin/tenant/add/").form("/add/")
    operator.caller.cookies.clear()
    operator.sign_in()
    page = operator.send(form, name="acme")
    assert (page.status, page.problems[0]) == (403, "Nothing was changed")
    assert "You signed in again" in page.problems[1]
    assert "acme" not in [row.name for row in rows(data, tenants)]
    again = operator.send(page.form("/add/"))
    assert again.heading == "Tenant acme"


def test_a_token_of_before_without_an_origin_is_refused(operator: Operator) -> None:
    old = token_of(operator)
    operator.caller.cookies.clear()
    operator.sign_in()
    body = f"{TOKEN}={old}&name=acme".encode()
    reply = operator.caller.send("POST", "/admin/tenant/add/", {"Content-Type": FORM}, body)
    assert reply.status == 403
    assert b"acme" not in reply.body


def test_an_old_form_of_a_change_keeps_what_was_typed(operator: Operator) -> None:
    form = operator.get("/admin/quota/one/?key=demo").form("/change/")
    operator.caller.cookies.clear()
    operator.sign_in()
    page = operator.send(form, cores="77")
    assert (page.status, page.form("/change/").fields["cores"]) == (403, "77")
    assert operator.send(page.form("/change/")).form("/change/").fields["cores"] == "77"


@pytest.mark.parametrize("verb", ["disable", "password"])
def test_an_old_form_of_a_deed_is_asked_again(operator: Operator, verb: str) -> None:
    form = operator.get(f"/admin/account/{verb}/?key=demo").form(f"/{verb}/")
    operator.caller.cookies.clear()
    operator.sign_in()
    page = operator.send(form)
    assert (page.status, "You signed in again" in page.text) == (403, True)
    assert page.form(f"/{verb}/").fields["key"] == "demo"


# What is refused before it is read


def test_what_is_no_form_is_refused(operator: Operator) -> None:
    reply = operator.caller.send("POST", "/admin/tenant/add/", {"Content-Type": "application/json"}, b"{}")
    assert reply.status == 415
    assert b"<h1>Unsupported media type</h1>" in reply.body


def test_a_form_may_be_long_and_not_too_long(operator: Operator) -> None:
    page = operator.get("/admin/domain/one/?key=206813")
    rules = "[" + ",".join(['"0123456789abcdef"'] * 20_000) + "]"
    assert operator.send(page.form("/change/"), cacheBehaviors=rules).status == 200
    reply = operator.post("/admin/domain/change/", {"x": "y" * MAX_FORM})
    assert (reply.status, b"<h1>Request too large</h1>" in reply.body) == (413, True)


def test_a_long_body_of_a_stranger_is_not_read(stranger: Operator) -> None:
    assert stranger.post("/admin/tenant/add/", {"x": "y" * MAX_FORM}).status == 303
    assert stranger.post("/admin/sign-in/", {"x": "y" * 70_000}).status == 413


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/admin/nothing/", 404), ("GET", "/admin/tenant/change/", 405), ("DELETE", "/admin/", 405)],
)
def test_refusals_are_pages(operator: Operator, method: str, path: str, status: int) -> None:
    reply = operator.caller.send(method, path)
    assert reply.status == status
    assert reply.header("content-type") == "text/html; charset=utf-8"
    assert (reply.header("x-request-id") or "-") in reply.body.decode()


@pytest.mark.parametrize("path", ["/admin", "/admin/tenant", "/admin/tenant/one", "/admin/sign-in", "/admin/audit"])
def test_a_path_without_its_slash_leads_to_the_one_with_it(operator: Operator, path: str) -> None:
    reply = operator.caller.send("GET", f"{path}?key=demo")
    assert (reply.status, reply.header("location")) == (308, f"{path}/?key=demo")


@pytest.mark.parametrize("path", [path for path in GETS if path.endswith("/one/")])
def test_what_is_not_there_is_not_found(operator: Operator, path: str) -> None:
    for key in ("", "no such", "价/格", "0" * 300):
        page = operator.get(f"{path}?key={key}")
        assert (page.status, page.heading) == (404, "Not found")


def test_a_store_that_cannot_be_written_is_told(operator: Operator, data: Path) -> None:
    form = operator.get("/admin/tenant/add/").form("/add/")
    with opened(data, "cloud") as engine, engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE tenants RENAME TO gone")
    page = operator.send(form, name="acme")
    assert (page.status, page.heading) == (503, "Service unavailable")
    assert "the audit log shows whether it was made" in page.text


# What the operators' layer refuses


def test_all_that_does_not_fit_is_said_at_its_field_and_in_a_summary(operator: Operator, data: Path) -> None:
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
    assert ("autofocus", "") in {pair for _, given in page.tags for pair in given.items()}


def test_a_refusal_that_may_be_overridden_offers_to(operator: Operator, data: Path) -> None:
    fields = {"id": "i-9", "tenant": "demo", "kind": "instance", "name": "big", "node": "hk-1", "vcpus": "999"}
    form = operator.get("/admin/resource/add/").form("/add/")
    assert "force" not in form.boxes
    page = operator.send(form, **fields, ram="1", started="2026-11-01T00:00")
    assert (page.status, "Over quota (cores: 13 of 64 in use, 999 more requested)" in page.problems) == (422, True)
    page = operator.send(page.form("/add/"), force=True)
    assert page.heading == "Resource i-9"
    assert rows(data, operator_audit)[-1].change == "resource.add (forced)"


def test_the_last_operator_can_be_removed_only_nevertheless(operator: Operator, data: Path) -> None:
    page = operator.send(operator.get("/admin/account/remove/?key=operator").form("/remove/"))
    assert (page.status, "the last operator who can log in" in page.text) == (422, True)
    page = operator.send(page.form("/remove/"), force=True)
    assert page.heading == "Sign in"
    assert "operator" not in [row.username for row in rows(data, accounts)]


def test_what_cannot_be_forced_is_not(operator: Operator, data: Path) -> None:
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
def test_a_password_that_cannot_be_taken_never_comes_back(
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


def test_a_password_is_nowhere_in_the_store_as_it_is(operator: Operator, data: Path, wire: InProcess) -> None:
    form = operator.get("/admin/account/password/?key=demo").form("/password/")
    operator.send(form, password="very-secret-word", password_again="very-secret-word")
    assert Caller(wire).login(password="very-secret-word").status == 200
    assert b"very-secret-word" not in stored_bytes(data)


def test_a_wrong_address_is_said_at_its_field(operator: Operator) -> None:
    form = operator.get("/admin/account/clear-throttle/?key=demo").form("/clear-throttle/")
    page = operator.send(form, address="here")
    assert page.form("/clear-throttle/").problems == {"address": "must be an IP address, such as 192.0.2.1"}


# Changed meanwhile


def rename(data: Path, key: str, name: str) -> None:
    with opened(data, "cloud") as engine, operator_transaction(engine, actor="root", now=1) as desk:
        TENANTS.change(desk, key, {"name": name})


def test_a_form_of_what_was_changed_meanwhile_changes_nothing(operator: Operator, data: Path) -> None:
    form = operator.get("/admin/quota/one/?key=demo").form("/change/")
    other = Operator(operator.wire)
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


def test_what_was_renamed_meanwhile_is_not_there(operator: Operator, data: Path) -> None:
    form = operator.get("/admin/tenant/one/?key=other").form("/change/")
    rename(data, "other", "another")
    page = operator.send(form, name="third")
    assert (page.status, "There is no tenant other" in page.text) == (404, True)


def test_only_what_was_typed_otherwise_is_changed(operator: Operator, data: Path) -> None:
    lines = len(rows(data, operator_audit))
    page = operator.send(operator.get("/admin/domain/one/?key=206814").form("/change/"))
    assert "nothing to change" in page.text
    assert len(rows(data, operator_audit)) == lines


def test_a_time_that_is_left_alone_stays_exact(operator: Operator, data: Path) -> None:
    before = {row.id: row for row in rows(data, resources)}
    form = operator.get("/admin/news/one/?key=1").form("/change/")
    assert form.fields["date"] == "2025-03-03T02:00"
    operator.send(form, title="Another")
    page = operator.get("/admin/news/one/?key=1")
    assert page.form("/change/").fields["date"] == "2025-03-03T02:00"
    assert {row.id: row for row in rows(data, resources)} == before


@pytest.mark.parametrize("verb", ["add", "change"])
def test_what_is_not_overridable_is_not_noted_as_forced(operator: Operator, data: Path, verb: str) -> None:
    path = "/admin/node/add/" if verb == "add" else "/admin/node/one/?key=hk-1"
    form = operator.get(path).form(f"/{verb}/")
    operator.post(form.action, {**form.filled(name="hk-9"), "force": "on"})
    assert rows(data, operator_audit)[-1].change == f"node.{verb}"


def test_a_field_that_was_not_sent_stays_as_it_is(operator: Operator, data: Path) -> None:
    form = operator.get("/admin/url/one/?key=url-d3m0l1nk").form("/change/")
    sent = form.filled(url="https://other.example/")
    del sent["tenant"]
    assert operator.post(form.action, sent).status == 303
    (changed,) = [row for row in rows(data, urls) if row.id == "url-d3m0l1nk"]
    assert (changed.url, changed.tenant_id is None) == ("https://other.example/", False)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 101 + "]" * 101, "must not be nested deeper than 100 levels"),
        ("[" * 980 + "]" * 980, "must not be nested deeper than 100 levels"),
        # The parser of some versions of Python rejects this depth, that of others leaves it to our own limit.
        ("[" * 5000 + "]" * 5000, "must "),
        ("[1e99999999999999999999]", "must be JSON"),
    ],
)
def test_json_that_nothing_could_print_is_refused(operator: Operator, text: str, words: str) -> None:
    page = operator.send(operator.get("/admin/domain/one/?key=206813").form("/change/"), cacheBehaviors=text)
    assert page.status == 422
    assert words in page.form("/change/").problems["cacheBehaviors"]


def test_json_of_the_greatest_depth_is_taken(operator: Operator) -> None:
    form = operator.get("/admin/domain/one/?key=206813").form("/change/")
    assert operator.send(form, cacheBehaviors="[" * 99 + "1" + "]" * 99).status == 200
    assert operator.get("/admin/audit/").status == 200


def test_a_long_value_is_cut_in_the_trail(operator: Operator) -> None:
    operator.send(operator.get("/admin/domain/one/?key=206813").form("/change/"), cacheBehaviors=f'["{"x" * 9000}"]')
    page = operator.get("/admin/audit/")
    assert "xxx…" in page.text
    assert len(page.html) < 20_000
