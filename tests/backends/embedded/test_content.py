"""URLs, domains and news, as tenants read them."""

import json
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest

from cloudconsole.spec import envelope
from cloudconsole.spec.errors import DomainNotFound
from cloudconsole.store.tables import domains, news, urls
from tests.backends.embedded.small_cloud import ACME, RIVAL, SmallCloud, at
from tests.harness import ApiClient
from tests.stores import write_transaction

DOMAIN: dict[str, Any] = {
    "id": "1",
    "tenant_id": ACME.id,
    "name": "www.example.com",
    "comment": "",
    "service_areas": "hk;ov",
    "service_type": "web",
    "enabled": True,
    "cname": "www.example.com.cdn.example.net",
    "status": "Deployed",
    "cache_behaviors": "[]",
    "visit_control_rules": "[]",
    "origin_ips": "[]",
    "adv_origin_configs": "null",
    "origin_domain_name": None,
    "query_string_settings": None,
}


# URLs


def test_tenant_sees_its_own_and_public_urls(cloud: SmallCloud) -> None:
    cloud.insert(
        urls,
        {"id": "url-own00000", "tenant_id": ACME.id, "type": "link", "url": "https://own"},
        {"id": "url-all00000", "tenant_id": None, "type": "link", "url": "https://all"},
        {"id": "url-rival000", "tenant_id": RIVAL.id, "type": "link", "url": "https://rival"},
    )
    seen = [{item.url for item in cloud.urls(tenant)} for tenant in (ACME, RIVAL)]
    assert seen == [{"https://own", "https://all"}, {"https://rival", "https://all"}]


def test_url_types_are_in_chinese(cloud: SmallCloud) -> None:
    cloud.insert(
        urls,
        {"id": "url-00000001", "tenant_id": None, "type": "link", "url": "https://a"},
        {"id": "url-00000002", "tenant_id": None, "type": "directory", "url": "https://b"},
    )
    assert {item.id: item.type for item in cloud.urls()} == {"url-00000001": "URL链接", "url-00000002": "URL目录"}


def test_urls_have_a_stable_order(cloud: SmallCloud) -> None:
    for name in ("url-c0000000", "url-a0000000", "url-b0000000"):
        cloud.insert(urls, {"id": name, "tenant_id": None, "type": "link", "url": "https://same"})
    assert [item.id for item in cloud.urls()] == ["url-a0000000", "url-b0000000", "url-c0000000"]


def test_url_list_can_be_empty(cloud: SmallCloud) -> None:
    assert cloud.urls() == []


# Domains


@pytest.mark.parametrize("domain_id", ["2", "01", "1 ", "", "１", "1\x00", "%", "1' OR '1'='1"])
def test_unknown_domain_id_is_not_found(cloud: SmallCloud, domain_id: str) -> None:
    cloud.insert(domains, DOMAIN)
    with pytest.raises(DomainNotFound):
        cloud.domain(domain_id)


def test_another_tenants_domain_is_not_found(cloud: SmallCloud) -> None:
    cloud.insert(domains, DOMAIN)
    with pytest.raises(DomainNotFound):
        cloud.domain("1", RIVAL)


@pytest.mark.parametrize(("enabled", "text"), [(True, "true"), (False, "false")])
def test_enabled_is_a_string(cloud: SmallCloud, enabled: bool, text: str) -> None:
    cloud.insert(domains, {**DOMAIN, "enabled": enabled})
    assert cloud.domain("1").enabled == text


def test_each_domain_column_maps_to_its_own_field(cloud: SmallCloud) -> None:
    cloud.insert(
        domains,
        {
            **DOMAIN,
            "comment": "c",
            "service_areas": "a",
            "service_type": "t",
            "cname": "n",
            "status": "s",
            "cache_behaviors": '["cache"]',
            "visit_control_rules": '["visit"]',
            "origin_ips": '["192.0.2.1","2001:db8::1"]',
            "adv_origin_configs": '["adv"]',
            "origin_domain_name": "origin",
            "query_string_settings": "q",
        },
    )
    assert json.loads(msgspec.json.encode(cloud.domain("1"))) == {
        "domainId": "1",
        "domainName": "www.example.com",
        "comment": "c",
        "serviceAreas": "a",
        "serviceType": "t",
        "enabled": "true",
        "cname": "n",
        "status": "s",
        "cacheBehaviors": ["cache"],
        "visitControlRules": ["visit"],
        "originConfig": {
            "originIps": ["192.0.2.1", "2001:db8::1"],
            "advOriginConfigs": ["adv"],
            "originDomainName": "origin",
        },
        "queryStringSettings": "q",
    }


UNUSUAL_JSON = [
    '[{"ttl":1.10}]',
    "[1E400,-1E-400]",
    '[{"big":123456789012345678901234567890123456789012345678901234567890}]',
    '[{"z":1,"a":2,"m":{"y":1,"b":2}}]',
    '["中文 \\u0000 \\ud83d\\ude00 😀 </script>"]',
    '[[[[[[[[[[[[[[[["deep"]]]]]]]]]]]]]]]]',
    "[0.1,1.0,100,1e2,-0.0]",
    '[true,false,null,"",{},[]]',
    "[" + "9" * 5000 + "]",
]


JSON_COLUMNS = {
    "cache_behaviors": "cacheBehaviors",
    "visit_control_rules": "visitControlRules",
    "adv_origin_configs": "advOriginConfigs",
}


@pytest.mark.parametrize("document", UNUSUAL_JSON, ids=lambda document: document[:20])
@pytest.mark.parametrize("column", JSON_COLUMNS)
def test_json_columns_are_encoded_verbatim(cloud: SmallCloud, column: str, document: str) -> None:
    cloud.insert(domains, {**DOMAIN, column: document})
    assert f'"{JSON_COLUMNS[column]}":{document}'.encode() in envelope.encode(cloud.domain("1"))


def test_json_columns_reach_the_client_verbatim(served: tuple[SmallCloud, ApiClient]) -> None:
    cloud, client = served
    cloud.insert(
        domains,
        *({**DOMAIN, "id": str(number), "cache_behaviors": document} for number, document in enumerate(UNUSUAL_JSON)),
    )
    for number, document in enumerate(UNUSUAL_JSON):
        reply = client.call("GetDomainDetail", domainId=str(number))
        assert reply.status == 200
        assert f'"cacheBehaviors":{document}'.encode() in reply.body


def test_domain_change_is_visible_immediately(served: tuple[SmallCloud, ApiClient]) -> None:
    cloud, client = served
    cloud.insert(domains, DOMAIN)
    before = client.call("GetDomainDetail", domainId="1").data["comment"]
    with write_transaction(cloud.data_dir, "cloud") as connection:
        connection.execute(domains.update().values(comment="changed"))
    assert (before, client.call("GetDomainDetail", domainId="1").data["comment"]) == ("", "changed")


def test_new_domain_is_found_after_a_404(served: tuple[SmallCloud, ApiClient]) -> None:
    cloud, client = served
    before = client.call("GetDomainDetail", domainId="1").status
    cloud.insert(domains, DOMAIN)
    assert (before, client.call("GetDomainDetail", domainId="1").status) == (404, 200)


def test_removed_domain_disappears_immediately(served: tuple[SmallCloud, ApiClient]) -> None:
    cloud, client = served
    cloud.insert(domains, DOMAIN)
    before = client.call("GetDomainDetail", domainId="1").status
    with write_transaction(cloud.data_dir, "cloud") as connection:
        connection.execute(domains.delete())
    assert (before, client.call("GetDomainDetail", domainId="1").status) == (200, 404)


# News


def _news(item_id: int, moment: int) -> dict[str, Any]:
    return {"id": item_id, "published_at": moment, "title": f"n{item_id}", "url": f"https://news/{item_id}"}


def _titles(cloud: SmallCloud) -> list[str]:
    return [item.title for item in cloud.news().record]


def test_news_is_sorted_newest_first(cloud: SmallCloud) -> None:
    cloud.insert(news, _news(1, at("10:00")), _news(2, at("08:00")), _news(3, at("09:00")))
    assert _titles(cloud) == ["n1", "n3", "n2"]


def test_news_of_the_same_time_is_sorted_by_id_descending(cloud: SmallCloud) -> None:
    cloud.insert(news, *(_news(item_id, at("10:00")) for item_id in (2, 10, 9, 1)))
    assert _titles(cloud) == ["n10", "n9", "n2", "n1"]


def test_all_published_news_is_listed(cloud: SmallCloud) -> None:
    cloud.insert(news, *(_news(item_id, at("00:00") - item_id) for item_id in range(1, 501)))
    assert _titles(cloud) == [f"n{item_id}" for item_id in range(1, 501)]


@pytest.mark.parametrize(
    ("now", "titles"),
    [
        (at("12:29:59"), []),
        (at("12:30") - 0.001, []),
        (at("12:30"), ["n1"]),
        (at("12:30:01"), ["n1"]),
    ],
)
def test_news_item_appears_at_its_publication_time(cloud: SmallCloud, now: float, titles: list[str]) -> None:
    cloud.insert(news, _news(1, at("12:30")))
    cloud.clock.moment = now
    assert _titles(cloud) == titles


def test_result_expires_at_the_next_publication(cloud: SmallCloud) -> None:
    cloud.insert(news, _news(1, at("12:00")))
    assert cloud.news().expires_at == float("inf")
    cloud.insert(news, _news(2, at("15:00")), _news(3, at("14:00")))
    assert cloud.news().expires_at == at("14:00")


def test_scheduled_news_appears_on_time_in_responses(served: tuple[SmallCloud, ApiClient]) -> None:
    cloud, client = served
    cloud.insert(news, _news(1, at("12:00")), _news(2, at("12:30")))
    seen = []
    for moment in (at("12:20"), at("12:30") - 0.001, at("12:30")):
        cloud.clock.moment = moment
        seen.append([item["title"] for item in client.call("GetNews").data])
    assert seen == [["n1"], ["n1"], ["n2", "n1"]]


@pytest.mark.parametrize(
    ("zone", "date"),
    [
        ("UTC", "2026-11-15 20:05:09"),
        ("Asia/Shanghai", "2026-11-16 04:05:09"),
        ("Asia/Kathmandu", "2026-11-16 01:50:09"),
        ("America/St_Johns", "2026-11-15 16:35:09"),
    ],
)
def test_news_date_is_in_the_operators_time_zone(cloud: SmallCloud, zone: str, date: str) -> None:
    cloud.insert(news, _news(1, at("20:05:09")))
    cloud.clock.moment = at("23:00")
    cloud.use_zone(ZoneInfo(zone))
    assert [item.date for item in cloud.news().record] == [date]


@pytest.mark.parametrize(("month", "date"), [(1, "2026-01-15 13:00:00"), (7, "2026-07-15 14:00:00")])
def test_news_date_has_the_utc_offset_of_its_day(cloud: SmallCloud, month: int, date: str) -> None:
    cloud.insert(news, _news(1, int(datetime(2026, month, 15, 12, tzinfo=UTC).timestamp())))
    cloud.use_zone(ZoneInfo("Europe/Berlin"))
    assert [item.date for item in cloud.news().record] == [date]


def test_news_list_can_be_empty(cloud: SmallCloud) -> None:
    assert cloud.news().record == []
