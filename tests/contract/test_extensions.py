"""The built-in extensions with JSON and form bodies, and which of them a console has."""

import json
from typing import Any

import pytest

from tests.contract.conftest import StartConsole
from tests.contract.test_actions import as_json_and_form, sample, sample_tenant
from tests.harness import ApiClient

EXTENSIONS = [
    "GetDomains",
    "GetPrices",
    "GetEstimate",
    "GetConsumptionsSummary",
    "GetConsumptionsByQuery",
    "GetBillingReportList4NearlyYear",
    "GetForecast",
    "GetCostExport",
    "GetAnnouncements",
]
FIELDS: dict[str, dict[str, Any]] = {
    "GetEstimate": {"items": [{"res_type": "floating_ip"}]},
    "GetCostExport": {"month": "2026-10"},
}
"""Required parameters."""


def form_fields(action: str) -> dict[str, str]:
    fields = FIELDS.get(action, {})
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()}


def test_get_lists_all_built_in_extensions(client: ApiClient) -> None:
    assert client.open().data["extensions"] == EXTENSIONS


@pytest.mark.parametrize("action", EXTENSIONS)
def test_form_bodies_and_extra_fields_get_the_same_response(demo: ApiClient, action: str) -> None:
    fields = FIELDS.get(action, {})
    plain, form = demo.call(action, **fields), demo.call(action, as_form=True, **form_fields(action))
    extra = demo.call(action, **fields, domainId="x", nested={"a": [None, 1.5]})
    assert (plain.status, plain.body) == (200, form.body)
    assert plain.body == extra.body


@pytest.mark.parametrize(
    ("setting", "listed"),
    [
        ((), []),
        (("GetPrices",), ["GetPrices"]),
        (("GetPrices", "built-in"), [EXTENSIONS[1], EXTENSIONS[0], *EXTENSIONS[2:]]),
    ],
)
def test_the_setting_chooses_the_extensions(
    start_console: StartConsole, setting: tuple[str, ...], listed: list[str]
) -> None:
    client = start_console(extensions=setting)
    assert client.open().data["extensions"] == listed
    client.login("demo", "console-demo")
    for action in EXTENSIONS:
        reply = client.call(action, as_form=True, **form_fields(action))
        expected = (200, None) if action in listed else (404, "unknown_action")
        assert (reply.status, reply.envelope.get("error")) == expected
    documented = client.send("GET", "/openapi.json").envelope["x-actions"]
    assert [action["name"] for action in documented if action["extension"]] == listed
    page = client.send("GET", "/docs/").body.decode()
    assert {action for action in EXTENSIONS if f'id="{action}"' in page} == set(listed)


# GetDomains


def listed_domains(tenant: str) -> list[dict[str, Any]]:
    domains = sorted(sample_tenant(tenant)["domains"], key=lambda domain: str(domain["id"]))
    return [
        {
            "domainId": str(domain["id"]),
            "domainName": domain["name"],
            "enabled": str(domain.get("enabled", True)).lower(),
            "status": domain["status"],
            "serviceType": domain["serviceType"],
        }
        for domain in domains
    ]


def test_domains_are_the_tenants_own(tenant: tuple[str, ApiClient]) -> None:
    name, client = tenant
    assert client.call("GetDomains").data == listed_domains(name)


@as_json_and_form
def test_domains_come_in_pages(demo: ApiClient, as_form: bool) -> None:
    whole = listed_domains("demo")
    assert len(whole) >= 2
    for size in (1, 2, len(whole), 1000):
        pages: list[list[dict[str, Any]]] = []
        marker = ""
        while not pages or len(pages[-1]) == size:
            pages.append(demo.call("GetDomains", as_form=as_form, limit=size, marker=marker).data)
            marker = pages[-1][-1]["domainId"] if pages[-1] else marker
        assert [domain for page in pages for domain in page] == whole


@pytest.mark.parametrize("marker", ["~", "206813x", "汉字", " ", "'; --"])
def test_any_text_is_a_marker(demo: ApiClient, marker: str) -> None:
    expected = [domain for domain in listed_domains("demo") if domain["domainId"] > marker]
    assert demo.call("GetDomains", marker=marker).data == expected


@pytest.mark.parametrize("as_form", [False, True], ids=["json", "form"])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("limit", "0"),
        ("limit", "1001"),
        ("limit", "-1"),
        ("limit", "1.5"),
        ("limit", "many"),
        ("limit", "9" * 5000),
        ("marker", "x" * 65),
        ("marker", "a\nb"),
        ("marker", "a\n"),
        ("marker", "\x00"),
    ],
)
def test_invalid_parameters_are_rejected(demo: ApiClient, field: str, value: str, as_form: bool) -> None:
    is_number = field == "limit" and value.lstrip("-").replace(".", "").isdigit() and len(value) < 100
    sent: Any = float(value) if is_number and "." in value else int(value) if is_number else value
    reply = demo.call("GetDomains", as_form=as_form, **{field: value if as_form else sent})
    assert (reply.status, reply.envelope["error"], reply.envelope["field"]) == (400, "invalid_field", field)
    assert field in reply.envelope["message"]


def test_null_and_empty_parameters_count_as_absent(demo: ApiClient) -> None:
    assert demo.call("GetDomains", limit=None, marker=None).data == listed_domains("demo")
    assert demo.call("GetDomains", as_form=True, limit="", marker="").data == listed_domains("demo")


def test_json_numbers_are_not_text(demo: ApiClient) -> None:
    assert demo.call("GetDomains", limit="5").envelope["field"] == "limit"
    assert demo.call("GetDomains", marker=5).envelope["field"] == "marker"


# GetPrices


def test_prices_in_force_are_those_of_the_sample(demo: ApiClient) -> None:
    items = demo.call("GetPrices").data
    newest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for price in sorted(sample()["prices"], key=lambda price: price["from"]):
        newest[price["kind"], price["unit"], price.get("node")] = price
    assert {(item["res_type"], item["unit"], item["region"]): item["price"] for item in items} == {
        key: price["price"] for key, price in newest.items()
    }
    assert all((item["in_force"], item["end_at"], item["type"]) == (True, None, None) for item in items)
    assert items[-1] == {
        "res_type": "volume",
        "unit": "gb",
        "region": "hk-1",
        "type": None,
        "price": "0.000385125",
        "start_at": "2026-01-01 00:00:00",
        "end_at": None,
        "in_force": True,
    }


# GetEstimate


@as_json_and_form
def test_an_estimate_is_what_the_resources_then_cost(demo: ApiClient, as_form: bool) -> None:
    sample_instance = {"res_type": "instance", "flavor": "m1.large", "count": 2, "region": "sg-1"}
    items: Any = [sample_instance, {"res_type": "floating_ip"}]
    estimate = demo.call("GetEstimate", as_form=as_form, items=json.dumps(items) if as_form else items, hours=24).data
    # 2 × (0.012 + 4 cores at sg-1's price + 8 GB of RAM)
    assert estimate["hour"] == "0.6496"
    assert estimate["cost"] == estimate["day"] == "15.5904"
    assert (estimate["priced"], estimate["fits"]) == (True, True)


@pytest.mark.parametrize(
    ("items", "part"),
    [
        ("[]", "must be a list with a length of at least 1."),
        ('[{"res_type":"instance"}]', "'items[0]' requires 'flavor'."),
        ('[{"res_type":"keypair"}]', "keypair"),
        ('[{"res_type":"volume","size":0}]', "'items[0].size' must be a whole number of at least 1."),
        (
            '[{"res_type":"volume","size":1,"count":100001}]',
            "'items[0].count' must be a whole number of at most 100000.",
        ),
        ("{}", "must be a list."),
    ],
)
def test_invalid_items_are_rejected_with_the_reason(demo: ApiClient, items: str, part: str) -> None:
    for as_form, sent in ((False, json.loads(items)), (True, items)):
        reply = demo.call("GetEstimate", as_form=as_form, items=sent)
        assert (reply.status, reply.envelope["error"], reply.envelope["field"]) == (400, "invalid_field", "items")
        assert part in reply.body.decode()


@pytest.mark.parametrize(
    ("item", "error", "text"),
    [
        ({"res_type": "instance", "flavor": "no"}, "flavor_not_found", "items[1].flavor: there is no flavor 'no'."),
        ({"res_type": "image", "size": 1, "region": "no"}, "node_not_found", "items[1].region: there is no node 'no'."),
    ],
)
def test_unknown_names_are_not_found(demo: ApiClient, item: dict[str, Any], error: str, text: str) -> None:
    reply = demo.call("GetEstimate", items=[{"res_type": "floating_ip"}, item])
    assert (reply.status, reply.envelope["error"], reply.envelope["field"]) == (404, error, "items")
    assert reply.envelope["message"] == text


def test_items_are_required_and_bounded(demo: ApiClient) -> None:
    assert demo.call("GetEstimate").envelope["error"] == "missing_field"
    item = {"res_type": "loadbalance"}
    assert demo.call("GetEstimate", items=[item] * 1000).status == 200
    assert demo.call("GetEstimate", items=[item] * 1001).envelope["field"] == "items"
    assert demo.call("GetEstimate", items=[item], hours=87_841).envelope["field"] == "hours"


# GetConsumptionsByQuery


@as_json_and_form
def test_consumptions_of_a_period(demo: ApiClient, as_form: bool) -> None:
    fields = {"type": "volume", "start_at": "2026-10-01", "end_at": "2026-10-02", "limit": 2}
    rows = demo.call("GetConsumptionsByQuery", as_form=as_form, **fields).data
    assert len(rows) == 2
    assert {(row["res_type"], row["start_at"], row["end_at"], row["cost_time"]) for row in rows} == {
        ("volume", "2026-10-01 00:00:00", "2026-10-03 00:00:00", "172800")
    }
    following = demo.call("GetConsumptionsByQuery", as_form=as_form, **fields, marker=rows[0]["id"]).data
    assert following[0] == rows[1]


@as_json_and_form
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("start_at", "2026-02-30"),
        ("end_at", "yesterday"),
        ("interval", "week"),
        ("limit", 0),
        ("marker", "x\0"),
        ("region", "x\0"),
        ("type", "x" * 256),
    ],
)
def test_invalid_periods_are_rejected(demo: ApiClient, as_form: bool, field: str, value: object) -> None:
    reply = demo.call("GetConsumptionsByQuery", as_form=as_form, **{field: value})
    assert (reply.status, reply.envelope["error"], reply.envelope["field"]) == (400, "invalid_field", field)


# GetCostExport


@as_json_and_form
@pytest.mark.parametrize("columns", ["focus", "csv"])
def test_a_cost_export_comes_in_pages(demo: ApiClient, as_form: bool, columns: str) -> None:
    fields = {"month": "2026-10", "format": columns}
    whole = demo.call("GetCostExport", as_form=as_form, **fields, limit=1000).data
    assert whole["next_marker"] is None
    assert len(whole["rows"]) > 3
    for size in (1, 3, len(whole["rows"]), len(whole["rows"]) - 1):
        rows: list[list[str]] = []
        marker: str | None = ""
        while marker is not None:
            page = demo.call("GetCostExport", as_form=as_form, **fields, limit=size, marker=marker).data
            assert page["columns"] == whole["columns"]
            assert 0 < len(page["rows"]) <= size
            rows, marker = rows + page["rows"], page["next_marker"]
        assert rows == whole["rows"]


@pytest.mark.parametrize("month", ["1970-01", "2025-12", "2026-12", "9998-12"])
def test_other_months_have_no_rows(demo: ApiClient, month: str) -> None:
    data = demo.call("GetCostExport", month=month).data
    assert (data["columns"][0], data["rows"], data["next_marker"]) == ("BilledCost", [], None)


@as_json_and_form
@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(
            ("month", month)
            for month in ("2026-13", "2026-1", "1969-12", "9999-01", "2026-10\n", "٢٠٢٦-10", "2026-10-01")
        ),
        ("format", "xml"),
        ("limit", 1001),
        ("marker", "x\0"),
    ],
)
def test_invalid_exports_are_rejected(demo: ApiClient, as_form: bool, field: str, value: object) -> None:
    reply = demo.call("GetCostExport", as_form=as_form, **{"month": "2026-10", field: value})
    assert (reply.status, reply.envelope["error"], reply.envelope["field"]) == (400, "invalid_field", field)


def test_an_export_requires_a_month(demo: ApiClient) -> None:
    reply = demo.call("GetCostExport")
    assert (reply.status, reply.envelope["error"], reply.envelope["field"]) == (400, "missing_field", "month")


# GetAnnouncements


def test_announcements_are_the_news_with_more_fields(tenant: tuple[str, ApiClient]) -> None:
    items, news = tenant[1].call("GetAnnouncements").data, tenant[1].call("GetNews").data
    by_time = sorted(sample()["news"], key=lambda item: (item["date"], item["id"]), reverse=True)
    assert items == [
        {"id": own["id"], **item, "language": None, "pinned": False} for own, item in zip(by_time, news, strict=True)
    ]
