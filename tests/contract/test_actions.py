"""The six actions with JSON and form bodies: exactly the specified fields, types and values."""

import json
import re
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

from tests.contract import sample_facts
from tests.harness import ApiClient, Reply

ACTIONS: dict[str, dict[str, Any]] = {
    "GetUsageLimits": {},
    "GetFlavors": {},
    "GetUrlList": {},
    "GetDomainDetail": {"domainId": "206813"},
    "GetNews": {},
    "GetConsumptionsEstimated": {},
}
DICTS = {"GetUsageLimits", "GetFlavors", "GetDomainDetail"}

USAGE_FIELDS = {
    "maxTotalInstances",
    "totalInstancesUsed",
    "maxTotalCores",
    "totalCoresUsed",
    "maxTotalRAMSize",
    "totalRAMUsed",
    "maxTotalVolumes",
    "totalVolumesUsed",
    "maxTotalVolumeGigabytes",
    "totalGigabytesUsed",
    "maxTotalSnapshots",
    "totalSnapshotsUsed",
    "maxTotalFloatingIps",
    "totalFloatingIpsUsed",
    "maxSecurityGroups",
    "totalSecurityGroupsUsed",
    "maxSecurityGroupRules",
    "maxTotalKeypairs",
    "maxPersonality",
    "maxPersonalitySize",
    "maxImageMeta",
    "maxServerMeta",
}

as_json_and_form = pytest.mark.parametrize("as_form", [False, True], ids=["json", "form"])


def is_integer(value: object) -> bool:
    return type(value) is int


def is_ascending(values: list[int]) -> bool:
    return all(low < high for low, high in pairwise(values))


# The envelope


@as_json_and_form
@pytest.mark.parametrize("action", ACTIONS)
def test_the_envelope_has_exactly_three_fields(demo: ApiClient, action: str, as_form: bool) -> None:
    reply = demo.call(action, as_form=as_form, **ACTIONS[action])
    assert reply.status == 200
    assert set(reply.envelope) == {"message", "code", "data"}


@pytest.mark.parametrize("action", ACTIONS)
def test_envelope_fields_have_the_right_types(demo: ApiClient, action: str) -> None:
    envelope = demo.call(action, **ACTIONS[action]).envelope
    assert isinstance(envelope["message"], str)
    assert envelope["message"]
    assert is_integer(envelope["code"])
    assert envelope["code"] == 200
    assert isinstance(envelope["data"], dict if action in DICTS else list)


@pytest.mark.parametrize("action", ACTIONS)
def test_the_content_type_is_json(demo: ApiClient, action: str) -> None:
    assert demo.call(action, **ACTIONS[action]).header("Content-Type") == "application/json"


@pytest.mark.parametrize("action", ACTIONS)
def test_no_field_is_duplicated(demo: ApiClient, action: str) -> None:
    def reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({name for name, _ in pairs}) == len(pairs), pairs
        return dict(pairs)

    json.loads(demo.call(action, **ACTIONS[action]).body, object_pairs_hook=reject_duplicates)


@pytest.mark.parametrize("action", ACTIONS)
def test_json_and_form_bodies_get_the_same_response(demo: ApiClient, action: str) -> None:
    in_json, as_form = (demo.call(action, as_form=form, **ACTIONS[action]) for form in (False, True))
    assert in_json.body == as_form.body


@pytest.mark.parametrize("action", ACTIONS)
def test_extra_fields_are_ignored(demo: ApiClient, action: str) -> None:
    plain = demo.call(action, **ACTIONS[action])
    extra = demo.call(action, **ACTIONS[action], region="x", page=2, limit=1, nested={"a": [None, 1.5]})
    assert extra.body == plain.body


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_sets_no_cookie(demo: ApiClient, action: str) -> None:
    assert demo.call(action, **ACTIONS[action]).set_cookies == {}


def test_chinese_text_is_not_escaped(demo: ApiClient) -> None:
    assert "URL链接".encode() in demo.call("GetUrlList").body


# GetUsageLimits


@as_json_and_form
def test_usage_has_exactly_the_specified_fields(demo: ApiClient, as_form: bool) -> None:
    assert set(demo.call("GetUsageLimits", as_form=as_form).data) == USAGE_FIELDS


def test_every_usage_field_is_an_integer(demo: ApiClient) -> None:
    assert {name for name, value in demo.call("GetUsageLimits").data.items() if not is_integer(value)} == set()


def test_usage_is_the_sum_of_the_tenants_resources(tenant: tuple[str, ApiClient]) -> None:
    name, client = tenant
    data = client.call("GetUsageLimits").data
    total = sample_facts.total
    assert {field: value for field, value in data.items() if field.startswith("total")} == {
        "totalInstancesUsed": total(name, "instance"),
        "totalCoresUsed": total(name, "instance", of="vcpus"),
        "totalRAMUsed": total(name, "instance", of="ram"),
        "totalVolumesUsed": total(name, "volume"),
        "totalGigabytesUsed": total(name, "volume", "snapshot", of="size"),
        "totalSnapshotsUsed": total(name, "snapshot"),
        "totalFloatingIpsUsed": total(name, "floating_ip"),
        "totalSecurityGroupsUsed": total(name, "security_group"),
    }


def test_limits_are_the_tenants_quotas(tenant: tuple[str, ApiClient]) -> None:
    name, client = tenant
    data = client.call("GetUsageLimits").data
    quotas = sample_facts.tenant(name)["quotas"]
    shown = {
        "instances": data["maxTotalInstances"],
        "cores": data["maxTotalCores"],
        "ram": data["maxTotalRAMSize"],
        "volumes": data["maxTotalVolumes"],
        "gigabytes": data["maxTotalVolumeGigabytes"],
        "snapshots": data["maxTotalSnapshots"],
        "floating_ips": data["maxTotalFloatingIps"],
        "security_groups": data["maxSecurityGroups"],
        "security_group_rules": data["maxSecurityGroupRules"],
        "keypairs": data["maxTotalKeypairs"],
        "personality": data["maxPersonality"],
        "personality_size": data["maxPersonalitySize"],
        "image_meta": data["maxImageMeta"],
        "server_meta": data["maxServerMeta"],
    }
    assert {quota: shown[quota] for quota in quotas} == quotas


# GetFlavors


@as_json_and_form
def test_flavors_have_exactly_the_specified_sections(demo: ApiClient, as_form: bool) -> None:
    data = demo.call("GetFlavors", as_form=as_form).data
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


def test_custom_flavors_are_named_after_their_size(demo: ApiClient) -> None:
    for flavor in demo.call("GetFlavors").data["flavors"]:
        if not flavor["name"].startswith("m1."):
            assert flavor["name"] == f"{flavor['vcpus']}C{flavor['ram'] // 1024}G{flavor['disk']}G"


def test_some_flavors_have_no_system_disk(demo: ApiClient) -> None:
    assert 0 in {flavor["disk"] for flavor in demo.call("GetFlavors").data["flavors"]}


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


@as_json_and_form
def test_each_url_has_exactly_the_specified_fields(demo: ApiClient, as_form: bool) -> None:
    items = demo.call("GetUrlList", as_form=as_form).data
    assert items
    for item in items:
        assert {name: type(value) for name, value in item.items()} == {"url": str, "type": str, "id": str}
        assert re.fullmatch("url-[a-z0-9]{8}", item["id"])


def test_urls_are_of_exactly_two_types(demo: ApiClient) -> None:
    assert {item["type"] for item in demo.call("GetUrlList").data} == {"URL链接", "URL目录"}


def test_urls_are_the_tenants_own_and_the_shared_ones(tenant: tuple[str, ApiClient]) -> None:
    name, client = tenant
    type_names = {"link": "URL链接", "directory": "URL目录"}
    expected = [*sample_facts.sample()["urls"], *sample_facts.tenant(name)["urls"]]
    shown = {item["id"]: (item["url"], item["type"]) for item in client.call("GetUrlList").data}
    assert shown == {url["id"]: (url["url"], type_names[url["type"]]) for url in expected}


def test_url_ids_are_unique(demo: ApiClient) -> None:
    ids = [item["id"] for item in demo.call("GetUrlList").data]
    assert len(set(ids)) == len(ids)


# GetDomainDetail


@as_json_and_form
def test_reference_domain_is_returned_as_specified(demo: ApiClient, as_form: bool) -> None:
    assert demo.call("GetDomainDetail", as_form=as_form, domainId="206813").data == {
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


@as_json_and_form
def test_domain_with_structured_settings_is_returned_in_full(demo: ApiClient, as_form: bool) -> None:
    data = demo.call("GetDomainDetail", as_form=as_form, domainId="206814").data
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


@as_json_and_form
def test_each_news_item_has_exactly_the_specified_fields(demo: ApiClient, as_form: bool) -> None:
    items = demo.call("GetNews", as_form=as_form).data
    assert items
    for item in items:
        assert {name: type(value) for name, value in item.items()} == {"date": str, "url": str, "title": str}


def test_news_dates_are_valid_and_formatted(demo: ApiClient) -> None:
    for item in demo.call("GetNews").data:
        assert re.fullmatch(r"[0-9]{4}(-[0-9]{2}){2} [0-9]{2}(:[0-9]{2}){2}", item["date"])
        datetime.strptime(item["date"], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)


def test_news_match_the_sample_newest_first(demo: ApiClient) -> None:
    expected = sorted(sample_facts.sample()["news"], key=lambda item: (item["date"], item["id"]), reverse=True)
    assert demo.call("GetNews").data == [
        {"date": item["date"].strftime("%Y-%m-%d %H:%M:%S"), "url": item["url"], "title": item["title"]}
        for item in expected
    ]


def test_all_tenants_get_the_same_news(demo: ApiClient, other: ApiClient) -> None:
    assert demo.call("GetNews").data == other.call("GetNews").data


# GetConsumptionsEstimated


@as_json_and_form
def test_each_consumption_item_has_the_specified_fields(demo: ApiClient, as_form: bool) -> None:
    items = demo.call("GetConsumptionsEstimated", as_form=as_form).data
    assert items
    for item in items:
        assert list(item) == ["res_type", "hour", "day", "month", "year"]
        assert {type(value) for value in item.values()} == {str}


def test_resource_kinds_are_ordered_and_unique(tenant: tuple[str, ApiClient]) -> None:
    name, client = tenant
    kinds = [item["res_type"] for item in client.call("GetConsumptionsEstimated").data]
    assert kinds == list(sample_facts.hourly(name))


def test_first_tenant_has_three_of_the_four_kinds(demo: ApiClient) -> None:
    kinds = [item["res_type"] for item in demo.call("GetConsumptionsEstimated").data]
    assert kinds == ["instance", "image", "volume"]


def test_amounts_are_plain_decimal_strings(tenant: tuple[str, ApiClient]) -> None:
    for item in tenant[1].call("GetConsumptionsEstimated").data:
        for period in ("hour", "day", "month", "year"):
            assert re.fullmatch(r"(0|[1-9][0-9]*)\.([0-9]{2}|[0-9]{2,8}[1-9])", item[period])


def test_hourly_cost_matches_the_sample_resources(tenant: tuple[str, ApiClient]) -> None:
    name, client = tenant
    items = client.call("GetConsumptionsEstimated").data
    assert {item["res_type"]: Decimal(item["hour"]) for item in items} == sample_facts.hourly(name)


def test_daily_monthly_and_yearly_cost_multiply_the_hourly_cost(tenant: tuple[str, ApiClient]) -> None:
    for item in tenant[1].call("GetConsumptionsEstimated").data:
        hour = Decimal(item["hour"])
        assert [Decimal(item[period]) for period in ("day", "month", "year")] == [
            hour * 24,
            hour * 24 * 30,
            hour * 24 * 365,
        ]


def test_a_tenant_without_resources_consumes_nothing(client: ApiClient) -> None:
    reply: Reply = client.login("operator", "console-operator")
    assert reply.status == 200
    assert client.call("GetConsumptionsEstimated").data == []
