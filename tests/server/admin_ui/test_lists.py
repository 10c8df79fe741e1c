"""Lists: order, totals, columns and downloads; see also `test_pages`."""

import csv
import io
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from sqlalchemy import insert, update

from cloudconsole.core.resources import KINDS, SIZED_IN_GB
from cloudconsole.operator.entities import ENTITY_TYPES, NEWS, EntityType
from cloudconsole.server.admin_ui import csv_download
from cloudconsole.store import tables
from tests.harness import Reply
from tests.server.admin_ui.pages import AUDIT_CSV, CSVS, SIGN_IN, Operator, Page
from tests.server.admin_ui.test_pages import keys_on, next_pages
from tests.stores import opened


def add_nodes(data: Path, names: list[str]) -> None:
    with opened(data, "cloud") as engine, engine.begin() as connection:
        connection.execute(insert(tables.nodes), [{"name": name, "disabled": False} for name in names])


def sorted_headings(page: Page) -> dict[str, str]:
    """Return the `aria-sort` of the headings that have one."""
    headings = [element for element in page.root.iter("th") if "aria-sort" in element.attrib]
    return {"".join(heading.itertext()).strip(): heading.attrib["aria-sort"] for heading in headings}


def sort_links(page: Page) -> dict[str, str]:
    return {
        "".join(link.itertext()): link.attrib["href"]
        for heading in page.root.iter("thead")
        for link in heading.iter("a")
    }


def download(operator: Operator, path: str) -> Reply:
    return operator.client.send("GET", path)


def rows_of(reply: Reply) -> list[dict[str, str]]:
    assert reply.status == 200
    # Without the byte-order mark, spreadsheets take UTF-8 for another encoding.
    assert reply.body.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(io.StringIO(reply.body.decode("utf-8-sig"), newline="")))


@pytest.mark.parametrize("entity", ENTITY_TYPES, ids=lambda entity: entity.name)
def test_every_list_can_be_sorted_by_its_headings(operator: Operator, entity: EntityType) -> None:
    path = f"/admin/{entity.name}/"
    page = operator.get(path)
    # The newest news come first.
    assert list(sorted_headings(page).values()) == ["descending" if entity is NEWS else "ascending"]
    assert len(sort_links(page)) == len(entity.sort_fields())
    for name, ascending in sort_links(page).items():
        page = operator.get(ascending)
        expected = "descending" if sorted_headings(operator.get(path)) == {name: "ascending"} else "ascending"
        assert (page.status, sorted_headings(page)) == (200, {name: expected})
        page = operator.get(sort_links(page)[name])
        assert sorted_headings(page) == {name: "ascending" if expected == "descending" else "descending"}


def test_order_and_filters_are_kept_by_pages_links_and_the_search(operator: Operator, data: Path) -> None:
    add_nodes(data, [f"a{number:03}" for number in range(120)])
    page = operator.get("/admin/node/?search=A&sort=-name")
    found = keys_on(page)
    for _ in range(2):
        page = operator.get(next_pages(page)[0])
        found += keys_on(page)
    assert found == [f"a{number:03}" for number in reversed(range(120))]
    page = operator.get(next_pages(page, "prev")[0])
    assert keys_on(page) == found[50:100]
    assert operator.get(sort_links(page)["Name"]).forms[1].fields == {"search": "A", "sort": "name"}
    page = operator.send(page.forms[1], search="a11")
    assert keys_on(page) == [f"a11{number}" for number in reversed(range(10))]
    assert "/admin/node/?sort=-name" in page.links


@pytest.mark.parametrize(
    ("count", "shown"),
    [(1, "1 in total"), (50, "50 in total"), (51, "50 of 51"), (1000, "50 of 1,000"), (1001, "50 of 1,000+")],
)
def test_total_is_exact_up_to_a_thousand(operator: Operator, data: Path, count: int, shown: str) -> None:
    add_nodes(data, [f"a{number:04}" for number in range(count)])
    page = operator.get("/admin/node/?search=a")
    (caption,) = page.root.iter("caption")
    assert caption.text == f"Nodes matching the filters, {shown}"
    total = shown.rpartition("of ")[2]
    for following in next_pages(page):
        (caption,) = operator.get(following).root.iter("caption")
        assert (caption.text or "").endswith(f" of {total}")


def test_resources_are_active_and_instances_running(operator: Operator) -> None:
    rows = {row.split()[0]: row for row in listed_rows(operator.get("/admin/resource/"))}
    assert rows["i-d0000001"].endswith("running")
    assert rows["v-d0000001"].endswith("active")


def test_tenants_and_nodes_are_linked(operator: Operator) -> None:
    for path in ("/admin/resource/", "/admin/resource/one/?key=i-d0000001"):
        assert {"/admin/tenant/one/?key=demo", "/admin/node/one/?key=hk-1"} <= set(operator.get(path).links)


def test_use_of_quotas_is_listed_beside_the_limits(operator: Operator, data: Path) -> None:
    form = operator.get("/admin/quota/one/?key=demo").form("/change/")
    operator.send(form, cores="16", instances__unlimited=True)
    rows = {row.split()[0]: row for row in listed_rows(operator.get("/admin/quota/"))}
    assert "13 of 16 nearly used up" in rows["demo"]
    assert "4, unlimited" in rows["demo"]
    assert "nearly used up" not in rows["other"]
    with opened(data, "cloud") as engine, engine.begin() as connection:
        connection.execute(update(tables.quotas).values(cores=12))
    rows = {row.split()[0]: row for row in listed_rows(operator.get("/admin/quota/"))}
    assert "13 of 12 over quota" in rows["demo"]


def listed_rows(page: Page) -> list[str]:
    return [" ".join(" ".join(row.itertext()).split()) for body in page.root.iter("tbody") for row in body.iter("tr")]


def test_way_back_from_an_entity_has_the_filters_order_and_page(operator: Operator, data: Path) -> None:
    add_nodes(data, [f"a {number:03}" for number in range(120)])
    found = operator.get("/admin/node/?search=a+&sort=-name")
    found = operator.get(next_pages(found)[0])
    shown = keys_on(found)
    (one,) = [each for each in found.links if "/one/?key=a+060" in each]
    page = operator.get(one)
    page = operator.send(page.form("/change/"), name="a 060b")
    (back,) = [each for each in page.links if each.startswith("/admin/node/?")]
    assert keys_on(operator.get(back)) == [name.replace("a 060", "a 060b") for name in shown]
    page = operator.send(operator.get(page_link(page, "/disable/")).form("/disable/"))
    page = operator.get(page_link(page, "/remove/"))
    assert back in page.links
    page = operator.send(page.form("/remove/"))
    assert (page.heading, keys_on(page)[:3]) == ("Nodes", shown[:3])
    assert "a 060b" not in keys_on(page)
    assert page.forms[1].fields == {"search": "a", "sort": "-name"}


def page_link(page: Page, path: str) -> str:
    (found,) = [each for each in page.links if path in each]
    return found


@pytest.mark.parametrize("back", ["//evil.example/", "x y", "云", "a\nb", "x" * 1001, ""])
def test_way_back_stays_in_the_list(operator: Operator, back: str) -> None:
    page = operator.get(f"/admin/node/one/?{urlencode({'key': 'hk-1', 'back': back})}")
    lists = {each for each in page.links if each.startswith("/admin/node/") and "/one/" not in each}
    assert {each.partition("?")[0] for each in lists} <= {"/admin/node/", "/admin/node/disable/", "/admin/node/remove/"}
    reply = operator.post(page.form("/change/").action, page.form("/change/").fields)
    assert (reply.header("location") or "").startswith("/admin/node/one/?key=hk-1")


def test_page_before_the_first_row_leads_to_the_first_page(operator: Operator) -> None:
    page = operator.get("/admin/node/?before=a")
    assert "No nodes found." in page.text
    assert page.links.count("/admin/node/") == 2


def test_unknown_order_is_explained_and_the_search_is_kept(operator: Operator) -> None:
    for path in ("/admin/node/", "/admin/node/csv/"):
        page = operator.get(f"{path}?search=hk&sort=-tenant_id")
        assert (page.status, page.problems) == (422, ["Search failed", "Sort: cannot sort by tenant_id: use name"])
        assert page.forms[1].fields == {"search": "hk"}
        assert keys_on(operator.send(page.forms[1])) == ["hk-1", "hk-2"]


def test_price_list_has_columns_and_links_with_the_full_name(operator: Operator) -> None:
    page = operator.get("/admin/price/?kind=volume&node=hk-1")
    labels = [element.get("data-label") for element in list(page.root.iter("tr"))[1]]
    expected = ["Kind", "Unit", "Type", "Node", "Price (CNY per hour)", "In force from", "State"]
    assert labels == expected
    links = ["".join(link.itertext()) for link in page.root.iter("a") if "/one/" in link.get("href", "")]
    assert links[0] == "Volume GB of a volume on hk-1, from 2025-01-01 00:00"


# Downloads


@pytest.mark.parametrize("path", CSVS)
def test_download_has_all_rows_that_the_list_finds(operator: Operator, path: str) -> None:
    reply = download(operator, path)
    assert reply.header("content-type") == "text/csv; charset=utf-8"
    assert reply.header("cache-control") == "no-store"
    assert (reply.header("content-disposition") or "").startswith("attachment; filename=")
    assert len(rows_of(reply)) == len(keys_on(operator.get(path.removesuffix("csv/"))))
    assert path in operator.get(path.removesuffix("csv/")).links


def test_download_keeps_filters_and_order_beyond_one_page(operator: Operator, data: Path) -> None:
    add_nodes(data, [f"a{number:03}" for number in range(120)])
    page = operator.get("/admin/node/?search=A&sort=-name&after=a100")
    (link,) = [each for each in page.links if "/csv/" in each]
    rows = rows_of(download(operator, link))
    assert [row["name"] for row in rows] == [f"a{number:03}" for number in reversed(range(120))]


def test_download_has_field_names_and_no_formulas(operator: Operator, data: Path) -> None:
    add_nodes(data, ["=1+1", '"quoted, 云"'])
    rows = rows_of(download(operator, "/admin/node/csv/?search=1%2B"))
    assert rows == [{"name": "'=1+1", "disabled": ""}]
    operator.send(operator.get(f"/admin/node/disable/?{urlencode({'key': '=1+1'})}").form("/disable/"))
    assert rows_of(download(operator, f"/admin/node/csv/?search={quote('=')}"))[0]["disabled"] == "true"
    assert rows_of(download(operator, f"/admin/node/csv/?search={quote('云')}"))[0]["name"] == '"quoted, 云"'


def test_too_large_download_is_rejected_with_the_command(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_download, "MAX_CSV_ROWS", 2)
    page = operator.get("/admin/resource/csv/?search=-d0&running=on&tenant=demo&sort=-size")
    assert (page.status, page.problems[0]) == (422, "Nothing was downloaded")
    command = "cloudconsole admin resource list --search=-d0 --tenant=demo --running --sort=size --descending"
    assert f"run {command} on the server" in page.problems[1]
    assert page.forms[1].fields["search"] == "-d0"
    assert len(keys_on(page)) > 2


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("resource/csv/?tenant=demo&kind=instance&running=on", "resources-demo-instance-running-2026-11-15.csv"),
        ("url/csv/", "urls-2026-11-15.csv"),
        ("node/csv/?search=../%22%0D%0A%E4%BA%91x", "nodes-..-x-2026-11-15.csv"),
        (f"node/csv/?search={'y' * 200}", f"nodes-{'y' * 94}-2026-11-15.csv"),
        ("audit/csv/?actor=web:operator", "audit-log-web-operator-2026-11-15.csv"),
        ("audit/csv/?log=access&event=failed", "sign-ins-failed-2026-11-15.csv"),
    ],
)
def test_download_is_named_by_its_filters_and_the_day(operator: Operator, path: str, name: str) -> None:
    assert download(operator, f"/admin/{path}").header("content-disposition") == f'attachment; filename="{name}"'


def test_download_of_quotas_has_their_use(operator: Operator) -> None:
    (row,) = rows_of(download(operator, "/admin/quota/csv/?search=demo"))
    assert (row["tenant"], row["cores"], row["cores_used"]) == ("demo", "64", "13")
    assert "personality_used" not in row


# Audit log


def add_entries(data: Path, count: int) -> None:
    with opened(data, "cloud") as engine, engine.begin() as connection:
        entry = {"at": 1, "actor": "root", "change": "node.add", "subject": "=n", "before": None, "after": '{"a": 1}'}
        connection.execute(insert(tables.operator_audit), [entry] * count)


@pytest.mark.parametrize(("count", "shown"), [(50, "50 in total"), (51, "50 of 51"), (1001, "50 of 1,000+")])
def test_total_of_the_audit_log_is_exact_up_to_a_thousand(
    operator: Operator, data: Path, count: int, shown: str
) -> None:
    add_entries(data, count)
    page = operator.get("/admin/audit/?actor=root")
    (caption,) = page.root.iter("caption")
    assert caption.text == f"Operator changes, newest first, {shown}"
    for following in next_pages(page):
        (caption,) = operator.get(following).root.iter("caption")
        assert (caption.text or "").endswith(shown.removeprefix("50"))


def test_found_changes_are_downloaded_beyond_one_page(operator: Operator, data: Path) -> None:
    add_entries(data, 600)
    page = operator.get("/admin/audit/?actor=root&after=500")
    (path,) = [each for each in page.links if "/csv/" in each]
    rows = rows_of(download(operator, path))
    assert len(rows) == len({row["id"] for row in rows}) == 600
    assert list(rows[0]) == ["id", "at", "actor", "change", "subject", "what"]
    assert list(rows[0].values())[1:] == ["1970-01-01T00:00:01Z", "root", "node.add", "'=n", "a: 1"]


def test_found_sign_ins_are_downloaded(operator: Operator, anonymous: Operator) -> None:
    assert anonymous.sign_in("operator", "wrong password").status == 401
    rows = rows_of(download(operator, f"{AUDIT_CSV}?log=access"))
    assert [(row["event"], row["username"]) for row in rows] == [
        ("operator_login_refused", "operator"),
        ("operator_login", "operator"),
    ]
    assert rows_of(download(operator, f"{AUDIT_CSV}?log=access&tenant=demo")) == []
    assert len(rows_of(download(operator, f"{AUDIT_CSV}?log=access&tenant=provider"))) == 2


@pytest.mark.parametrize(
    ("query", "problem", "found"),
    [
        ("since=yesterday", "Since: must be a time, such as 2026-01-31T08:00:00Z", 0),
        ("log=access&tenant=nobody", "Tenant: there is no tenant nobody", 0),
        (
            "actor=root&since=1970-01-01",
            "run cloudconsole admin audit --actor=root --since=1970-01-01 on the server",
            3,
        ),
    ],
)
def test_rejected_download_of_the_audit_log_is_explained(
    operator: Operator, data: Path, monkeypatch: pytest.MonkeyPatch, query: str, problem: str, found: int
) -> None:
    monkeypatch.setattr(csv_download, "MAX_CSV_ROWS", 2)
    add_entries(data, 3)
    page = operator.get(f"{AUDIT_CSV}?{query}")
    assert (page.status, len(listed_rows(page))) == (422, found)
    assert page.problems[0] == ("Nothing was downloaded" if found else "Search failed")
    assert problem in page.problems[1]


def test_download_needs_a_session_and_returns_to_the_list(anonymous: Operator) -> None:
    page = anonymous.get("/admin/node/csv/?search=hk")
    assert page.form(SIGN_IN).fields["next"] == "/admin/node/?search=hk"


def test_amounts_are_grouped_but_ids_are_not(operator: Operator) -> None:
    form = operator.get("/admin/news/add/").form("/add/")
    operator.post(form.action, form.filled(id="12345", title="New", url="https://news.example.com/"))
    assert ">12345<" in operator.get("/admin/news/").html
    assert ">4,096<" in operator.get("/admin/resource/?kind=instance").html


def headings_of(page: Page) -> list[str]:
    return ["".join(each.itertext()).strip() for each in page.root.iter("th") if each.get("scope") == "col"]


def test_resources_of_one_kind_have_the_columns_of_their_sizes(operator: Operator) -> None:
    page = operator.get("/admin/resource/")
    assert headings_of(page)[4:7] == ["Node", "Size", "Started"]
    for size in ("2 cores · 4,096 MB · 40 GB", "1 core · 512 MB · 1 GB", "500 GB"):
        assert f"<bdi>{size}</bdi>" in page.html
    assert (
        "<bdi>2 核 · 4,096 MB · 40 GB</bdi>"
        in operator.client.send("GET", "/admin/resource/", {"Accept-Language": "zh"}).body.decode()
    )
    sizes = {kind: headings_of(operator.get(f"/admin/resource/?kind={kind}"))[5:-3] for kind in KINDS}
    assert sizes["instance"] == ["Cores", "RAM (MB)", "System disk (GB)"]
    assert {kind for kind, columns in sizes.items() if columns == ["Size (GB)"]} == SIZED_IN_GB
    assert all(sizes[kind] == [] for kind in KINDS if kind not in ("instance", *SIZED_IN_GB))


def test_nodes_have_the_number_of_their_active_resources(operator: Operator) -> None:
    page = operator.get("/admin/node/")
    found = operator.get("/admin/resource/?node=hk-1&running=on")
    (link,) = [each for each in page.links if each == "/admin/resource/?node=hk-1&running=on"]
    number = sum(each.startswith("/admin/resource/one/") for each in found.links)
    assert f'<a href="{link.replace("&", "&amp;")}"><bdi>{number}</bdi></a>' in page.html


def test_accounts_have_their_last_sign_in(operator: Operator) -> None:
    page = operator.get("/admin/account/")
    (row,) = [each for each in page.root.iter("tr") if "operator" in "".join(each.itertext())]
    assert headings_of(page) == ["Username", "Tenant", "Role", "Last sign-in", "State"]
    assert "2026-11-15" in "".join(row.itertext())
    assert page.text.count("2026-11-15 12") == 2  # with that of the printed page
