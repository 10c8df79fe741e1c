"""Pages: escaping, structure, pagination, filters and the audit log."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlencode

import pytest
from sqlalchemy import insert, update

from cloudconsole.operator.entities import ENTITY_TYPES, QUOTAS, RESOURCES, EntityType
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.server.admin_ui.templating import MAX_QUERY, parse_query
from cloudconsole.server.app import Console
from cloudconsole.server.http.request import Headers, Request
from cloudconsole.store import sql, tables
from tests.harness import FakeClock, InProcessTransport
from tests.server.admin_ui.pages import GETS, Operator, Page
from tests.server.http.helpers import rows
from tests.stores import copy_store, opened, settings_for

HOSTILE = "</textarea></title>\"'><script>alert(1)</script>{{7*7}}\u202e"
HOSTILE_COLUMNS = [
    (tables.news, ("title", "url")),
    (tables.urls, ("url",)),
    (tables.domains, ("name", "comment", "cname", "status", "origin_domain_name")),
    (tables.resources, ("name",)),
]


@pytest.fixture(scope="module")
def every_page(fast_hash_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Page]]:
    """All pages of a cloud with hostile texts wherever possible."""
    data = copy_store(fast_hash_store, tmp_path_factory.mktemp("hostile") / "data")
    with opened(data, "cloud") as engine, engine.begin() as connection:
        for table, columns in HOSTILE_COLUMNS:
            connection.execute(update(table).values(dict.fromkeys(columns, HOSTILE + "x")))
        entry = {"at": 1, "actor": HOSTILE, "change": HOSTILE, "subject": HOSTILE, "before": None, "after": "{}"}
        connection.execute(insert(tables.operator_audit).values(**entry))
    transport = InProcessTransport(Console(settings_for(data), FakeClock(1_794_744_000)))
    operator = Operator(transport)
    operator.sign_in()
    keys = {entity.name: next(iter(keys_on(operator.get(f"/admin/{entity.name}/")))) for entity in ENTITY_TYPES}
    yield {path: operator.get(f"{path}?{urlencode({'key': keys.get(path.split('/')[2], '')})}") for path in GETS}
    transport.close()


def keys_on(page: Page) -> list[str]:
    """Return the keys of the listed entities."""
    heads = [cell for cell in page.root.iter("th") if cell.get("scope") == "row"]
    links = [link.get("href", "") for head in heads for link in head.iter("a")]
    return [parse_qs(link.partition("?")[2])["key"][0] for link in links]


@pytest.mark.parametrize("path", GETS)
def test_no_text_becomes_markup(every_page: dict[str, Page], path: str) -> None:
    page = every_page[path]
    assert page.status == 200
    scripts = [attrs.get("src", "") for tag, attrs in page.tags if tag == "script"]
    assert all(source.startswith("/web/") for source in scripts)
    assert "alert(1)" not in page.html or "&lt;script&gt;alert(1)" in page.html
    assert "<script>alert" not in page.html
    attributes = [name for _, attrs in page.tags for name in attrs]
    assert not [name for name in attributes if name == "style" or name.startswith("on")]


@pytest.mark.parametrize("path", GETS)
def test_page_structure_is_accessible(every_page: dict[str, Page], path: str) -> None:
    page = every_page[path]
    assert page.heading
    labelled = {attrs.get("for") for tag, attrs in page.tags if tag == "label"}
    for tag, attrs in page.tags:
        if tag in ("select", "textarea") or (tag == "input" and "hidden" not in (attrs.get("type"), *attrs)):
            assert attrs["id"] in labelled, attrs
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    described = {each for _, attrs in page.tags for each in attrs.get("aria-describedby", "").split()}
    assert described <= set(ids)


@pytest.mark.parametrize("path", GETS)
def test_pages_are_not_cached_and_load_no_foreign_content(every_page: dict[str, Page], path: str) -> None:
    reply = every_page[path].reply
    assert reply.header("cache-control") == "no-store"
    assert reply.header("content-encoding") is None
    policy = reply.header("content-security-policy") or ""
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "require-trusted-types-for 'script'" in policy


def test_hostile_name_is_shown_as_text(every_page: dict[str, Page]) -> None:
    page = every_page["/admin/resource/"]
    assert "</textarea></title>\"'><script>alert(1)</script>{{7*7}}\\u202e" in page.text
    form = every_page["/admin/resource/one/"].form("/change/")
    assert form.fields["name"] == HOSTILE + "x"


def test_list_links_to_the_page_of_any_key(operator: Operator) -> None:
    names = ["a/b", "价格 100%", "?key=x&b=#c", "..", "a+b c"]
    for name in names:
        operator.send(operator.get("/admin/tenant/add/").form("/add/"), name=name)
    links = operator.get("/admin/tenant/").links
    for name in names:
        query = urlencode({"key": name})
        assert links.count(f"/admin/tenant/one/?{query}") == 1
        assert operator.get(f"/admin/tenant/one/?{query}").form("/change/").fields["name"] == name
        assert operator.send(operator.get(f"/admin/tenant/remove/?{query}").form("/remove/")).status == 200


@pytest.fixture(params=[1, 10_000], ids=["many matches", "few matches"])
def search_strategy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each search with both query strategies, regardless of the number of matches."""
    monkeypatch.setattr(sql, "_MANY", request.param)


@pytest.fixture
def many_resources(data: Path) -> list[str]:
    """Add 120 resources with the same name; return their ids in order."""
    row = {
        "tenant_id": 1, "kind": "keypair", "name": "same", "node_id": None,
        "vcpus": 0, "ram_mb": 0, "disk_gb": 0, "size_gb": 0, "started_at": 1, "ended_at": None,
    }  # fmt: skip
    ids = [f"x-{number:03}" for number in range(120)]
    with opened(data, "cloud") as engine, engine.begin() as connection:
        connection.execute(insert(tables.resources), [{**row, "id": each} for each in ids])
    return ids


def test_pagination_lists_every_resource_once(operator: Operator, many_resources: list[str]) -> None:
    for query in ("search=same", "search=X-", "kind=keypair&search=same", "tenant=demo&search=x-&running=on"):
        page = operator.get(f"/admin/resource/?{query}")
        found = keys_on(page)
        for _ in range(2):
            (following,) = next_pages(page)
            page = operator.get(following)
            found += keys_on(page)
        assert (found, next_pages(page)) == (many_resources, [])
        for start in (50, 0):
            (previous,) = next_pages(page, "prev")
            page = operator.get(previous)
            assert keys_on(page) == many_resources[start : start + 50]
            assert len(next_pages(page)) == 1
        assert next_pages(page, "prev") == []


def next_pages(page: Page, relation: str = "next") -> list[str]:
    return [attrs["href"] for tag, attrs in page.tags if tag == "a" and attrs.get("rel") == relation]


@pytest.mark.parametrize("entity", ENTITY_TYPES, ids=lambda entity: entity.name)
def test_every_filter_can_be_set_and_stays_set(operator: Operator, entity: EntityType) -> None:
    known = {"tenant": "demo", "node": "hk-1", "project": "p@https://id.example.com"}
    for name, each in entity.filters().items():
        if name == "prefix":
            continue
        form = operator.get(f"/admin/{entity.name}/").forms[1]
        value = each.choices[0] if each.choices else known.get(name, "d")
        filled = form.filled(**{name: True if each.is_switch else value})
        page = operator.get(f"/admin/{entity.name}/?{urlencode(filled)}")
        assert page.status == 200
        assert page.forms[1].fields[name] == ("on" if each.is_switch else value)


def test_page_after_a_removed_key_is_reported(operator: Operator) -> None:
    page = operator.get("/admin/price/?after=volume/gb/2020-01-01T00:00:00Z")
    assert (page.status, "there is no price" in page.text.lower()) == (422, True)


def test_states_are_shown(operator: Operator) -> None:
    form = operator.get("/admin/news/add/").form("/add/")
    operator.send(form, title="T", url="https://n.example/", date="2027-01-01T00:00")
    assert "scheduled" in operator.get("/admin/news/").text
    assert "disabled" in operator.get("/admin/domain/").text
    assert "ended" in operator.get("/admin/resource/one/?key=i-d0000005").text


def test_ended_resource_cannot_be_changed(operator: Operator) -> None:
    page = operator.get("/admin/resource/one/?key=i-d0000005")
    assert [form.action for form in page.forms] == ["/admin/sign-out/"]
    assert not [each for each in page.links if "/end/" in each]


def test_times_are_entered_and_shown_in_the_console_time_zone(operator_in_shanghai: Operator, data: Path) -> None:
    operator = operator_in_shanghai
    form = operator.get("/admin/news/one/?key=1").form("/change/")
    assert form.fields["date"] == "2025-03-03T10:00"
    page = operator.send(form, date="2026-01-31T08:00:07")
    assert page.form("/change/").fields["date"] == "2026-01-31T08:00:07"
    assert "(Asia/Shanghai)" in page.text
    (news,) = [row for row in rows(data, tables.news) if row.id == 1]
    assert news.published_at == 1_769_817_607
    assert "2026-01-31 08:00:07 +08:00" in operator.get("/admin/news/").text
    assert "Date: 2025-03-03 10:00:00 +08:00 → 2026-01-31 08:00:07 +08:00" in operator.get("/admin/audit/").text


@pytest.mark.parametrize(
    ("field", "text", "problem"),
    [
        ("cacheBehaviors", '[\n  {"a": 1},\n  {"b" 2}\n]', "must be JSON; line 3, column 8: expecting ':' delimiter"),
        ("cacheBehaviors", '{"a": 1}', "must be a list"),
        ("visitControlRules", '["\ud83d\ude00", x]', "must be JSON; line 1, column 7: expecting value"),
        ("visitControlRules", "[NaN]", "must be JSON"),
        ("visitControlRules", "[1e99999999999999999999]", "must be JSON"),
        ("visitControlRules", "[" * 101 + "]" * 101, "must not be nested deeper than 100 levels"),
        ("visitControlRules", '["\\ud800"]', "must be JSON"),
        ("visitControlRules", "[" * 100_000, "must be JSON"),
        ("originConfig__originIps", "192.0.2.1\nhere", "line 2: must be an IP address, such as 192.0.2.1"),
        ("originConfig__originDomainName", "a\u200bb", "contains the invisible character U+200B: remove it"),
    ],
)
def test_problem_in_a_structured_field_is_located(operator: Operator, field: str, text: str, problem: str) -> None:
    text = text.encode("utf-16", "surrogatepass").decode("utf-16")
    page = operator.send(operator.get("/admin/domain/one/?key=206813").form("/change/"), **{field: text})
    name = field.replace("__", ".")
    assert (page.status, page.form("/change/").problems) == (422, {name: problem})
    assert page.form("/change/").fields[name].strip() == text.strip()


def test_news_preview_shows_tenant_view_without_saving(operator: Operator, data: Path) -> None:
    before = rows(data, tables.news), rows(data, tables.operator_audit)
    form = operator.get("/admin/news/add/").form("/add/")
    page = operator.send(form, title="<b>A & B</b>", url="https://n.example/", date="2027-01-01T10:00", preview=True)
    assert page.status == 200
    assert "This is how tenants will see the item." in page.text
    assert "2027-01-01 10:00:00 <b>A & B</b>" in page.text
    assert (rows(data, tables.news), rows(data, tables.operator_audit)) == before
    page = operator.send(page.form("/add/"))
    assert page.heading.startswith("News item 11: ")


def test_preview_of_pinned_news_shows_the_banner(operator: Operator) -> None:
    form = operator.get("/admin/news/add/").form("/add/")
    values: dict[str, str | bool] = {"title": "Maintenance", "url": "https://n.example/", "preview": True}
    assert operator.send(form, **values).text.count("Maintenance") == 1
    text = operator.send(form, **values, pinned=True).text
    assert text.index("until they dismiss it: Maintenance") < text.index("In the list of news:")


def test_preview_of_a_change_is_not_saved(operator: Operator, data: Path) -> None:
    before = rows(data, tables.news)
    page = operator.send(operator.get("/admin/news/one/?key=1").form("/change/"), title="Other", preview=True)
    assert "It is not saved yet." in page.text
    assert rows(data, tables.news) == before
    assert operator.send(page.form("/change/")).form("/change/").fields["title"] == "Other"


def test_preview_of_invalid_news_is_rejected(operator: Operator) -> None:
    page = operator.send(operator.get("/admin/news/add/").form("/add/"), title="T", url="ftp://x", preview=True)
    assert (page.status, list(page.form("/add/").problems)) == (422, ["url"])


def test_quotas_show_usage_and_unlimited(operator: Operator) -> None:
    page = operator.send(operator.get("/admin/quota/one/?key=demo").form("/change/"), cores__unlimited=True)
    assert "13 in use" in page.text
    form = page.form("/change/")
    assert (form.fields["cores"], form.fields["cores.unlimited"]) == ("", "on")
    assert "unlimited" in operator.get("/admin/quota/").text
    page = operator.send(form, cores__unlimited=False, cores="7")
    assert page.form("/change/").fields["cores"] == "7"


@pytest.mark.parametrize(
    ("limit", "note"),
    [
        ("-1", "13 in use"),
        ("17", "13 in use"),
        ("16", "13 in use: nearly used up"),
        ("13", "13 in use: used up"),
        ("12", "13 in use: over quota"),
    ],
)
def test_quota_editor_marks_what_is_nearly_used_up(operator: Operator, data: Path, limit: str, note: str) -> None:
    with opened(data, "cloud") as engine, operator_transaction(engine, actor="a", now=0, force=True) as transaction:
        QUOTAS.change(transaction, "demo", {"cores": int(limit)})
    page = operator.get("/admin/quota/one/?key=demo")
    (found,) = [element for element in page.root.iter() if element.get("id") == "field-cores-note"]
    assert (found.text, "conflict" in found.get("class", "")) == (note, ":" in note)


@pytest.mark.usefixtures("search_strategy")
def test_audit_log_can_be_searched_and_paged(operator: Operator, data: Path) -> None:
    with opened(data, "cloud") as engine:
        for number in range(60):
            with operator_transaction(engine, actor="root", now=1_700_000_000 + number) as transaction:
                RESOURCES.change(transaction, "v-d0000001", {"name": f"name {number}"})
    for query, count in {
        "actor=root": 50,
        "actor=nobody": 0,
        "change=resource.": 50,
        "change=load": 1,
        "subject=v-d0000001": 50,
        "subject=v-d0000001&since=2023-11-14T22:14:00": 20,
        "until=2023-11-14T22:13:30": 10,
        "since=2023-11-14T22:13:25&until=2023-11-14T22:13:30": 5,
        "log=access": 1,
        "log=access&actor=operator&event=operator_login": 1,
        "log=access&event=login": 0,
        "log=access&event=failed": 0,
        "log=access&address=127.": 1,
        "log=access&address=27.": 0,
        "log=access&actor=demo": 0,
        "log=access&tenant=provider": 1,
        "log=access&tenant=provider&actor=demo": 0,
        "log=access&tenant=demo": 0,
    }.items():
        assert entries_on(operator.get(f"/admin/audit/?{query}")) == count, query
    page = operator.get("/admin/audit/?subject=v-d0000001")
    assert "Name: name 58 → name 59" in page.text
    (following,) = next_pages(page)
    page = operator.get(following)
    assert (entries_on(page), "Name: name 8 → name 9" in page.text) == (10, True)
    (previous,) = next_pages(page, "prev")
    page = operator.get(previous)
    assert (entries_on(page), "Name: name 58 → name 59" in page.text, next_pages(page, "prev")) == (50, True, [])
    assert len(next_pages(page)) == 1


def test_failed_sign_ins_are_found_and_lead_to_their_accounts(operator: Operator, anonymous: Operator) -> None:
    for username in ("operator", "nobody"):
        assert anonymous.sign_in(username, "wrong password").status == 401
    assert entries_on(operator.get("/admin/audit/?log=access")) == 3
    page = operator.get("/admin/audit/?log=access&event=failed")
    assert entries_on(page) == entries_on(operator.get("/admin/audit/?log=access&event=operator_login_refused")) == 2
    assert page.html.count("badge danger") == 2
    assert "unknown account" in page.text
    for path in ("account/one/?key=operator", "tenant/one/?key=provider"):
        assert page.links.count(f"/admin/{path}") == 1
    (address,) = {link for link in page.links if "address=" in link}
    assert entries_on(operator.get(address)) == 2


def entries_on(page: Page) -> int:
    assert page.status == 200
    return max(0, sum(tag == "tr" for tag, _ in page.tags) - 1)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("resource/?tenant=nobody", {"tenant": "there is no tenant nobody"}),
        ("audit/?since=yesterday", {"since": "must be a time, such as 2026-01-31T08:00:00Z"}),
        ("audit/?log=access&tenant=nobody", {"tenant": "there is no tenant nobody"}),
        ("audit/?log=access&event=operator_", {"event": "is unknown: choose one from the list"}),
    ],
)
def test_invalid_search_is_explained(operator: Operator, path: str, problem: dict[str, str]) -> None:
    page = operator.get(f"/admin/{path}")
    assert (page.status, page.problems[0], page.forms[1].problems) == (422, "Search failed", problem)


def read(query: bytes) -> dict[str, str]:
    return parse_query(Request(Headers([]), "GET", "/admin/tenant/", query))


@pytest.mark.parametrize("name", [b"caf\xe9", b"caf%e9", b"caf\xff", b"caf%ff"])
def test_invalid_utf8_is_replaced(name: bytes) -> None:
    assert read(b"name=" + name + b"&after=5") == {"name": "caf\ufffd", "after": "5"}


@pytest.mark.parametrize("long", ["云" * 4000, "%e4%ba%91" * 1000, "x" * MAX_QUERY])
def test_fields_beyond_the_length_limit_are_dropped(long: str) -> None:
    assert read(f"name=a&after={long}".encode()) == {"name": "a"}
