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
from tests.harness import Caller
from tests.stores import changing

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


def test_urls_are_ones_own_and_those_published_to_all(cloud: SmallCloud) -> None:
    cloud.insert(
        urls,
        {"id": "url-own00000", "tenant_id": ACME.id, "type": "link", "url": "https://own"},
        {"id": "url-all00000", "tenant_id": None, "type": "link", "url": "https://all"},
        {"id": "url-rival000", "tenant_id": RIVAL.id, "type": "link", "url": "https://rival"},
    )
    seen = [{item.url for item in cloud.urls(tenant)} for tenant in (ACME, RIVAL)]
    assert seen == [{"https://own", "https://all"}, {"https://rival", "https://all"}]


def test_the_types_of_urls_are_in_chinese(cloud: SmallCloud) -> None:
    cloud.insert(
        urls,
        {"id": "url-00000001", "tenant_id": None, "type": "link", "url": "https://a"},
        {"id": "url-00000002", "tenant_id": None, "type": "directory", "url": "https://b"},
    )
    assert {item.id: item.type for item in cloud.urls()} == {"url-00000001": "URL链接", "url-00000002": "URL目录"}


def test_urls_come_in_a_steady_order(cloud: SmallCloud) -> None:
    for name in ("url-c0000000", "url-a0000000", "url-b0000000"):
        cloud.insert(urls, {"id": name, "tenant_id": None, "type": "link", "url": "https://same"})
    assert [item.id for item in cloud.urls()] == ["url-a0000000", "url-b0000000", "url-c0000000"]


def test_without_urls_there_are_none(cloud: SmallCloud) -> None:
    assert cloud.urls() == []


# Domains


@pytest.mark.parametrize("domain_id", ["2", "01", "1 ", "", "１", "1\x00", "%", "1' OR '1'='1"])
def test_there_is_no_domain_of_another_id(cloud: SmallCloud, domain_id: str) -> None:
    cloud.insert(domains, DOMAIN)
    with pytest.raises(DomainNotFound):
        cloud.domain(domain_id)


def test_another_tenants_domain_is_not_found(cloud: SmallCloud) -> None:
    cloud.insert(domains, DOMAIN)
    with pytest.raises(DomainNotFound):
        cloud.domain("1", RIVAL)


@pytest.mark.parametrize(("enabled", "text"), [(True, "true"), (False, "false")])
def test_enabled_is_text(cloud: SmallCloud, enabled: bool, text: str) -> None:
    cloud.insert(domains, {**DOMAIN, "enabled": enabled})
    assert cloud.domain("1").enabled == text


def test_each_part_of_a_domain_stands_in_its_own_field(cloud: SmallCloud) -> None:
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


ODD = [
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


STRUCTURED = {
    "cache_behaviors": "cacheBehaviors",
    "visit_control_rules": "visitControlRules",
    "adv_origin_configs": "advOriginConfigs",
}


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd[:20])
@pytest.mark.parametrize("column", STRUCTURED)
def test_structured_parts_are_handed_on_as_they_are(cloud: SmallCloud, column: str, odd: str) -> None:
    cloud.insert(domains, {**DOMAIN, column: odd})
    assert f'"{STRUCTURED[column]}":{odd}'.encode() in envelope.encode(cloud.domain("1"))


def test_structured_parts_reach_the_caller_as_they_are(served: tuple[SmallCloud, Caller]) -> None:
    cloud, caller = served
    cloud.insert(domains, *({**DOMAIN, "id": str(number), "cache_behaviors": odd} for number, odd in enumerate(ODD)))
    for number, odd in enumerate(ODD):
        reply = caller.call("GetDomainDetail", domainId=str(number))
        assert reply.status == 200
        assert f'"cacheBehaviors":{odd}'.encode() in reply.body


def test_a_changed_domain_is_seen_at_once(served: tuple[SmallCloud, Caller]) -> None:
    cloud, caller = served
    cloud.insert(domains, DOMAIN)
    before = caller.call("GetDomainDetail", domainId="1").data["comment"]
    with changing(cloud.folder, "cloud") as connection:
        connection.execute(domains.update().values(comment="changed"))
    assert (before, caller.call("GetDomainDetail", domainId="1").data["comment"]) == ("", "changed")


def test_a_domain_that_was_not_there_is_found_once_it_is(served: tuple[SmallCloud, Caller]) -> None:
    cloud, caller = served
    before = caller.call("GetDomainDetail", domainId="1").status
    cloud.insert(domains, DOMAIN)
    assert (before, caller.call("GetDomainDetail", domainId="1").status) == (404, 200)


def test_a_removed_domain_is_gone_at_once(served: tuple[SmallCloud, Caller]) -> None:
    cloud, caller = served
    cloud.insert(domains, DOMAIN)
    before = caller.call("GetDomainDetail", domainId="1").status
    with changing(cloud.folder, "cloud") as connection:
        connection.execute(domains.delete())
    assert (before, caller.call("GetDomainDetail", domainId="1").status) == (200, 404)


# News


def _news(item_id: int, moment: int) -> dict[str, Any]:
    return {"id": item_id, "published_at": moment, "title": f"n{item_id}", "url": f"https://news/{item_id}"}


def _titles(cloud: SmallCloud) -> list[str]:
    return [item.title for item in cloud.news().record]


def test_news_come_newest_first(cloud: SmallCloud) -> None:
    cloud.insert(news, _news(1, at("10:00")), _news(2, at("08:00")), _news(3, at("09:00")))
    assert _titles(cloud) == ["n1", "n3", "n2"]


def test_of_equal_times_the_higher_id_comes_first(cloud: SmallCloud) -> None:
    cloud.insert(news, *(_news(item_id, at("10:00")) for item_id in (2, 10, 9, 1)))
    assert _titles(cloud) == ["n10", "n9", "n2", "n1"]


def test_all_published_items_are_there(cloud: SmallCloud) -> None:
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
def test_an_item_is_there_from_its_moment_on(cloud: SmallCloud, now: float, titles: list[str]) -> None:
    cloud.insert(news, _news(1, at("12:30")))
    cloud.clock.moment = now
    assert _titles(cloud) == titles


def test_an_answer_holds_until_the_next_item_comes(cloud: SmallCloud) -> None:
    cloud.insert(news, _news(1, at("12:00")))
    assert cloud.news().expires_at == float("inf")
    cloud.insert(news, _news(2, at("15:00")), _news(3, at("14:00")))
    assert cloud.news().expires_at == at("14:00")


def test_over_the_wire_a_coming_item_appears_when_its_time_comes(served: tuple[SmallCloud, Caller]) -> None:
    cloud, caller = served
    cloud.insert(news, _news(1, at("12:00")), _news(2, at("12:30")))
    seen = []
    for moment in (at("12:20"), at("12:30") - 0.001, at("12:30")):
        cloud.clock.moment = moment
        seen.append([item["title"] for item in caller.call("GetNews").data])
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
def test_a_date_is_in_the_operators_zone(cloud: SmallCloud, zone: str, date: str) -> None:
    cloud.insert(news, _news(1, at("20:05:09")))
    cloud.clock.moment = at("23:00")
    cloud.use_zone(ZoneInfo(zone))
    assert [item.date for item in cloud.news().record] == [date]


@pytest.mark.parametrize(("month", "date"), [(1, "2026-01-15 13:00:00"), (7, "2026-07-15 14:00:00")])
def test_a_date_has_the_offset_of_its_own_day(cloud: SmallCloud, month: int, date: str) -> None:
    cloud.insert(news, _news(1, int(datetime(2026, month, 15, 12, tzinfo=UTC).timestamp())))
    cloud.use_zone(ZoneInfo("Europe/Berlin"))
    assert [item.date for item in cloud.news().record] == [date]


def test_without_news_there_are_none(cloud: SmallCloud) -> None:
    assert cloud.news().record == []
