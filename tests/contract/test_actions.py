"""The six actions with JSON and form bodies: exactly the specified fields, types and values."""

import json
import re
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

from tests.contract import sample_facts
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


def is_integer(value: object) -> bool:
    return type(value) is int


def is_ascending(values: list[int]) -> bool:
    return all(low < high for low, high in pairwise(values))


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
    assert is_integer(envelope["code"])
    assert envelope["code"] == 200
    assert isinstance(envelope["data"], dict if action in DICTS else list)


@pytest.mark.parametrize("action", ACTIONS)
def test_json_and_form_bodies_get_the_same_response(demo: ApiClient, action: str) -> None:
    in_json, as_form = (demo.call(action, as_form=form, **ACTIONS[action]) for form in (False, True))
    assert in_json.body == as_form.body


@pytest.mark.parametrize("action", ACTIONS)
def test_extra_fields_are_ignored(demo: ApiClient, action: str) -> None:
    plain = demo.call(action, **ACTIONS[action])
    extra = demo.call(action, **ACTIONS[action], region="x", page=2, limit=1, nested={"a": [None, 1.5]})
    assert extra.body == plain.body


def test_chinese_text_is_not_escaped(demo: ApiClient) -> None:
    assert "URL链接".encode() in demo.call("GetUrlList").body


# GetUsageLimits


def test_usage_is_the_sum_of_the_tenants_resources(tenant: tuple[str, ApiClient]) -> None:
    name, client = tenant
    data = client.call("GetUsageLimits").data
    total = sample_facts.total
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
    assert all(is_integer(value) for value in data.values())


def test_limits_are_the_tenants_quotas(tenant: tuple[str, ApiClient]) -> None:
    name, client = tenant
    data = client.call("GetUsageLimits").data
    assert set(QUOTA_FIELDS.values()) <= set(data)
    quotas = sample_facts.tenant(name)["quotas"]
    assert {quota: data[QUOTA_FIELDS[quota]] for quota in quotas} == quotas


# GetFlavors


def test_flavors_have_exactly_the_specified_sections(demo: ApiClient) -> None:
    data = demo.call("GetFlavors").data
    assert set(data) == {"flavors", "configs", "limits"}
    assert set(data["configs"]) == {"vcpus", "ram"}
    assert isinstance(data["limits"], dict)


def test_each_flavor_has_the_specified_fields_and_types(demo: ApiClient) -> None:
    flavors = demo.call("GetFlavors").data["flavors"]
    assert flavors
    for flavor in flavors:
        types = {name: type(value) for name, value in flavor.items()}
        assert types == {"id": str, "name": str, "vcpus": int, "ram": int, "disk": int}
        assert re.fullmatch("[0-9]+", flavor["id"])


def test_flavors_match_the_sample(demo: ApiClient) -> None:
    shown = demo.call("GetFlavors").data["flavors"]
    assert sorted(shown, key=lambda flavor: int(flavor["id"])) == sample_facts.sample()["flavors"]


def test_configs_are_the_distinct_values_in_ascending_order(demo: ApiClient) -> None:
    data = demo.call("GetFlavors").data
    for name in ("vcpus", "ram"):
        values = data["configs"][name]
        assert all(is_integer(value) for value in values)
        assert is_ascending(values)
        assert set(values) == {flavor[name] for flavor in data["flavors"]}


def test_limits_are_the_existing_pairs_in_ascending_order(demo: ApiClient) -> None:
    data = demo.call("GetFlavors").data
    pairs = {(flavor["vcpus"], flavor["ram"]) for flavor in data["flavors"]}
    assert {(int(vcpus), ram) for vcpus, rams in data["limits"].items() for ram in rams} == pairs
    for vcpus, rams in data["limits"].items():
        assert str(int(vcpus)) == vcpus
        assert int(vcpus) in data["configs"]["vcpus"]
        assert is_ascending(rams)
        assert all(is_integer(ram) and ram in data["configs"]["ram"] for ram in rams)


def test_all_tenants_get_the_same_flavors(demo: ApiClient, other: ApiClient) -> None:
    assert demo.call("GetFlavors").data == other.call("GetFlavors").data


# GetUrlList


def test_urls_are_the_tenants_own_and_the_shared_ones(tenant: tuple[str, ApiClient]) -> None:
    name, client = tenant
    type_names = {"link": "URL链接", "directory": "URL目录"}
    expected = [
        {"url": each["url"], "type": type_names[each["type"]], "id": each["id"]}
        for each in (*sample_facts.sample()["urls"], *sample_facts.tenant(name)["urls"])
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
    (expected,) = (domain for domain in sample_facts.tenant("demo")["domains"] if domain["id"] == "206814")
    assert expected["cacheBehaviors"]
    assert expected["visitControlRules"]
    assert expected["originConfig"]["advOriginConfigs"]
    assert (data["enabled"], data["domainId"], data["domainName"]) == ("false", "206814", expected["name"])
    rest = set(expected) - {"id", "name", "enabled"}
    assert set(data) == rest | {"domainId", "domainName", "enabled"}
    assert {name: data[name] for name in rest} == {name: expected[name] for name in rest}


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


def test_news_match_the_sample_newest_first(demo: ApiClient) -> None:
    expected = sorted(sample_facts.sample()["news"], key=lambda item: (item["date"], item["id"]), reverse=True)
    assert demo.call("GetNews").data == [
        {"date": item["date"].strftime("%Y-%m-%d %H:%M:%S"), "url": item["url"], "title": item["title"]}
        for item in expected
    ]


def test_all_tenants_get_the_same_news(demo: ApiClient, other: ApiClient) -> None:
    assert demo.call("GetNews").data == other.call("GetNews").data


# GetConsumptionsEstimated


def test_each_consumption_item_has_the_specified_fields(demo: ApiClient) -> None:
    items = demo.call("GetConsumptionsEstimated").data
    assert items
    for item in items:
        assert list(item) == ["res_type", "hour", "day", "month", "year"]
        assert {type(value) for value in item.values()} == {str}


def test_amounts_are_plain_decimal_strings(tenant: tuple[str, ApiClient]) -> None:
    for item in tenant[1].call("GetConsumptionsEstimated").data:
        for period in ("hour", "day", "month", "year"):
            assert re.fullmatch(r"(0|[1-9][0-9]*)\.([0-9]{2}|[0-9]{2,8}[1-9])", item[period])


def test_kinds_are_ordered_and_cost_what_the_sample_resources_cost(tenant: tuple[str, ApiClient]) -> None:
    name, client = tenant
    items = client.call("GetConsumptionsEstimated").data
    assert [(item["res_type"], Decimal(item["hour"])) for item in items] == list(sample_facts.hourly(name).items())


def test_daily_monthly_and_yearly_cost_multiply_the_hourly_cost(tenant: tuple[str, ApiClient]) -> None:
    for item in tenant[1].call("GetConsumptionsEstimated").data:
        hour = Decimal(item["hour"])
        assert [Decimal(item[period]) for period in ("day", "month", "year")] == [
            hour * 24,
            hour * 24 * 30,
            hour * 24 * 365,
        ]


def test_a_tenant_without_resources_consumes_nothing(client: ApiClient) -> None:
    assert client.login("operator", "console-operator").status == 200
    assert client.call("GetConsumptionsEstimated").data == []
