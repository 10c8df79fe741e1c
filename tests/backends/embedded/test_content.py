"""URLs, domains and news, as tenants read them."""

from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from cloudconsole.spec import envelope
from cloudconsole.spec.errors import DomainNotFound
from cloudconsole.store.tables import domains, news, urls
from tests.backends.small_cloud import ACME, RIVAL, SmallCloud, at
from tests.harness import ApiClient, FakeClock
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


def test_own_and_public_urls_are_sorted_by_id(cloud: SmallCloud) -> None:
    owners = {"c": None, "a": ACME.id, "b": None, "d": RIVAL.id}
    rows = [
        {"id": f"url-{name}", "tenant_id": owner, "type": "link", "url": "https://same"}
        for name, owner in owners.items()
    ]
    cloud.insert(urls, *rows)
    cloud.insert(urls, {**rows[0], "id": "url-disabled", "disabled": True})
    assert [item.id for item in cloud.urls()] == ["url-a", "url-b", "url-c"]


# Domains


@pytest.mark.parametrize("domain_id", ["2", "01", "1 ", "", "１", "1\x00", "%", "1' OR '1'='1"])
def test_unknown_domain_id_is_not_found(cloud: SmallCloud, domain_id: str) -> None:
    cloud.insert(domains, DOMAIN)
    with pytest.raises(DomainNotFound):
        cloud.domain(domain_id)


UNUSUAL_JSON = [
    "[1E400,-1E-400]",
    '[{"big":123456789012345678901234567890123456789012345678901234567890}]',
    '[{"z":1,"a":2,"m":{"y":1,"b":2}}]',
    '["中文 \\u0000 \\ud83d\\ude00 😀 </script>"]',
    '[[[[[[[[[[[[[[[["deep"]]]]]]]]]]]]]]]]',
    "[0.1,1.0,100,1e2,-0.0]",
    "[" + "9" * 5000 + "]",
]


@pytest.mark.parametrize("document", UNUSUAL_JSON, ids=lambda document: document[:20])
def test_json_columns_are_encoded_verbatim(cloud: SmallCloud, document: str) -> None:
    columns = ("cache_behaviors", "visit_control_rules", "adv_origin_configs")
    cloud.insert(domains, {**DOMAIN, **dict.fromkeys(columns, document)})
    encoded = envelope.encode(cloud.domain("1"))
    for field in ("cacheBehaviors", "visitControlRules", "advOriginConfigs"):
        assert f'"{field}":{document}'.encode() in encoded


# News


def _news(item_id: int, moment: int, **more: Any) -> dict[str, Any]:
    return {"id": item_id, "published_at": moment, "title": f"n{item_id}", "url": f"https://news/{item_id}", **more}


def test_news_is_sorted_by_time_and_id_descending(cloud: SmallCloud) -> None:
    cloud.insert(news, *(_news(item_id, at("10:00")) for item_id in (2, 10, 9)), _news(11, at("09:00")))
    cloud.insert(news, _news(12, at("10:00"), disabled=True))
    assert [item.title for item in cloud.news().record] == ["n10", "n9", "n2", "n11"]


def test_result_expires_at_the_next_publication(cloud: SmallCloud) -> None:
    cloud.insert(news, _news(1, at("12:00")))
    assert cloud.news().expires_at == float("inf")
    cloud.insert(news, _news(2, at("15:00")), _news(3, at("14:00")))
    cloud.insert(news, _news(4, at("13:00"), disabled=True))
    assert cloud.news().expires_at == at("14:00")


def test_scheduled_news_appears_on_time_in_cached_responses(demo: ApiClient, clock: FakeClock, data: Path) -> None:
    """The expiry of a backend's result limits how long the console reuses its response."""
    published = int(clock.moment) + 60
    with write_transaction(data, "cloud") as connection:
        connection.execute(news.insert().values(_news(1000, published)))
    is_first = []
    for moment in (published - 60, published - 0.001, published):
        clock.moment = moment
        is_first.append([demo.call(action).data[0]["title"] == "n1000" for action in ("GetNews", "GetAnnouncements")])
    assert is_first == [[False] * 2, [False] * 2, [True] * 2]


def test_announcements_are_the_news_with_language_and_pin(cloud: SmallCloud) -> None:
    cloud.insert(news, _news(1, at("12:00")))
    cloud.insert(news, _news(2, at("11:00"), disabled=True))
    cloud.insert(news, _news(3, at("10:00"), language="zh", pinned=True))
    cloud.insert(news, _news(4, at("13:00"), pinned=True))
    result, plain = cloud.announcements(), cloud.news()
    assert result.expires_at == plain.expires_at == at("13:00")
    assert [(item.id, item.language, item.pinned) for item in result.record] == [(1, None, False), (3, "zh", True)]
    assert [(item.date, item.url, item.title) for item in result.record] == [
        (item.date, item.url, item.title) for item in plain.record
    ]


def test_a_change_of_news_is_seen_in_cached_announcements(demo: ApiClient, data: Path) -> None:
    before = demo.call("GetAnnouncements").data
    assert demo.call("GetAnnouncements").data == before
    plain = demo.call("GetNews").body
    with write_transaction(data, "cloud") as connection:
        connection.execute(news.update().where(news.c.id == before[1]["id"]).values(language="en", pinned=True))
    before[1] |= {"language": "en", "pinned": True}
    assert demo.call("GetAnnouncements").data == before
    assert demo.call("GetNews").body == plain


@pytest.mark.parametrize(
    ("zone", "published", "date"),
    [
        ("UTC", "2026-07-15T20:05:09Z", "2026-07-15 20:05:09"),
        ("Asia/Kathmandu", "2026-07-15T20:05:09Z", "2026-07-16 01:50:09"),
        ("Europe/Berlin", "2026-01-15T12:00:00Z", "2026-01-15 13:00:00"),
        ("Europe/Berlin", "2026-07-15T12:00:00Z", "2026-07-15 14:00:00"),
    ],
)
def test_news_date_is_in_the_operators_time_zone(cloud: SmallCloud, zone: str, published: str, date: str) -> None:
    cloud.insert(news, _news(1, int(datetime.fromisoformat(published).timestamp())))
    cloud.use_zone(ZoneInfo(zone))
    assert [item.date for item in cloud.news().record] == [date]
