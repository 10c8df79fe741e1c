"""What the pages show: every value as text, lists by the page, trails by every filter, and what tenants see of it."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from sqlalchemy import insert, update

from cloudconsole.operator.entities import ENTITY_TYPES, RESOURCES, EntityType
from cloudconsole.operator.transaction import operator_transaction
from cloudconsole.server.app import Console
from cloudconsole.store import sql, tables
from tests.harness import Caller, HeldClock, InProcess
from tests.server.admin_ui.pages import Operator, Page
from tests.server.admin_ui.paths import GETS
from tests.server.http.world import rows
from tests.stores import copy_store, opened, settings_over

HOSTILE = "</textarea></title>\"'><script>alert(1)</script>{{7*7}}\u202e"
FIRST_KEYS = {
    "tenant": "demo",
    "account": "demo",
    "quota": "demo",
    "node": "hk-1",
    "price": "volume/gb/2025-01-01T00:00:00Z/hk-1",
    "resource": "i-d0000001",
    "flavor": "1",
    "url": "url-d3m0l1nk",
    "domain": "206814",
    "news": "1",
}


def path_to(path: str) -> str:
    """A path with the key of something that is there, where it takes one."""
    noun = path.split("/")[2]
    return f"{path}?{urlencode({'key': FIRST_KEYS[noun]})}" if noun in FIRST_KEYS else path


# Every page


@pytest.fixture(scope="module")
def every_page(quick_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Page]]:
    """All pages, of a cloud in which whatever can be has a hostile name."""
    data = copy_store(quick_store, tmp_path_factory.mktemp("hostile") / "data")
    with opened(data, "cloud") as engine, engine.begin() as connection:
        for table, column in HOSTILE_COLUMNS:
            connection.execute(update(tables.CLOUD.tables[table]).values({column: HOSTILE + "x"}))
        line = {"at": 1, "actor": HOSTILE, "change": HOSTILE, "subject": HOSTILE, "before": None, "after": "{}"}
        connection.execute(insert(tables.operator_audit).values(**line))
    wire = InProcess(Console(settings_over(data), HeldClock(1_794_744_000)))
    operator = Operator(wire)
    operator.sign_in()
    yield {path: operator.get(path_to(path)) for path in GETS}
    wire.close()


HOSTILE_COLUMNS = [
    ("news", "title"),
    ("news", "url"),
    ("urls", "url"),
    ("domains", "name"),
    ("domains", "comment"),
    ("domains", "cname"),
    ("domains", "status"),
    ("domains", "origin_domain_name"),
    ("resources", "name"),
]


@pytest.mark.parametrize("path", GETS)
def test_no_text_becomes_markup(every_page: dict[str, Page], path: str) -> None:
    page = every_page[path]
    assert page.status == 200
    scripts = [given.get("src", "") for tag, given in page.tags if tag == "script"]
    assert all(source.startswith("/web/") for source in scripts)
    assert "alert(1)" not in page.html or "&lt;script&gt;alert(1)" in page.html
    assert "<script>alert" not in page.html
    attributes = [name for _, given in page.tags for name in given]
    assert not [name for name in attributes if name == "style" or name.startswith("on")]


@pytest.mark.parametrize("path", GETS)
def test_a_page_can_be_read_by_its_structure(every_page: dict[str, Page], path: str) -> None:
    page = every_page[path]
    assert page.headings == 1
    labelled = {given.get("for") for tag, given in page.tags if tag == "label"}
    for tag, given in page.tags:
        if tag in ("select", "textarea") or (
            tag == "input" and given.get("type") != "hidden" and "hidden" not in given
        ):
            assert given["id"] in labelled, given
    ids = [given["id"] for _, given in page.tags if "id" in given]
    assert len(ids) == len(set(ids))
    described = {each for _, given in page.tags for each in given.get("aria-describedby", "").split()}
    assert described <= set(ids)


@pytest.mark.parametrize("path", GETS)
def test_pages_are_kept_by_nobody_and_load_nothing_foreign(every_page: dict[str, Page], path: str) -> None:
    reply = every_page[path].reply
    assert reply.header("cache-control") == "no-store"
    assert reply.header("content-encoding") is None
    policy = reply.header("content-security-policy") or ""
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "require-trusted-types-for 'script'" in policy


def test_a_hostile_name_is_shown_as_what_it_is(every_page: dict[str, Page]) -> None:
    page = every_page["/admin/resource/"]
    assert "</textarea></title>\"'><script>alert(1)</script>{{7*7}}\\u202e" in page.text
    form = every_page["/admin/resource/one/"].form("/change/")
    assert form.fields["name"] == HOSTILE + "x"


# Keys


@pytest.mark.parametrize("name", ["a/b", "价格 100%", "?key=x&b=#c", "..", "a+b c"])
def test_any_key_leads_to_its_page(operator: Operator, name: str) -> None:
    operator.send(operator.get("/admin/tenant/add/").form("/add/"), name=name)
    page = operator.get("/admin/tenant/")
    (link,) = [each for each in page.links if each == f"/admin/tenant/one/?{urlencode({'key': name})}"]
    page = operator.get(link)
    assert page.form("/change/").fields["name"] == name
    assert (
        operator.send(operator.get(f"/admin/tenant/remove/?key={quote(name, safe='')}").form("/remove/")).status == 200
    )


# Lists


@pytest.fixture(params=[1, 10_000], ids=["as of many", "as of few"])
def searching(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rows meet a condition, it is searched for in both ways."""
    monkeypatch.setattr(sql, "_MANY", request.param)


@pytest.fixture
def many(data: Path) -> list[str]:
    """A hundred and twenty resources of one name, and their ids in order."""
    row = {
        "tenant_id": 1, "kind": "keypair", "name": "same", "node_id": None,
        "vcpus": 0, "ram_mb": 0, "disk_gb": 0, "size_gb": 0, "started_at": 1, "ended_at": None,
    }  # fmt: skip
    ids = [f"x-{number:03}" for number in range(120)]
    with opened(data, "cloud") as engine, engine.begin() as connection:
        connection.execute(insert(tables.resources), [{**row, "id": each} for each in ids])
    return ids


@pytest.mark.parametrize(
    "query", ["prefix=same", "prefix=x-", "kind=keypair&prefix=same", "tenant=demo&prefix=x-&running=on"]
)
@pytest.mark.usefixtures("searching")
def test_a_list_goes_on_from_page_to_page_and_misses_nothing(operator: Operator, many: list[str], query: str) -> None:
    found, page, pages = list[str](), operator.get(f"/admin/resource/?{query}"), 1
    while True:
        found += [each.rpartition("=")[2] for each in page.links if "/one/?key=" in each]
        following = [given["href"] for tag, given in page.tags if tag == "a" and given.get("rel") == "next"]
        if not following:
            break
        page, pages = operator.get(following[0]), pages + 1
    assert (found, pages) == (many, 3)
    first = next(each for each in page.links if each.startswith("/admin/resource/?"))
    assert "/admin/resource/one/?key=x-000" in operator.get(first).links


@pytest.mark.parametrize("noun", ENTITY_TYPES, ids=lambda noun: noun.name)
def test_every_filter_can_be_chosen_and_stays_chosen(operator: Operator, noun: EntityType) -> None:
    path = f"/admin/{noun.name}/"
    for name, each in noun.filters().items():
        form = operator.get(path).forms[1]
        named = {"tenant": "demo", "node": "hk-1", "project": "p@https://id.example.com"}
        known = {**named, **({name: each.choices[0]} if each.choices else {})}
        value: str | bool = True if each.is_switch else known.get(name, "d")
        page = operator.get(f"{path}?{urlencode(form.filled(**{name: value}))}")
        assert page.status == 200
        assert page.forms[1].fields[name] == ("on" if value is True else value)


@pytest.mark.parametrize(
    ("query", "problem"),
    [("tenant=nobody", {"tenant": "there is no tenant nobody"}), ("node=x", {"node": "there is no node x"})],
)
def test_a_filter_that_finds_nothing_to_filter_by_says_so(
    operator: Operator, query: str, problem: dict[str, str]
) -> None:
    page = operator.get(f"/admin/resource/?{query}")
    assert (page.status, page.forms[1].problems) == (422, problem)


def test_a_list_that_goes_on_behind_what_is_gone_says_so(operator: Operator) -> None:
    page = operator.get("/admin/price/?after=volume/gb/2020-01-01T00:00:00Z")
    assert (page.status, "there is no price" in page.text.lower()) == (422, True)


def test_states_are_told(operator: Operator) -> None:
    operator.send(
        operator.get("/admin/news/add/").form("/add/"), title="T", url="https://n.example/", date="2027-01-01T00:00"
    )
    assert "still to appear" in operator.get("/admin/news/").text
    assert "not in service" in operator.get("/admin/domain/").text
    assert "ended" in operator.get("/admin/resource/one/?key=i-d0000005").text


def test_what_has_ended_is_not_offered_to_be_changed(operator: Operator) -> None:
    page = operator.get("/admin/resource/one/?key=i-d0000005")
    assert [form.action for form in page.forms] == ["/admin/sign-out/"]
    assert not [each for each in page.links if "/end/" in each]


# Times


def test_times_are_typed_and_shown_in_the_consoles_zone(data: Path, clock: HeldClock) -> None:
    wire = InProcess(Console(settings_over(data, time_zone="Asia/Shanghai"), clock))
    operator = Operator(wire)
    operator.sign_in()
    form = operator.get("/admin/news/one/?key=1").form("/change/")
    assert form.fields["date"] == "2025-03-03T10:00"
    page = operator.send(form, date="2026-01-31T08:00:07")
    assert page.form("/change/").fields["date"] == "2026-01-31T08:00:07"
    assert "(Asia/Shanghai)" in page.text
    (news,) = [row for row in rows(data, tables.news) if row.id == 1]
    assert news.published_at == 1_769_817_607
    assert "2026-01-31 08:00:07 +08:00" in operator.get("/admin/news/").text
    wire.close()


# Structured parts


@pytest.mark.parametrize(
    ("field", "text", "problem"),
    [
        ("cacheBehaviors", '[\n  {"a": 1},\n  {"b" 2}\n]', "must be JSON; line 3, column 8: expecting ':' delimiter"),
        ("cacheBehaviors", '{"a": 1}', "must be a list"),
        ("visitControlRules", '["\ud83d\ude00", x]', "must be JSON; line 1, column 7: expecting value"),
        ("visitControlRules", "[NaN]", "must be JSON"),
        ("visitControlRules", '["\\ud800"]', "must be JSON"),
        ("visitControlRules", "[" * 100_000, "must be JSON"),
        ("originConfig__originIps", "192.0.2.1\nhere", "line 2: must be an IP address, such as 192.0.2.1"),
        ("originConfig__originDomainName", " x", "must not begin or end with a space"),
    ],
)
def test_a_structured_part_that_does_not_fit_says_where(
    operator: Operator, field: str, text: str, problem: str
) -> None:
    text = text.encode("utf-16", "surrogatepass").decode("utf-16")
    page = operator.send(operator.get("/admin/domain/one/?key=206813").form("/change/"), **{field: text})
    name = field.replace("__", ".")
    assert (page.status, page.form("/change/").problems) == (422, {name: problem})
    assert page.form("/change/").fields[name].strip() == text.strip()


def test_numbers_in_structured_parts_stay_as_exact_as_they_are_typed(operator: Operator, data: Path) -> None:
    text = '[{"weight": 0.10000000000000000000001}]'
    operator.send(operator.get("/admin/domain/one/?key=206813").form("/change/"), cacheBehaviors=text)
    (domain,) = [row for row in rows(data, tables.domains) if row.id == "206813"]
    assert domain.cache_behaviors == '[{"weight":0.10000000000000000000001}]'


# News


def test_news_are_previewed_as_tenants_will_see_them_and_not_saved(operator: Operator, data: Path) -> None:
    before = rows(data, tables.news), rows(data, tables.operator_audit)
    form = operator.get("/admin/news/add/").form("/add/")
    page = operator.send(form, title="<b>A & B</b>", url="https://n.example/", date="2027-01-01T10:00", preview=True)
    assert page.status == 200
    assert "This is how tenants will see the item." in page.text
    assert "2027-01-01 10:00:00 <b>A & B</b>" in page.text
    assert (rows(data, tables.news), rows(data, tables.operator_audit)) == before
    page = operator.send(page.form("/add/"))
    assert page.heading == "News item 11 still to appear"


def test_a_preview_of_a_change_is_not_saved_either(operator: Operator, data: Path) -> None:
    before = rows(data, tables.news)
    page = operator.send(operator.get("/admin/news/one/?key=1").form("/change/"), title="Other", preview=True)
    assert "It is not saved yet." in page.text
    assert rows(data, tables.news) == before
    assert operator.send(page.form("/change/")).form("/change/").fields["title"] == "Other"


def test_a_preview_of_what_does_not_fit_is_refused(operator: Operator) -> None:
    page = operator.send(operator.get("/admin/news/add/").form("/add/"), title="T", url="ftp://x", preview=True)
    assert (page.status, list(page.form("/add/").problems)) == (422, ["url"])


# Seen by tenants on their next call


def test_tenants_see_changes_on_their_next_call(operator: Operator, tenant: Caller) -> None:
    assert tenant.call("GetUsageLimits").data["maxTotalCores"] == 64
    operator.send(operator.get("/admin/quota/one/?key=demo").form("/change/"), cores="65")
    assert tenant.call("GetUsageLimits").data["maxTotalCores"] == 65
    operator.send(operator.get("/admin/news/add/").form("/add/"), title="Now", url="https://n.example/")
    assert tenant.call("GetNews").data[0]["title"] == "Now"
    operator.send(operator.get("/admin/news/disable/?key=11").form("/disable/"))
    assert tenant.call("GetNews").data[0]["title"] != "Now"
    used = tenant.call("GetUsageLimits").data["totalVolumesUsed"]
    operator.send(operator.get("/admin/resource/end/?key=v-d0000001").form("/end/"))
    assert tenant.call("GetUsageLimits").data["totalVolumesUsed"] == used - 1
    operator.send(operator.get("/admin/account/end-sessions/?key=demo").form("/end-sessions/"))
    assert tenant.call("GetNews").error == "login_required"


def test_quotas_show_what_is_in_use_and_what_is_unlimited(operator: Operator) -> None:
    page = operator.send(operator.get("/admin/quota/one/?key=demo").form("/change/"), cores__unlimited=True)
    assert "13 in use" in page.text
    form = page.form("/change/")
    assert (form.fields["cores"], form.fields["cores.unlimited"]) == ("", "on")
    assert "unlimited" in operator.get("/admin/quota/").text
    page = operator.send(form, cores__unlimited=False, cores="7")
    assert page.form("/change/").fields["cores"] == "7"


# The trails


@pytest.fixture(scope="module")
def long_trail(quick_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with sixty changes of one resource; copy it, never change it."""
    data = copy_store(quick_store, tmp_path_factory.mktemp("trail") / "data")
    with opened(data, "cloud") as engine:
        for number in range(60):
            with operator_transaction(engine, actor="root", now=1_700_000_000 + number) as desk:
                RESOURCES.change(desk, "v-d0000001", {"name": f"name {number}"})
    return data


class TestLongTrail:
    @pytest.fixture
    def data(self, long_trail: Path, tmp_path: Path) -> Path:
        return copy_store(long_trail, tmp_path / "data")

    @pytest.mark.parametrize(
        ("query", "count"),
        [
            ("actor=root", 50),
            ("actor=nobody", 0),
            ("change=resource.", 50),
            ("change=load", 1),
            ("subject=v-d0000001", 50),
            ("subject=v-d0000001&since=2023-11-14T22:14:00", 20),
            ("until=2023-11-14T22:13:30", 10),
            ("since=2023-11-14T22:13:25&until=2023-11-14T22:13:30", 5),
            ("log=access", 1),
            ("log=access&actor=operator&change=operator_", 1),
            ("log=access&actor=demo", 0),
        ],
    )
    @pytest.mark.usefixtures("searching")
    def test_the_trail_is_found_by_every_filter(self, operator: Operator, query: str, count: int) -> None:
        page = operator.get(f"/admin/audit/?{query}")
        assert (page.status, sum(tag == "tr" for tag, _ in page.tags)) == (200, count + 1 if count else 0)

    def test_the_trail_goes_on_to_older_lines(self, operator: Operator) -> None:
        page = operator.get("/admin/audit/?subject=v-d0000001")
        assert "name: name 58 -> name 59" in page.text
        (following,) = [given["href"] for tag, given in page.tags if tag == "a" and given.get("rel") == "next"]
        page = operator.get(following)
        assert (sum(tag == "tr" for tag, _ in page.tags), "name: name 8 -> name 9" in page.text) == (11, True)


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("since=yesterday", {"since": "must be a time, such as 2026-01-31T08:00:00Z"}),
        ("log=access&subject=x", {"subject": "access log entries have no subject: use Who"}),
    ],
)
def test_a_trail_that_cannot_be_searched_so_says_why(operator: Operator, query: str, problem: dict[str, str]) -> None:
    page = operator.get(f"/admin/audit/?{query}")
    assert (page.status, page.forms[1].problems) == (422, problem)
