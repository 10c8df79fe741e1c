"""The six actions with JSON and form bodies: exactly the specified fields, types and values."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any

import pytest
import yaml

from cloudconsole.operator.sample import SAMPLE_FILE
from tests.harness import ApiClient

ACTIONS: dict[str, dict[str, Any]] = {
    "GetUsageLimits": {},
    "GetFlavors": {},
    "GetUrlList": {},
    "GetDomainDetail": {"domainId": "206813"},
    "GetNews": {},
    "GetConsumptionsEstimated": {},
}
DICTS = {"GetUsageLimits", "GetFlavors", "GetDomainDetail"}

QUOTA_FIELDS = {
    "instances": "maxTotalInstances",
    "cores": "maxTotalCores",
    "ram": "maxTotalRAMSize",
    "volumes": "maxTotalVolumes",
    "gigabytes": "maxTotalVolumeGigabytes",
    "snapshots": "maxTotalSnapshots",
    "floating_ips": "maxTotalFloatingIps",
    "security_groups": "maxSecurityGroups",
    "security_group_rules": "maxSecurityGroupRules",
    "keypairs": "maxTotalKeypairs",
    "personality": "maxPersonality",
    "personality_size": "maxPersonalitySize",
    "image_meta": "maxImageMeta",
    "server_meta": "maxServerMeta",
}

as_json_and_form = pytest.mark.parametrize("as_form", [False, True], ids=["json", "form"])


# Expected values, computed from the sample file independently of the product code

BILLABLE = ("instance", "image", "loadbalance", "volume")


@cache
def sample() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(SAMPLE_FILE.read_text("utf-8"))
    return read


def sample_tenant(name: str) -> dict[str, Any]:
    (found,) = (each for each in sample()["tenants"] if each["name"] == name)
    return dict(found)


def live(name: str) -> list[dict[str, Any]]:
    """Return a tenant's running resources; those with an end date ended long ago."""
    return [each for each in sample_tenant(name).get("resources", []) if "ended" not in each]


def total(name: str, *kinds: str, of: str | None = None) -> int:
    return sum(1 if of is None else each[of] for each in live(name) if each["kind"] in kinds)


def hourly(name: str) -> dict[str, Decimal]:
    """Return the hourly cost per resource kind."""
    costs: dict[str, Decimal] = {}
    for each in live(name):
        quantities = {
            "each": 1,
            "vcpu": each.get("vcpus", 0),
            "ram_gb": -(-each.get("ram", 0) // 1024),
            "gb": each.get("size", 0),
        }
        for unit, quantity in quantities.items():
            cost = _price(each["kind"], unit, each.get("node")) * quantity
            costs[each["kind"]] = costs.get(each["kind"], Decimal(0)) + cost
    return {kind: costs[kind] for kind in BILLABLE if costs.get(kind)}


def _price(kind: str, unit: str, node: str | None) -> Decimal:
    in_force = [
        each
        for each in sample()["prices"]
        if (each["kind"], each["unit"]) == (kind, unit) and each["from"] <= datetime.now(UTC)
    ]
    node_prices = [each for each in in_force if each.get("node") == node]
    default_prices = [each for each in in_force if "node" not in each]
    latest = max(node_prices or default_prices, key=lambda each: each["from"], default=None)
    return Decimal(latest["price"]) if latest else Decimal(0)


# The envelope


@as_json_and_form
@pytest.mark.parametrize("action", ACTIONS)
def test_response_is_exactly_the_specified_envelope(demo: ApiClient, action: str, as_form: bool) -> None:
    def reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({name for name, _ in pairs}) == len(pairs), pairs
        return dict(pairs)

    reply = demo.call(action, as_form=as_form, **ACTIONS[action])
    assert (reply.status, reply.header("Content-Type"), reply.set_cookies) == (200, "application/json", {})
    envelope = json.loads(reply.body, object_pairs_hook=reject_duplicates)
    assert set(envelope) == {"message", "code", "data"}
    assert isinstance(envelope["message"], str)
    assert envelope["message"]
    assert repr(envelope["code"]) == "200"
    assert isinstance(envelope["data"], dict if action in DICTS else list)


@pytest.mark.parametrize("action", ACTIONS)
def test_form_bodies_and_extra_fields_get_the_same_response(demo: ApiClient, action: str) -> None:
    fields = ACTIONS[action]
    plain, form = (demo.call(action, as_form=as_form, **fields) for as_form in (False, True))
    extra = demo.call(action, **fields, region="x", page=2, limit=1, nested={"a": [None, 1.5]})
    assert plain.body == form.body == extra.body


def test_chinese_text_is_not_escaped(demo: ApiClient) -> None:
    assert "URL链接".encode() in demo.call("GetUrlList").body


# GetUsageLimits


def test_usage_is_the_sum_of_the_tenants_resources(tenant: tuple[str, ApiClient]) -> None:
    name, client = tenant
    data = client.call("GetUsageLimits").data
    assert {field: value for field, value in data.items() if field not in QUOTA_FIELDS.values()} == {
        "totalInstancesUsed": total(name, "instance"),
        "totalCoresUsed": total(name, "instance", of="vcpus"),
        "totalRAMUsed": total(name, "instance", of="ram"),
        "totalVolumesUsed": total(name, "volume"),
        "totalGigabytesUsed": total(name, "volume", "snapshot", of="size"),
        "totalSnapshotsUsed": total(name, "snapshot"),
        "totalFloatingIpsUsed": total(name, "floating_ip"),
        "totalSecurityGroupsUsed": total(name, "security_group"),
    }
    assert {type(value) for value in data.values()} == {int}


def test_limits_are_the_tenants_quotas(tenant: tuple[str, ApiClient]) -> None:
    name, client = tenant
    data = client.call("GetUsageLimits").data
    assert set(QUOTA_FIELDS.values()) <= set(data)
    quotas = sample_tenant(name)["quotas"]
    assert {quota: data[QUOTA_FIELDS[quota]] for quota in quotas} == quotas


# GetFlavors


def test_flavors_match_the_sample_in_ascending_order(tenant: tuple[str, ApiClient]) -> None:
    flavors = sample()["flavors"]
    pairs = sorted({(flavor["vcpus"], flavor["ram"]) for flavor in flavors})
    expected = {
        "flavors": flavors,
        "configs": {name: sorted({flavor[name] for flavor in flavors}) for name in ("vcpus", "ram")},
        "limits": {str(vcpus): [ram for other, ram in pairs if other == vcpus] for vcpus, _ in pairs},
    }
    shown = tenant[1].call("GetFlavors").data
    shown["flavors"].sort(key=lambda flavor: int(flavor["id"]))
    # As text, which tells whole numbers from others.
    assert json.dumps(shown, sort_keys=True) == json.dumps(expected, sort_keys=True)


# GetUrlList


def test_urls_are_the_tenants_own_and_the_shared_ones(tenant: tuple[str, ApiClient]) -> None:
    name, client = tenant
    type_names = {"link": "URL链接", "directory": "URL目录"}
    expected = [
        {"url": each["url"], "type": type_names[each["type"]], "id": each["id"]}
        for each in (*sample()["urls"], *sample_tenant(name)["urls"])
    ]
    shown = client.call("GetUrlList").data
    assert {each["type"] for each in shown} == set(type_names.values())
    assert sorted(shown, key=lambda each: each["id"]) == sorted(expected, key=lambda each: each["id"])


# GetDomainDetail


def test_reference_domain_is_returned_as_specified(demo: ApiClient) -> None:
    assert demo.call("GetDomainDetail", domainId="206813").data == {
        "domainId": "206813",
        "domainName": "www.example-demo.com",
        "comment": "",
        "serviceAreas": "hk;ov",
        "serviceType": "web",
        "enabled": "true",
        "cname": "www.example-demo.com.cdn.example.net",
        "status": "Deployed",
        "cacheBehaviors": [],
        "visitControlRules": [],
        "originConfig": {
            "originIps": ["192.0.2.10", "192.0.2.11"],
            "advOriginConfigs": None,
            "originDomainName": None,
        },
        "queryStringSettings": None,
    }


def test_domain_with_structured_settings_is_returned_in_full(demo: ApiClient) -> None:
    data = demo.call("GetDomainDetail", domainId="206814").data
    (expected,) = (domain for domain in sample_tenant("demo")["domains"] if domain["id"] == "206814")
    assert expected["cacheBehaviors"]
    assert expected["visitControlRules"]
    assert expected["originConfig"]["advOriginConfigs"]
    rest = {name: value for name, value in expected.items() if name not in ("id", "name", "enabled")}
    assert data == rest | {"domainId": "206814", "domainName": expected["name"], "enabled": "false"}


def test_structured_settings_keep_key_order_and_number_format(demo: ApiClient) -> None:
    body = demo.call("GetDomainDetail", domainId="206814").body
    first = b'{"pathPattern":"/static/*","ttlSeconds":86400,"ignoreQueryString":true,"priority":1}'
    assert first in body
    assert b'"weight":0.75}' in body


def test_integer_domain_id_is_accepted(demo: ApiClient) -> None:
    assert demo.call("GetDomainDetail", domainId=206813).data["domainId"] == "206813"


@pytest.mark.parametrize("domain_id", ["207001", "207002"])
def test_another_tenants_domain_looks_nonexistent(demo: ApiClient, other: ApiClient, domain_id: str) -> None:
    assert other.call("GetDomainDetail", domainId=domain_id).data["domainId"] == domain_id
    foreign = demo.call("GetDomainDetail", domainId=domain_id)
    nonexistent = demo.call("GetDomainDetail", domainId="999999")
    assert (foreign.status, foreign.body) == (404, nonexistent.body)


# GetNews


def test_news_match_the_sample_newest_first(tenant: tuple[str, ApiClient]) -> None:
    expected = sorted(sample()["news"], key=lambda item: (item["date"], item["id"]), reverse=True)
    assert tenant[1].call("GetNews").data == [
        {"date": item["date"].strftime("%Y-%m-%d %H:%M:%S"), "url": item["url"], "title": item["title"]}
        for item in expected
    ]


# GetConsumptionsEstimated


def amount(value: Decimal) -> str:
    """An amount as a plain decimal with at least two places."""
    whole, _, places = f"{value.normalize():f}".partition(".")
    return f"{whole}.{places:0<2}"


def test_consumption_is_what_the_sample_resources_cost_in_order(tenant: tuple[str, ApiClient]) -> None:
    name, client = tenant
    hours = {"hour": 1, "day": 24, "month": 24 * 30, "year": 24 * 365}
    expected = [
        [("res_type", kind), *((period, amount(cost * count)) for period, count in hours.items())]
        for kind, cost in hourly(name).items()
    ]
    assert expected
    assert [list(item.items()) for item in client.call("GetConsumptionsEstimated").data] == expected


def test_a_tenant_without_resources_consumes_nothing(client: ApiClient) -> None:
    assert client.login("operator", "console-operator").status == 200
    assert client.call("GetConsumptionsEstimated").data == []
